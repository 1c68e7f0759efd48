"""The Debian package from installation to purge under a real systemd, in a container: `make systemd-test`."""
