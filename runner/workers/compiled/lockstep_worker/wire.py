"""JSON lines on a pipe that the parent and its forked children share."""

import json
import os

#: POSIX keeps a write of at most this many bytes to a pipe whole, so lines of several processes
#: do not mix.
ATOMIC = 4096


class Wire:
    """Writes the lines of the protocol to a file descriptor."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def say(self, message: dict) -> None:
        """Writes one line. Raises `BrokenPipeError` once the runner is gone."""
        data = json.dumps(message, allow_nan=False).encode() + b"\n"
        while data:
            data = data[os.write(self.fd, data) :]


class Stages:
    """Tells the runner which clock runs, each change once, and remembers the last stage."""

    def __init__(self, wire: Wire, run: object) -> None:
        self._wire, self._run = wire, run
        self.last = "prepare"
        self._said: str | None = None

    def __call__(self, stage: str) -> None:
        self.last = stage
        if stage != self._said:
            self._said = stage
            self._wire.say({"type": "stage", "run": self._run, "stage": stage})


def shorten(text: str, limit: int = 1500) -> str:
    """`text` cut so that a line that quotes it stays under `ATOMIC` even when JSON escapes it."""
    text = text.encode("ascii", "replace").decode()
    text = "".join(c if " " <= c and c not in '"\\' else " " for c in text)
    return text if len(text) <= limit else text[: limit - 4] + " ..."


class Lines:
    """Collects what arrives on a file descriptor and hands it out line by line."""

    #: The protocol forbids longer lines in answers; a request can be larger (inline programs).
    LIMIT = 256 << 20

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.rest = bytearray()
        self.ended = False

    def read(self) -> list[bytes]:
        """Reads once, without waiting for a whole line; the lines that are complete now.
        `ended` is set at the end of input. Raises `ValueError` when a line exceeds `LIMIT`."""
        chunk = os.read(self.fd, 1 << 20)
        if not chunk:
            self.ended = True
            return []
        self.rest += chunk
        if b"\n" not in chunk:
            if len(self.rest) > self.LIMIT:
                raise ValueError(f"a line of more than {self.LIMIT} bytes")
            return []
        *lines, rest = bytes(self.rest).split(b"\n")
        self.rest = bytearray(rest)
        return [line for line in lines if line.strip()]
