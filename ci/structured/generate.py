"""The files of `cases/structured/`: what is written into each."""

import json
import pathlib

from . import along, images, matrices, norms, places, products, scores
from .family import Part, choice, rows

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "cases" / "structured"
PARTS = (
    *along.PARTS,
    products.PART,
    *images.PARTS,
    norms.PART,
    places.PART,
    *scores.PARTS,
    matrices.PART,
)


def document(part: Part) -> str:
    """The text of a part's file: one line for each instance."""
    choices: dict[str, dict] = {}
    for row in rows(part):
        made = choice(part, row)
        choices.setdefault(made["is"], made)  # what a row adds is not in this instance
    head = {
        "$schema": "../schema/case.schema.json",
        "format": 1,
        "title": part.title,
        "comment": "Written by ci/structured_cases.py; do not edit.",
        "tags": ["structured", *part.tags],
        "requires": {"eager": "returns"},
        "share": part.share,
    }
    lines = ["{", *(f"  {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items())]
    lines += ['  "matrix": {', '    "of": [']
    lines.append(",\n".join(f"      {json.dumps(each)}" for each in choices.values()))
    lines += ["    ]", "  },"]
    lines.append('  "inputs": "$of.inputs",')
    step = {field: f"$of.{field}" for field in ("let", "op", "args", "kwargs")}
    lines.append(f'  "steps": [{json.dumps(step)}],')
    lines.append('  "outputs": "$of.outputs",')
    lines.append('  "backward": "$of.backward",')
    lines.append('  "compare": "$of.compare"')
    return "\n".join([*lines, "}", ""])


def main(words: list[str]) -> int:
    """Writes, or compares; returns the exit status."""
    wrong = 0
    for part in PARTS:
        file, text = FOLDER / f"{part.file}.json", document(part)
        if words == ["--check"]:
            if not file.exists() or file.read_text("utf-8") != text:
                print(f"{file} is not what ci/structured_cases.py writes; run it")
                wrong = 1
        else:
            FOLDER.mkdir(exist_ok=True)
            file.write_text(text, "utf-8")
    return wrong
