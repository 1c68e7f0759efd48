"""`mastd console`: the operator's page in a browser."""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from mastd.errors import UsageError

if TYPE_CHECKING:
    from mastd.commands import Subparsers
    from mastd.console.access import TokenFiles, Tokens

_PACKAGES = ("starlette", "uvicorn", "websockets")
_DESCRIPTION = (
    "Serve a page that shows and controls the table, until Ctrl-C. It asks for a token: the operator's, "
    "or the observer's (view and stop). Without a certificate it accepts connections from this machine only."
)


def add_parsers(subparsers: Subparsers) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "console", help="the operator's page in a browser", description=_DESCRIPTION
    )
    parser.add_argument(
        "--listen",
        default="127.0.0.1:8080",
        metavar="ADDRESS:PORT",
        help="port 0: any free port (127.0.0.1:8080)",
    )
    parser.add_argument("--address", help="address of the daemon (default: this user's on this machine)")
    parser.add_argument("--key", type=Path, metavar="FILE", help="own secret key, for a network address")
    parser.add_argument("--server-key", type=Path, metavar="FILE", help="the daemon's public key")
    parser.add_argument("--certificate", type=Path, metavar="FILE", help="TLS certificate (PEM)")
    parser.add_argument("--private-key", type=Path, metavar="FILE", help="its private key (PEM)")
    parser.add_argument(
        "--profiles",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="directory of further profiles",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serve until a signal ends it; return 0."""
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise UsageError(f"mastd console needs {', '.join(missing)}: pip install 'mastd[console]'")
    from mastd.console.endpoint import endpoint
    from mastd.console.profiles import Profiles
    from mastd.console.server import Certificate, serve
    from mastd.console.watcher import Door
    from mastd.wire.common.address import check_address
    from mastd.wire.operators.client import ClientKeys

    for one, other in (("key", "server_key"), ("certificate", "private_key")):
        if (getattr(arguments, one) is None) != (getattr(arguments, other) is None):
            raise UsageError(f"--{one} and --{other.replace('_', '-')} go together")
    if arguments.address is not None:
        check_address(arguments.address, allow_remote=True, what="operators' address")
    keys = ClientKeys(arguments.key, arguments.server_key) if arguments.key else None
    certificate = Certificate(arguments.certificate, arguments.private_key) if arguments.certificate else None
    if certificate is not None:
        certificate.check()
    serve(
        endpoint(arguments.listen, certificate is not None),
        certificate,
        Door(arguments.address, keys),
        Profiles(arguments.profiles),
        _announce,
    )
    return 0


def _announce(url: str, tokens: Tokens, files: TokenFiles) -> None:
    """Print where the page is; the tokens only on a terminal, where no log keeps them."""
    print(f"console at {url}")
    for role, token, path in (
        ("operator", tokens.operator, files.operator),
        ("observer", tokens.observer, files.observer),
    ):
        shown = f"{token}  (also in {path})" if sys.stdout.isatty() else f"in {path}"
        print(f"{role}'s token: {shown}")
    print("Ctrl-C ends the console; the daemon keeps running", flush=True)
