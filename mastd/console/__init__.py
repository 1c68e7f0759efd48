"""The console in a browser: a web server behind the gateway, for operators and those who watch."""
