"""The two ways in which this worker declines a request."""


class Malformed(Exception):
    """The request breaks the protocol: the runner's fault. The execution ends with status 64
    and the text becomes the `error` of `ended`."""


class Unsupported(Exception):
    """This worker, device or torch lacks what the program needs; never a failure. The text
    becomes the `reason` of the observation."""


def need(mapping: dict, key: str, where: str):
    """`mapping[key]`. Raises `Malformed` where `mapping` is not an object or lacks the key."""
    if not isinstance(mapping, dict):
        raise Malformed(f"{where}: an object is expected, found {type(mapping).__name__}")
    if key not in mapping:
        raise Malformed(f"{where}: the key '{key}' is missing")
    return mapping[key]
