"""The runner's verdicts on the ways to write a case, and which one is kept; knows no torch.

What the program showed is what its graph shows on the accused path with the recorded values: what
the default policies do not let pass; where they let everything pass, what differs to the bit.
Another way to write it shows the same divergence if the same output diverges in the same way,
within a factor of ten."""

import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import tempfile
from typing import Any

from lockstep import cli, places

from .cases import Captured, TooBig, Way, put_text, write

FILLS, EXACT = Way(False, False), Way(True, False)
STRICT, SHOWN = Way(False, True), Way(True, True)
#: How far two magnitudes of the same divergence are apart at most.
FACTOR = 10.0


class Failed(Exception):
    """The runner did not get to its verdicts; the message is what it said."""


def runner() -> str:
    """The runner that was called, or that this package has."""
    return os.environ.get("LOCKSTEP_RUNNER") or str(places.PACKAGE / "bin" / "lockstep")


def run(
    files: list[pathlib.Path], paths: list[str], path_files: list[pathlib.Path]
) -> dict[tuple[str, str], dict]:
    """The verdicts of case files on paths: by the name of the file and that of the path. Raises
    `Failed`."""
    with tempfile.TemporaryDirectory(prefix="lockstep-proof-") as folder:
        out = pathlib.Path(folder) / "run"
        words = [runner(), "run", *map(str, files), "--out", str(out), "--no-expectations"]
        words += ["--path", *paths] if paths else []
        for each in path_files:
            words += ["--path-file", str(each)]
        done = called(words)
        log = out / "run.jsonl"
        if done.returncode not in (0, 1) or not log.exists():
            raise Failed(done.stderr.strip() or done.stdout.strip())
        found = {}
        for line in log.read_text("utf-8").splitlines():
            record = json.loads(line)
            if record["type"] == "verdict":
                found[record["instance"].split("@")[0], record["path"]] = record
        return found


def called(words: list[str]) -> subprocess.CompletedProcess:
    """Runs the runner, which ends on Ctrl-C as we do."""
    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=cli.environment(),
    )
    try:
        out, error = process.communicate()
    except BaseException:
        process.send_signal(signal.SIGINT)
        process.wait()
        raise
    return subprocess.CompletedProcess(words, process.returncode, out, error)


def diverges(verdict: dict) -> bool:
    """Whether a verdict says that compiled and eager disagree."""
    return verdict["status"] not in (
        "conform", "refused", "extension", "unsupported", "inconclusive", "not_compiled", "harness"
    )  # fmt: skip


def magnitude(verdict: dict) -> tuple[str, str, float | None]:
    """The divergence of a verdict: its status, the output, and how great it is where values are
    compared."""
    first = (verdict.get("differences") or [{}])[0]
    name, status = first.get("name", ""), first.get("status", verdict["status"])
    for output in verdict.get("outputs", []):
        if output["name"] == name:
            return status, name, _number(output.get("max_abs"))
    return status, name, None


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def shows(verdict: dict, shown: dict) -> bool:
    """Whether a verdict has the divergence of another one."""
    return alike(magnitude(verdict), magnitude(shown))


def alike(mine: tuple, its: tuple) -> bool:
    """Whether two magnitudes are of the same divergence."""
    if mine[:2] != its[:2]:
        return False
    if mine[2] is None or its[2] is None or mine[2] == its[2]:
        return True
    low, high = sorted((abs(mine[2]), abs(its[2])))
    return high <= FACTOR * low


def would_show(verdict: dict, shown: dict) -> bool:
    """Whether a verdict that lets a divergence of values pass would have it if it compared to the
    bit."""
    status, name, great = magnitude(shown)
    if status != "value_diverges":
        return False
    for output in verdict.get("outputs", []):
        if output["name"] == name and output.get("differing"):
            return alike((status, name, _number(output.get("max_abs"))), (status, name, great))
    return False


@dataclasses.dataclass(frozen=True)
class Wish:
    """How cases are to be written. `strict`: also a divergence that the default policies let pass
    is to show; `exact`: with the recorded values whatever the fills show; `policy`: instead of the
    default ones."""

    strict: bool = False
    exact: bool = False
    policy: str | None = None

    def way(self, exact: bool) -> Way:
        """A way that compares as is wished."""
        return Way(exact, False, self.policy)

    def ways(self) -> list[Way]:
        """The ways to try, the one that shows everything first."""
        found = [SHOWN, self.way(True)]
        return found if self.exact else [*found, self.way(False)]


@dataclasses.dataclass
class Kept:
    """The way that a case is kept in, and what to say of it."""

    way: Way
    shown: dict | None  # the verdict on the recorded values
    verdicts: list[dict]  # on the way that is kept
    words: str


def prove(
    captured: list[Captured], folder: pathlib.Path, path_files: list[pathlib.Path], wish: "Wish"
) -> dict[str, Kept]:
    """Which way each case is kept in. Raises `Failed`."""
    asked: dict[tuple[str, ...], list[Captured]] = {}
    for each in captured:
        asked.setdefault(tuple(path.name for path in each.paths), []).append(each)
    kept: dict[str, Kept] = {}
    for names, cases in asked.items():
        kept.update(_prove(cases, list(names), folder, path_files, wish))
    return kept


def _prove(
    cases: list[Captured],
    names: list[str],
    folder: pathlib.Path,
    path_files: list[pathlib.Path],
    wish: "Wish",
) -> dict[str, Kept]:
    if not names:
        words = "no path could be asked"
        return {each.name: Kept(_first(each, wish), None, [], words) for each in cases}
    files: list[pathlib.Path] = []
    written: dict[str, list[Way]] = {}
    for each in cases:
        seen: set[str] = set()
        for way in wish.ways():
            try:
                text = write(each, way)
            except TooBig:
                continue
            if text in seen:
                continue
            seen.add(text)
            file = folder / f"{each.name}--{way.word}.json"
            put_text(text, file, each.values)
            files.append(file)
            written.setdefault(each.name, []).append(way)
    verdicts = run(files, names, path_files)
    return {
        each.name: _choose(
            {
                way: [
                    verdicts[f"{each.name}--{way.word}", name]
                    for name in names
                    if (f"{each.name}--{way.word}", name) in verdicts
                ]
                for way in written.get(each.name, [])
            },
            wish,
        )
        for each in cases
    }


def _first(captured: Captured, wish: Wish) -> Way:
    """The way to write a case that nobody could judge."""
    for exact in (True, False) if wish.exact else (False, True):
        try:
            write(captured, wish.way(exact))
        except TooBig:
            continue
        return wish.way(exact)
    return wish.way(False)


def _choose(found: dict[Way, list[dict]], wish: Wish) -> Kept:
    """The first way that shows what the program showed."""
    fills, exact = wish.way(False), wish.way(True)
    whole = {way: each for way, each in found.items() if each}
    if not whole:
        return Kept(fills, None, [], "the runner gave no verdict on it")
    if SHOWN not in whole:
        way = next(iter(whole))
        return Kept(way, None, whole[way], "its values are too many for a case file")
    shown = worst(whole[SHOWN])
    if exact in whole and diverges(worst(whole[exact])):
        shown = worst(whole[exact])  # it matters more than what only differs in last bits
    if not diverges(shown):
        agreeing = (w for w in (fills, exact) if w in whole and not diverges(worst(whole[w])))
        way = next(agreeing, SHOWN)
        return Kept(way, shown, whole[way], f"{_nothing(shown)} ({way})")
    path = shown["path"]
    of_path = {
        way: next((v for v in each if v["path"] == path), None) for way, each in whole.items()
    }
    for way in (fills, exact):
        mine = of_path.get(way)
        if mine is not None and diverges(mine) and shows(mine, shown):
            return Kept(way, shown, whole[way], f"shows it: {way}")
    mine = of_path.get(fills)
    like = mine is not None and would_show(mine, shown)
    if wish.strict:
        strictly = STRICT if like else SHOWN
        return Kept(strictly, shown, whole[SHOWN], f"shows it: {strictly}")
    way = fills if like or exact not in whole else exact
    if way not in whole or diverges(worst(whole[way])):  # in another way than the program
        return Kept(SHOWN, shown, whole[SHOWN], f"shows it: {SHOWN}")
    return Kept(way, shown, whole[way], f"its policies let it pass ({way})")


def _nothing(shown: dict) -> str:
    """What to say of a verdict that shows no divergence."""
    if shown["status"] == "conform":
        return "nothing differs to the bit"
    return f"{shown['status']}: {shown.get('reason') or 'the path does not say why'}"


def worst(verdicts: list[dict]) -> dict:
    """The first verdict that diverges, or the first."""
    return next((each for each in verdicts if diverges(each)), verdicts[0])
