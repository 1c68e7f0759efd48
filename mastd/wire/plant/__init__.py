"""Plant link: hello, samples and commands, over sockets or in process."""
