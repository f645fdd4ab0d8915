"""The page of the documentation that draws the benchmarks' ratios over commits."""

from __future__ import annotations

import html
import json
import pathlib

HISTORY = pathlib.Path(__file__).resolve().parent / "history.jsonl"
WIDTH, HEIGHT, EDGE = 240, 40, 4
HEAD = """\
# Benchmarks over commits

Here you see what `ci/test --long bench` has told, commit by commit: ratios, measured side by side.

"""


def line(values: list[float]) -> str:
    """The values from left to right, from 0 up."""
    most = max(*values, 0.0) or 1.0
    step = (WIDTH - 2 * EDGE) / max(1, len(values) - 1)
    points = [
        (EDGE + i * step, HEIGHT - EDGE - value / most * (HEIGHT - 2 * EDGE))
        for i, value in enumerate(values)
    ]
    x, y = points[-1]
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" role="img"><polyline points="{path}" fill="none" '
        f'stroke="currentColor"/><circle cx="{x:.1f}" cy="{y:.1f}" r="3"/></svg>'
    )


def page(file: pathlib.Path = HISTORY) -> str:
    """Markdown: a section for each machine, in it a row for each ratio."""
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    entries = [json.loads(each) for each in lines]
    text = HEAD
    for machine in dict.fromkeys(each["machine"] for each in entries):
        here = [each for each in entries if each["machine"] == machine]
        first, last = here[0], here[-1]
        text += f"## {html.escape(machine)}\n\nFrom {first['date']} ({first['commit']}) to "
        text += f"{last['date']} ({last['commit']}).\n\n"
        text += "| ratio | better | over commits | last |\n|---|---|---|---|\n"
        for name in dict.fromkeys(name for each in here for name in each["ratios"]):
            told = [each["ratios"][name] for each in here if name in each["ratios"]]
            drawn = line([each["value"] for each in told])
            last_value = f"{told[-1]['value']:.3g}"
            text += f"| {html.escape(name)} | {told[-1]['better']} | {drawn} | {last_value} |\n"
        text += "\n"
    return text if entries else text + "Nothing yet.\n"
