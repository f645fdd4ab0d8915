"""The examples of this folder, for the tests of both workers."""

import json
import pathlib


def examples(name: str) -> list[dict]:
    """Those of a file, one a line."""
    text = (pathlib.Path(__file__).parent / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def form(value):
    """What a result is, without its numbers."""
    return (
        [form(item) for item in value]
        if isinstance(value, list)
        else "tensor"
        if "storage" in value
        else "scalar"
    )
