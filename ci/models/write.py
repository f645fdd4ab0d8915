"""Captures the models, and writes the files of `cases/models/`."""

import argparse
import json
import pathlib
import sys
import tempfile
import time
from typing import Any

from lockstep.capturing import cases, spool

from . import calls, capture, dtypes, zoo
from .capture import FOLDER, MOST_BYTES, Failed

#: In how many of its dtypes a model is used in a way.
OF_WAYS = {zoo.FORWARD: 3, zoo.TRAINING: 2, zoo.AUTOCAST: 1, zoo.GENERATION: 1}
#: Values by fills, but for inputs of a few elements, which are often places or frequencies.
WAY = cases.Way(exact=False, strict=False, small=8)


def captured(name: str, ways: list[str], folder: pathlib.Path) -> tuple[list[dict], str]:
    """The graphs of a model, and whose it is. Raises `Failed`."""
    words = [f"{way}:{dtype}" for way in ways for dtype in dtypes_of(name, way)]
    said = capture.execute([name, *words], folder, calls=False)
    # Modules that are called before anything is compiled only set the model up.
    regions = [each for each in spool.regions_of(folder) if not each["as_if"]]
    wrong = [f"{each['source']}: {each['reason']}" for each in spool.reasons_of(folder)]
    wrong += [each["replay"] for each in regions if each["replay"]]
    if not regions or wrong:
        raise Failed("\n".join(wrong))
    return regions, said.splitlines()[-1]


def dtypes_of(name: str, way: str) -> tuple[str, ...]:
    """The dtypes in which a model is used in a way."""
    return zoo.architectures()[name].dtypes[: OF_WAYS[way]]


def documents(
    name: str, ways: list[str], folder: pathlib.Path, regions: list[dict], notice: str
) -> dict[str, dict]:
    """The cases of what was captured, by the names of their files."""
    made: dict[str, dict] = {}
    left = list(regions)
    for way in ways:
        stem = name if way == zoo.FORWARD else f"{name}-{way}"
        if way == zoo.GENERATION:
            found = cases.captured_of(left, folder, name)
            own = {f"{stem}-{at + 1}" if at else stem: _case(e) for at, e in enumerate(found)}
        else:
            words = dtypes_of(name, way)
            count = len(words)
            found = [*(cases.captured_of([each], folder, name)[0] for each in left[:count])]
            own = _together(stem, dict(zip(words, map(_case, found))))
            left = left[count:]
        made |= {file: _headed(name, way, each, notice) for file, each in own.items()}
    return made


def _case(captured: cases.Captured) -> dict:
    return _plain(json.loads(cases.write(captured, WAY)))


def _together(stem: str, whole: dict[str, dict]) -> dict[str, dict]:
    """As few cases as say these captures: those that differ in their dtypes alone are one."""
    left = dict(whole)
    made: dict[str, dict] = {}
    while left:
        for count in range(len(left), 0, -1):
            words = list(left)[:count]
            try:
                case = dtypes.merged({key: left[key] for key in words})
            except dtypes.Differ as differ:
                print(f"{stem}: {words} are not one case: {differ}", file=sys.stderr)
                continue
            made[f"{stem}-{words[0]}" if count < len(whole) else stem] = case
            left = {key: each for key, each in left.items() if key not in words}
            break
    return made


def _plain(value: Any) -> Any:
    """A case without the places in the library's source, and without its title."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items() if key not in ("source", "title")}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value


def _headed(name: str, way: str, case: dict, notice: str) -> dict:
    """A case with its title, and the notice of the library that its architecture comes from."""
    architecture = zoo.architectures()[name]
    for key in ("format", "comment", "tags"):
        case.pop(key, None)
    head = {
        "$schema": "../schema/case.schema.json",
        "format": 1,
        "title": f"{architecture.title}: {way}",
        "comment": f"Written by ci/model_cases.py; do not edit. {notice}",
        "tags": ["captured", "model", way],
    }
    return head | case


def main(words: list[str]) -> int:
    """Writes the files; returns the exit status."""
    parser = argparse.ArgumentParser(prog="model_cases.py", description=__doc__)
    parser.add_argument("name", nargs="*", help="architectures; all unless you say")
    parser.add_argument("--way", nargs="*", choices=OF_WAYS, help="ways to use them")
    parser.add_argument("--calls", action="store_true", help="the distinct calls of all instead")
    asked = parser.parse_args(words)
    if asked.calls:
        return calls.write(
            {
                name: [f"{way}:{dtype}" for way in each.ways for dtype in dtypes_of(name, way)]
                for name, each in zoo.architectures().items()
            }
        )
    wrong = 0
    for name, architecture in zoo.architectures().items():
        ways = [each for each in architecture.ways if not asked.way or each in asked.way]
        if asked.name and name not in asked.name or not ways:
            continue
        start = time.monotonic()
        try:
            with tempfile.TemporaryDirectory(prefix="lockstep-models-") as folder:
                written = write(name, ways, pathlib.Path(folder))
        except (Failed, cases.TooBig) as error:
            written, wrong = [f"failed: {error}"], 1
        print(f"{name}: {time.monotonic() - start:.0f} s: {'; '.join(written)}", flush=True)
    return wrong


def write(name: str, ways: list[str], folder: pathlib.Path) -> list[str]:
    """Writes the files of a model that is used in these ways; what they are. Raises `Failed`."""
    FOLDER.mkdir(exist_ok=True)
    said = []
    for stem, case in documents(name, ways, folder, *captured(name, ways, folder)).items():
        text = cases.text(case)
        if len(text.encode()) > MOST_BYTES:
            raise Failed(f"{stem} has {len(text.encode()):,} bytes")
        (FOLDER / f"{stem}.json").write_text(text, "utf-8")
        said.append(f"{stem} {len(case['steps'])} steps {len(text.encode()) >> 10} KiB")
    return said
