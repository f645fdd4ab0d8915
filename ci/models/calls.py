"""Every distinct call that the models make in a forward pass, and in a training step where they
have one: sweeps in float32, and a table that says which model makes which call how often."""

import json
import pathlib
import tempfile
from typing import Any

from lockstep.capturing import spool, sweeps

from . import capture, zoo

#: The table beside the sweeps: a line for each call, of the call, what it takes, and the models.
TABLE = "calls.tsv"


def write(names: list[str]) -> int:
    """Writes the sweeps and the table; returns the exit status."""
    found: dict[str, dict] = {}
    for name in names:
        way = zoo.TRAINING if zoo.TRAINING in zoo.architectures()[name].ways else zoo.FORWARD
        with tempfile.TemporaryDirectory(prefix="lockstep-models-") as folder:
            words = [name, "--eager", f"{way}:float32"]
            capture.execute(words, pathlib.Path(folder), calls=True)
            noted = [each for r in spool.regions_of(pathlib.Path(folder)) for each in r["sweep"]]
        for each in noted:
            known = found.setdefault(_key(each), {**each, "models": {}})
            known["models"][name] = each["times"]
        print(f"{name}: {len(noted)} calls, {len(found)} of all", flush=True)
    texts = sweeps.write([*found.values()], "models of transformers and timm", capture.MOST_BYTES)
    for at, text in enumerate(texts):
        file = capture.FOLDER / f"calls{f'-{at + 1}' if at else ''}.json"
        file.write_text(text, "utf-8")
    lines = sorted("\t".join(map(str, _row(each))) for each in found.values())
    (capture.FOLDER / TABLE).write_text("\n".join([*lines, ""]), "utf-8")
    return 0


def _key(noted: dict) -> str:
    return json.dumps([noted["call"], [_taken(each) for each in noted["inputs"].values()]])


def _taken(described: dict) -> list[Any]:
    return [described["dtype"], described["shape"], described["strides"]]


def _row(noted: dict) -> tuple[str, ...]:
    """A line of the table."""
    call = noted["call"]
    given = json.dumps([call["args"], call["kwargs"]])
    taken = json.dumps([_taken(each) for each in noted["inputs"].values()])
    models = " ".join(f"{name}:{times}" for name, times in noted["models"].items())
    return call["op"].removeprefix("aten::"), given, taken, models
