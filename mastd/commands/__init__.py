"""The subcommands of `mastd`: each module adds its arguments and runs one call."""
