"""Puts the product onto a machine: a private environment, launchers, units, configuration and documents.

`python -m installer install|uninstall|deb`, by way of `make install`, `make uninstall` and `make deb`. It
needs nothing but the standard library; what pip fetches is locked in `requirements-package.txt` and
`requirements.txt`.
"""
