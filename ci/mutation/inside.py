"""Do the models see a fault inside? `ci/mutants --models`: of each forward pass of `cases/models/`
in float32, which mutants of one operator at the first, the middle and the last step are killed.

A model is compiled once for a hundred calls, each with a fault of its own (`turns.py`). A fault is
killed where an output of its call does not conform, or where it makes a later operator raise."""

import json
import pathlib
import re
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from campaign import HERE, ROOT, Campaign, Failed, path_file, path_of, verdicts_of
from lockstep_mutants.turns import NAME, Fault

FOLDER = ROOT / "cases" / "models"
#: What the last whole run found.
RESULTS = HERE / "MODELS.md"
#: What is demanded of every model.
TARGET = 0.90
#: The most faults of a model.
MOST = 40
#: The most calls of a case, and the tensors of all its calls. The first one is without a fault.
CALLS, TENSORS = 100, 2_500
#: A call in the name of an output.
_CALL = re.compile(r", call (\d+)$")


@dataclass
class Seen:
    """A model: how many outputs and steps it has, the faults, and the places of those that were
    killed. `wrong` says why none of it counts."""

    outputs: int = 0
    steps: int = 0
    faults: list[Fault] = field(default_factory=list)
    killed: set[int] = field(default_factory=set)
    wrong: str = ""

    @property
    def share(self) -> float:
        """Of the faults, those that are killed."""
        return len(self.killed) / max(len(self.faults), 1)


def models() -> list[str]:
    """The names of all files of forward passes in float32."""
    return [each.stem for each in sorted(FOLDER.glob("*.json")) if _forward(each) is not None]


def _forward(file: pathlib.Path) -> dict | None:
    """The case of a forward pass in float32 alone, or nothing."""
    case = json.loads(file.read_text("utf-8"))
    if case["tags"][-1:] != ["forward"]:
        return None
    if "matrix" not in case:
        return case if "float32" in file.stem or "float16" not in file.stem else None
    first = case["matrix"]["dtype"][0]
    case["matrix"]["dtype"] = [first]
    return case if (first["is"] if isinstance(first, dict) else first) == "float32" else None


def campaign(runs: Campaign, names: Iterable[str], most: int = MOST) -> dict[str, Seen]:
    """Tries `most` faults of each of these models, or all that it has."""
    found = {name: Seen() for name in names}
    rounds: dict[str, dict] = {}
    for name in found:
        file = FOLDER / f"{name}.json"
        case = _forward(file) if file.exists() else None
        if case is None:
            raise Failed(f"{name} is no forward pass in float32: {', '.join(models())}")
        tries = min(CALLS, TENSORS // (len(case["inputs"]) + len(case["outputs"]))) - 1
        for begin in range(0, most, tries):
            calls = min(tries, most - begin) + 1
            rounds[f"{name}-{begin}-{calls}-{most}"] = case | {"calls": [{}] * calls}
    _try(runs, found, rounds)
    return found


def _try(runs: Campaign, found: dict[str, Seen], cases: dict[str, dict]) -> None:
    """Tries as many faults as cases have calls."""
    with tempfile.TemporaryDirectory(prefix="lockstep-mutants-") as place:
        folder = pathlib.Path(place)
        path = path_file(folder, None, NAME)
        files = [folder / f"{stem}.json" for stem in cases]
        for file in files:
            file.write_text(json.dumps(cases[file.stem]), "utf-8")
        more = ("--path-file", str(path), "--path", path_of(NAME), "--timeout", "600")
        runs.run_alone(folder / "run", *map(str, files), *more)
        for line in (folder / "records.jsonl").read_text("utf-8").splitlines():
            record = json.loads(line)
            seen = found[_turns(record["instance"])[0]]
            if "faults" in record and not seen.faults:
                seen.steps = record["steps"]
                seen.faults = [Fault(**each) for each in record["faults"]]
            elif "raised" in record:
                seen.killed.add(record["raised"])
        for verdict in verdicts_of(folder / "run"):
            name, begin = _turns(verdict["instance"])
            _judged(found[name], verdict, begin)


def _turns(instance: str) -> tuple[str, int]:
    """Of an instance the model, and the first fault."""
    name, begin, *_ = re.split(r"[@[]", instance)[0].rsplit("-", 3)
    return name, int(begin)


def _judged(seen: Seen, verdict: dict, begin: int) -> None:
    """Takes what a verdict says of the outputs of each call."""
    calls = [(_CALL.search(each["name"]), each["status"]) for each in verdict["outputs"]]
    failing = {int(call[1]) for call, status in calls if call and status != "conform"}
    seen.outputs = sum(int(call[1]) == 1 for call, _ in calls if call)
    if not seen.outputs or 1 in failing:
        seen.wrong = f"{verdict['status']}: {verdict.get('reason', '')}"
    seen.killed |= {begin + call - 2 for call in failing if call > 1}


def survivors(seen: Seen) -> list[str]:
    """Who is not killed, and where."""
    return [
        f"{each.mutant} at step {each.step} ({each.operator}, {each.of[0]} of {each.of[1]})"
        for at, each in enumerate(seen.faults)
        if at not in seen.killed
    ]


def table(found: dict[str, Seen]) -> str:
    """Results as Markdown."""
    lines = [
        "# Faults inside of models",
        "",
        "Written by `ci/mutants --models --record`: mutants of one operator at the first, the",
        "middle and the last step whose result they change by a hundredth or more.",
        "",
        "| model | outputs | operators | faults | killed | |",
        "|---|---|---|---|---|---|",
    ]
    for name, each in found.items():
        counts = f"{each.outputs} | {each.steps} | {len(each.faults)} | {len(each.killed)}"
        lines.append(f"| {name} | {counts} | {100 * each.share:.1f} % |")
    living = [(name, line) for name, each in found.items() for line in survivors(each)]
    lines += ["", "## Survivors", ""]
    lines += [f"- {name}: {line}" for name, line in living] or ["None."]
    return "\n".join([*lines, ""])


def problems(found: dict[str, Seen]) -> list[str]:
    """What makes the exit status 1."""
    wrong = [f"{name} without a fault: {each.wrong}" for name, each in found.items() if each.wrong]
    wrong += [f"{name} has no fault" for name, each in found.items() if not each.faults]
    return wrong + [
        f"{name} kills {100 * each.share:.1f} % of {len(each.faults)} faults, "
        f"and should kill {100 * TARGET:.0f} %"
        for name, each in found.items()
        if each.faults and each.share < TARGET
    ]


def main(names: Sequence[str], runs: Campaign, record: bool) -> int:
    """Runs, prints the table and what is wrong, and returns the exit status."""
    try:
        found = campaign(runs, names or models())
    except Failed as error:
        print(f"mutants: {error}")
        return 3
    text = table(found)
    print(text)
    if record and not names:
        RESULTS.write_text(text, "utf-8")
    wrong = problems(found)
    for line in wrong:
        print(f"mutants: {line}")
    return 1 if wrong else 0
