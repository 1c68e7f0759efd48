"""The subcommands of ``hil-sim``, one module each."""
