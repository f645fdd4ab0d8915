"""Cheats: backends that want a green run without computing anything, each in its own way, through
the real binary as a release gate calls it (`run --strict`). None may be green; the honest ones
beside them must be."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
CHEATS = ROOT / "ci" / "cheats"
sys.path[:0] = [str(ROOT / "runner" / "run"), str(CHEATS)]

from bare_suite import make_suite, path_file  # noqa: E402

WORDS = json.loads((ROOT / "reports" / "words.json").read_text())
HONEST = ("honest", "honest_that_says_so")
#: Those that leave something behind for a second run, and one that has nothing to leave.
LEAVE = ("from-disk", "dies-of-the-first-inputs", "honest")
#: Path files that are cheats, whatever the backend.
PATHS: dict[str, dict] = {
    "dynamo-is-off": {"backend": "cheat_honest", "config": {"torch._dynamo.config.disable": True}},
    "no-recompile": {
        "backend": "cheat_honest",
        "config": {"torch._dynamo.config.recompile_limit": 0},
    },
    "may-call-all": {"backend": "cheat_forward", "may_call": ["*"]},
    "may-call-aten": {"backend": "cheat_interpreter", "may_call": ["aten::*"]},
    "says-inductor": {"backend": "cheat_forward", "executes": "inductor"},
}


def names():
    """Every cheat there is, by its own name."""
    sys.path.insert(0, str(CHEATS))
    source = "\n".join(file.read_text() for file in (CHEATS / "lockstep_cheats").glob("*.py"))
    lines = source.splitlines()
    return [
        lines[at + 1].removeprefix("def ").partition("(")[0]
        for at, line in enumerate(lines)
        if line == "@cheat"
    ]


def backends():
    """Name of a path → what its file says."""
    found = {name.replace("_", "-"): {"backend": f"cheat_{name}"} for name in names()}
    return found | PATHS


class Run:
    """A run of all of them, and what it says of each."""

    def __init__(self, folder, suite, which):
        common = {"contract": "values", "import": ["lockstep_cheats"]}
        files = [path_file(folder, name, **{**common, **backends()[name]}) for name in which]
        words = [word for file in files for word in ("--path-file", str(file), "--path", file.stem)]
        done = subprocess.run(
            [
                pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "lockstep",
                *"run --strict --level all -j 2 --out".split(),
                str(folder / "run"),
                *words,
            ],
            env={
                **os.environ,
                "LOCKSTEP_HOME": str(suite),
                "LOCKSTEP_CACHE": os.environ.get("LOCKSTEP_CACHE") or str(ROOT / ".lockstep"),
                "LOCKSTEP_CHEATS": str(folder / "left"),
                "PYTHONPATH": str(CHEATS),
            },
            capture_output=True,
            text=True,
            timeout=1800,
        )
        assert done.returncode in (0, 1), done.stdout[-3000:] + done.stderr[-3000:]
        self.run = json.loads((folder / "run" / "run.json").read_text())
        self.verdicts: dict[str, dict] = {}
        for verdict in self.run["verdicts"]:
            case = verdict["instance"].split("@")[0].removeprefix("bugs/")
            self.verdicts.setdefault(verdict["path"], {})[case] = verdict


def why_not_green(verdicts):
    """What fails of the verdicts of a path, or how little of them was judged; empty where it is
    green, as `run --strict` has it."""
    strict = {each["name"]: each["fails_strict"] for each in WORDS["statuses"]}
    judged = {each["name"]: each["judged"] for each in WORDS["statuses"]}
    failing = {
        case: verdict["status"]
        for case, verdict in verdicts.items()
        if strict[verdict["status"]] and verdict["standing"] == "new"
    }
    could = [
        verdict
        for verdict in verdicts.values()
        if not (verdict.get("never_asked") and verdict.get("compiled_error"))
        or verdict["status"] != "conform"
    ]
    share = sum(
        judged[each["status"]]
        and not each.get("unsaid")
        and each.get("permitted_fraction", 0) <= 0.5
        for each in could
    )
    if failing:
        return failing
    return {} if could and share >= 0.9 * len(could) else {"judged": f"{share} of {len(could)}"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cheats")
    suite = make_suite(folder / "suite", CHEATS / "cases")
    (folder / "left").mkdir()
    first = Run(folder, suite, backends())
    # What one run leaves behind the next one finds.
    again = folder / "again"
    again.mkdir()
    (again / "left").symlink_to(folder / "left")
    return first, Run(again, suite, LEAVE)


def test_there_are_enough(run):
    assert len(backends()) - len(HONEST) >= 40


@pytest.mark.parametrize(
    "path", [name for name in backends() if name.replace("-", "_") not in HONEST]
)
def test_no_cheat_is_green(run, path):
    for each in run[: 1 + (path in LEAVE)]:
        assert why_not_green(each.verdicts[path]), {
            case: (verdict["status"], verdict.get("reason"), verdict.get("proof"))
            for case, verdict in each.verdicts[path].items()
        }


@pytest.mark.parametrize("path", [name.replace("_", "-") for name in HONEST])
def test_who_computes_honestly_is_not_accused(run, path):
    for each in run[: 1 + (path in LEAVE)]:
        assert not why_not_green(each.verdicts[path]), {
            case: (verdict["status"], verdict.get("reason"))
            for case, verdict in each.verdicts[path].items()
        }
        assert all(
            verdict.get("draws")
            for case, verdict in each.verdicts[path].items()
            if case != "raises"
        )
