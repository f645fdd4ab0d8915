"""The ways in which this worker declines a request, or fails at it."""

from typing import Any


class Malformed(Exception):
    """The request breaks the protocol: the runner's fault. The execution ends with status 64
    and the text becomes the `error` of `ended`."""


class Unsupported(Exception):
    """This worker, device or torch lacks what the program needs; never a failure. The text
    becomes the `reason` of the observation."""


class Fault(Exception):
    """This worker failed at its own work, such as writing what a program returned: nothing is said
    of the program. The execution ends with status 70 and the text becomes the `error` of
    `ended`."""


def need(mapping: Any, key: str, where: str) -> Any:
    """`mapping[key]`. Raises `Malformed` where `mapping` is not an object or lacks the key."""
    if not isinstance(mapping, dict):
        raise Malformed(f"{where}: an object is expected, found {type(mapping).__name__}")
    if key not in mapping:
        raise Malformed(f"{where}: the key '{key}' is missing")
    return mapping[key]
