"""Cheats: backends that want a green run or a certificate without computing anything, each in its
own way, through the real binary as a release gate calls it (`run --strict`, `certify`). None may be
green, and none is certified; the honest ones beside them must be both. LOCKSTEP_LONG=1 has every
cheat certified, which takes minutes."""

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

HONEST = ("honest", "honest-that-says-so", "honest-that-compiles-elsewhere")
#: Those that leave something behind for a second run, and one that has nothing to leave.
LEAVE = ("from-disk", "dies-of-the-first-inputs", "honest")
#: Those for which a certificate is asked without LOCKSTEP_LONG.
CERTIFIED = ("may-call-all", "honest")
#: Path files that are cheats, whatever the backend.
PATHS: dict[str, dict] = {
    "may-call-all": {"backend": "cheat_forward", "may_call": ["*"]},
    "may-call-aten": {"backend": "cheat_interpreter", "may_call": ["aten::*"]},
    "says-inductor": {"backend": "cheat_forward", "executes": "inductor"},
}
#: Path files that are refused when they are read.
REFUSED: dict[str, dict] = {
    "dynamo-is-off": {"config": {"torch._dynamo.config.disable": True}},
    "dynamo-is-off-elsewhere": {"config": {"torch._dynamo.eval_frame.config.disable": True}},
    "dynamo-is-off-outside": {"environment": {"TORCH_COMPILE_DISABLE": "1"}},
    "no-recompile": {"config": {"torch._dynamo.config.recompile_limit": 0}},
    "no-errors": {"config": {"torch._dynamo.config.suppress_errors": True}},
    "another-backend": {"environment": {"TORCH_COMPILE_OVERRIDE_BACKENDS": ">=0:eager"}},
    "lockstep-itself": {"config": {"lockstep_worker.witness.EAGER": "path"}},
}
LEVEL = "cheats-1"
RULES = {
    "format": 1,
    "comment": "As the suite has them for smoke.",
    "repeat": {"times": 3, "percent": 10},
    "floors": [{"levels": ["*"], "all": 90, "each": 50}],
    "tolerances": [],
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


def file_of(folder, name, said):
    """The file of a path."""
    common = {"contract": "values", "import": ["lockstep_cheats"]}
    return path_file(folder, name, **{**common, **said})


class Binary:
    """The binary, on a suite of the cases of cheats; what they leave lies in `left`."""

    def __init__(self, suite, left):
        self.environment = {
            **os.environ,
            "LOCKSTEP_HOME": str(suite),
            "LOCKSTEP_CACHE": os.environ.get("LOCKSTEP_CACHE") or str(ROOT / ".lockstep"),
            "LOCKSTEP_CHEATS": str(left),
            "PYTHONPATH": str(CHEATS),
        }

    def __call__(self, *words):
        binary = pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "lockstep"
        return subprocess.run(
            [binary, *map(str, words)],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=1800,
        )


class Run:
    """A run of some of them, and what it says of each."""

    def __init__(self, folder, binary, which):
        files = [file_of(folder, name, backends()[name]) for name in which]
        words = [word for file in files for word in ("--path-file", file, "--path", file.stem)]
        self.folder, self.binary = folder / "run", binary
        done = binary(*"run --strict --level all -j 2 --out".split(), self.folder, *words)
        assert done.returncode in (0, 1), done.stdout[-3000:] + done.stderr[-3000:]
        self.records = [
            json.loads(line) for line in (self.folder / "run.jsonl").read_text().splitlines()
        ]

    def verdicts(self, path):
        """Those of one path, by the names of their cases."""
        return {
            record["instance"].split("@")[0].removeprefix("bugs/"): record
            for record in self.records
            if record["type"] == "verdict" and record["path"] == path
        }

    def of(self, path):
        """What `report --strict` says of the verdicts of one path alone: its exit status is that of
        the run that has only them."""
        records = [record for record in self.records if record.get("path", path) == path]
        count = sum(record["type"] == "verdict" for record in records)
        records[0] = {
            **records[0],
            "planned": count,
            "paths": [each for each in records[0]["paths"] if each["name"] == path],
        }
        folder = self.folder / path
        folder.mkdir()
        (folder / "run.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
        return self.binary("report", "--strict", folder)


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    """A suite of their cases, with a level of all of them, frozen."""
    folder = make_suite(tmp_path_factory.mktemp("cheats") / "suite", CHEATS / "cases")
    (folder / "expected" / "levels").mkdir()
    (folder / "expected" / "certification.json").write_text(json.dumps(RULES))
    level = Binary(folder, folder)(*"list --level all --as-level".split())
    assert level.returncode == 0, level.stderr
    (folder / "expected" / "levels" / f"{LEVEL}.json").write_text(level.stdout)
    return folder


@pytest.fixture(scope="module")
def run(suite, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    binary = Binary(suite, folder / "left")
    for each in ("left", "first", "again"):
        (folder / each).mkdir()
    # What one run leaves behind the next one finds.
    return Run(folder / "first", binary, backends()), Run(folder / "again", binary, LEAVE)


def test_there_are_enough(run):
    assert len(backends()) - len(HONEST) + len(REFUSED) >= 40


@pytest.mark.parametrize("path", [name for name in backends() if name not in HONEST])
def test_no_cheat_is_green(run, path):
    for each in run[: 1 + (path in LEAVE)]:
        assert each.of(path).returncode == 1, {
            case: (verdict["status"], verdict.get("reason"), verdict.get("proof"))
            for case, verdict in each.verdicts(path).items()
        }


@pytest.mark.parametrize("path", HONEST)
def test_who_computes_honestly_is_not_accused(run, path):
    for each in run[: 1 + (path in LEAVE)]:
        said = each.of(path)
        assert said.returncode == 0, said.stdout + said.stderr
        assert all(
            verdict.get("draws")
            for case, verdict in each.verdicts(path).items()
            if case != "raises"
        )


@pytest.mark.parametrize("path", REFUSED)
def test_no_path_file_keeps_programs_from_its_backend(suite, tmp_path, path):
    file = file_of(tmp_path, path, {"backend": "cheat_honest", **REFUSED[path]})
    binary = Binary(suite, tmp_path)
    for words in ("run --level all --path", f"certify --level {LEVEL} --path"):
        done = binary(*words.split(), path, "--path-file", file)
        assert done.returncode == 2, done.stdout + done.stderr
        assert f"{file}:1:" in done.stderr and ", expected " in done.stderr, done.stderr


def certified(suite, folder, path):
    """How `certify` ends on a path, and the archive that it would have written."""
    if path not in CERTIFIED and not os.environ.get("LOCKSTEP_LONG"):
        pytest.skip("LOCKSTEP_LONG=1 does it")
    file, archive = file_of(folder, path, backends()[path]), folder / f"{path}.tar"
    (folder / "left").mkdir()
    words = ("certify", "--level", LEVEL, "--path", path, "--path-file", file, "--out", archive)
    done = Binary(suite, folder / "left")(*words)
    if path in LEAVE and path not in HONEST:
        done = Binary(suite, folder / "left")(*words)
    return done, archive


@pytest.mark.parametrize("path", [name for name in backends() if name not in HONEST])
def test_no_cheat_is_certified(suite, tmp_path, path):
    done, archive = certified(suite, tmp_path, path)
    assert done.returncode == 1 and not archive.exists(), done.stdout + done.stderr
    assert f"{path} does not conform to {LEVEL}:" in done.stderr


@pytest.mark.parametrize("path", HONEST)
def test_who_computes_honestly_is_certified(suite, tmp_path, path):
    done, archive = certified(suite, tmp_path, path)
    assert done.returncode == 0, done.stdout + done.stderr
    verified = Binary(suite, tmp_path)("verify", archive)
    assert verified.returncode == 0, verified.stdout + verified.stderr
