"""Keys of the panel: bytes of a terminal become keys, keys become what is asked of the daemon."""

from __future__ import annotations

import re
from typing import Final

from mastd.wire.access.verbs import TABLE, Kind

CONFIRM_S: Final = 3.0
CONFIRM: Final = "y"
QUIT, HELP, REDRAW = "quit", "help", "redraw"
_SEQUENCE: Final = re.compile(rb"\x1b(?:\[[0-9;?<=>]{0,24}[ -/]{0,4}[@-~]|O[ -~])")
_MAX_SEQUENCE_LENGTH: Final = 32
_PASTE_BEGINS, _PASTE_ENDS = b"\x1b[200~", b"\x1b[201~"


BINDINGS: Final = {
    verb.key: verb for verb in sorted(TABLE, key=lambda verb: verb.kind is not Kind.STOP) if verb.key
}
"""What each key asks for, those that stop first."""
_OWN: Final = {"q": QUIT, "?": HELP, "\x0c": REDRAW}


def own(key: str) -> str:
    """Return what a key asks of the panel itself: quit, help, redraw, or nothing."""
    return _OWN.get(key, "")


class KeyReader:
    """Cuts what a terminal sends into keys in lower case; sequences of other keys and pasted text are none.

    What is pasted by mistake must not move a table, and an arrow key ends in a letter.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._pasting = False

    def feed(self, data: bytes) -> list[str]:
        """Return the keys that end within ``data``."""
        data, self._rest = self._rest + data, b""
        keys: list[str] = []
        index = 0
        while index < len(data):
            if self._pasting:
                end = data.find(_PASTE_ENDS, index)
                if end < 0:
                    self._rest = data[max(index, len(data) - len(_PASTE_ENDS) + 1) :]
                    break
                self._pasting, index = False, end + len(_PASTE_ENDS)
            elif data[index] != 0x1B:
                if data[index] < 0x80:
                    keys.append(chr(data[index]).lower())
                index += 1
            elif match := _SEQUENCE.match(data, index):
                self._pasting = match[0] == _PASTE_BEGINS
                index = match.end()
            elif _begins_sequence(data[index : index + _MAX_SEQUENCE_LENGTH]):
                self._rest = data[index:]
                break
            else:
                index += 1
        return keys

    def waited(self) -> None:
        """Forget what has begun and does not continue: an escape key, a paste that has been torn off."""
        self._rest, self._pasting = b"", False


def _begins_sequence(data: bytes) -> bool:
    return len(data) < _MAX_SEQUENCE_LENGTH and (data == b"\x1b" or data[1:2] in (b"[", b"O"))
