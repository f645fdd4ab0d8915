"""How a benchmark tells its ratios: a line for each, by which ci/bench/run.py knows it."""

from __future__ import annotations

import re

LINE = re.compile(r"^ratio (?P<name>[^:]+): (?P<value>\S+) \((?P<better>more|less) is better\)$")


def tell(name: str, value: float, better: str) -> None:
    """Prints a ratio; `better` is more or less."""
    print(f"ratio {name}: {value:.4g} ({better} is better)", flush=True)


def told(text: str) -> dict[str, dict]:
    """The ratios of what a benchmark printed, by their names."""
    found = filter(None, map(LINE.match, text.splitlines()))
    return {
        each["name"]: {"value": float(each["value"]), "better": each["better"]} for each in found
    }
