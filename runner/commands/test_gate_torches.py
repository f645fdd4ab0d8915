"""The gate between torches and the bisection of their wheels: what is checked before anything
starts, how runs are made and kept. Torches with nothing in them are installed, and fake workers
stand for everything else."""

import json
import subprocess
import sys

import pytest
from suites import FAKE, HERE, log_of, overload

FAKE_PYTHON = FAKE.with_name("fake_python.py")

#: The environments whose torch has what a bisection looks for, as a shell's pattern; two commits.
NEW = "*2.14.0rc1* | *2.14.0-* | *2.15.0*"
OLD_GIT, NEW_GIT = "a" * 40, "b" * 40

#: Makes of what it links a fake worker, which knows one operator.
COMPILER = """#!/bin/sh
while [ $# -gt 1 ]; do [ "$1" = -o ] && out=$2; shift; done
cat >"$out" <<'END'
#!/bin/sh
[ "$1" != schemas ] || {{ echo '{schemas}'; exit; }}
case $LOCKSTEP_PYTHON in {new}) git={new_git};; *) git={old_git};; esac
{python} {fake} "$@" | sed -u "s/\\"torch\\": /\\"torch_git\\": \\"$git\\", &/"
END
chmod +x "$out"
"""


@pytest.fixture
def torches(suite):
    """A suite in which torches are set up; a function that says which there are."""
    operators = {"aten::clone": [overload("Tensor")]}
    schemas = json.dumps({"torch": "2.13.0", "operators_digest": "f", "operators": operators})
    compiler = COMPILER.format(
        schemas=schemas, python=sys.executable, fake=FAKE, new=NEW, old_git=OLD_GIT, new_git=NEW_GIT
    )
    for name, text in (
        ("c++", compiler),
        ("python", f'#!/bin/sh\nexec {sys.executable} {FAKE_PYTHON} {suite.root} "$0" "$@"\n'),
    ):
        (suite.root / name).write_text(text)
        (suite.root / name).chmod(0o755)
    for folder in ("python", "explain"):
        (suite.root / "runner" / folder).symlink_to(HERE.parent / folder)
    suite.more = {
        "CXX": str(suite.root / "c++"),
        "LOCKSTEP_PYTHON": str(suite.root / "python"),
        "LOCKSTEP_COMMAND": "lockstep",
    }

    def has(*versions):
        (suite.root / "has").write_text(" ".join(versions))

    return has


@pytest.fixture
def gate(suite, torches):
    """`gate` where there is a run, and one torch."""
    torches("2.13.0+cpu")
    assert suite("run", "bugs/*", "--out", "good").returncode == 0
    return lambda *words: suite("gate", *words, env=suite.more)


def test_nothing_starts_before_all_is_checked(suite, gate):
    for words, says in (
        (["good", "2.13.0+cpu", "--levl", "x"], "--levl"),
        (["good", "2.13.0+cpu", "--level", "smok"], "did you mean `smoke`?"),
        (["good", "2.13.0+cpu", "--fail-on", "gon"], "did you mean `gone`?"),
        (["good", "2.13.0+cpu", "bugs/nothing"], "bugs/nothing"),
        (["good", "2.9"], "found torch 2.9, expected 2.10 or newer"),
        (["good", "2.14.0+cpu"], "it has 2.13.0+cpu"),
        (["nowhere", "good"], "found nowhere, expected a version"),
        (["good", "good", "--level", "smoke"], "found a selection beside two runs"),
    ):
        refused = gate(*words)
        assert refused.returncode == 2 and says in refused.stderr, refused.stderr
        assert not (suite.root / ".lockstep" / "venv").exists()
        assert not (suite.root / ".lockstep" / "gates").exists()


def test_a_version_is_set_up_and_run_as_the_run_beside_it(suite, gate):
    first = gate("good", "2.13.0+cpu")
    assert first.returncode == 0, first.stderr
    assert "bugs/* on 2.13.0+cpu: about " in first.stderr
    assert "the set-up, which is not timed yet" in first.stderr
    assert "the gate is open: 3 verdicts unchanged" in first.stdout
    (folder,) = (suite.root / ".lockstep" / "gates").iterdir()
    names = {each.name for each in folder.iterdir()}
    reports = {f"good..2.13.0+cpu.{kind}" for kind in ("html", "json", "md", "xml")}
    assert names == {"asked", "2.13.0+cpu", *reports}
    log = folder / "2.13.0+cpu" / "run.jsonl"
    (python,) = (suite.root / ".lockstep" / "venv").glob("torch-*/bin/python")
    repro = next(each["repro"] for each in log_of(log.parent) if each["type"] == "verdict")
    assert repro.startswith(f"LOCKSTEP_PYTHON={python} lockstep run bugs/")

    # Its environment is a word for it, too; nothing is set up, and a whole run is taken as it is.
    lines = log.read_text().splitlines(keepends=True)
    second = gate("2.13.0+cpu", "good", "--html", "page.html")
    assert second.returncode == 0 and "is taken as it is" in second.stderr, second.stderr
    assert "about" not in second.stderr and (suite.root / "page.html").is_file()
    log.write_text("".join(lines[:-1]))  # killed before its end
    third = gate("2.13.0+cpu", str(python.parents[1]), "bugs/*")
    assert third.returncode == 0, third.stderr
    assert "going on with the run on torch 2.13.0+cpu" in third.stderr
    assert "bugs/* on both: not timed yet" in third.stderr
    other = gate("2.13.0+cpu", "good", "bugs/1*", "--out", folder)
    assert other.returncode == 2 and "holds runs of: 'bugs/*'" in other.stderr


@pytest.fixture
def newly_wrong(suite, torches):
    """A path `x` that is wrong where a worker is of one of the NEW torches."""
    torches("2.12.0", "2.13.0", "2.14.0.dev20261101", "2.14.0rc1", "2.14.0", "2.15.0")
    worker = suite.root / "worker"
    worker.write_text(
        f"""#!/bin/sh
case $LOCKSTEP_PYTHON in {NEW}) as=flip;; *) as=conform;; esac
exec {sys.executable} {FAKE} as=$as
"""
    )
    worker.chmod(0o755)
    suite.path("x", worker=[str(worker)])


def test_what_closes_the_gate_is_explained(suite, newly_wrong):
    """Where the later run is made here; the sentence goes into its log, and every report."""
    words = "gate 2.13 2.15 bugs/1-first --path x --html gate.html".split()
    closed = suite(*words, env=suite.more)
    assert closed.returncode == 1, closed.stderr
    assert "lockstep: explaining bugs/1-first@cpu/x" in closed.stderr
    assert "    who did it: " in closed.stdout, closed.stderr
    page = (suite.root / "gate.html").read_text()
    assert "who did it: " in page and 'href="cases/bugs/1-first.json"' in page
    assert "report.html#id=bugs/1-first%40cpu/x" in page
    again = suite(*words, env=suite.more)
    assert "    who did it: " in again.stdout and "explaining" not in again.stderr
    other = suite(*"gate 2.13 2.14 bugs/1-first --path x --explain 0".split(), env=suite.more)
    assert other.returncode == 1 and "explaining" not in other.stderr


def test_a_wheel_is_found_that_brought_a_fingerprint(suite, newly_wrong):
    env = suite.more
    unknown = suite("bisect", "clone:value", "2.12", "2.15", env=env)
    assert unknown.returncode == 2 and "found no run with the fingerprint" in unknown.stderr
    suite("run", "bugs/*", "path:flip", "--out", ".lockstep/runs/one")
    word = "bugs/1-first@cpu/x"
    done = suite("bisect", "clone:value", "2.12", "2.15", word, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    found = [line.split() for line in done.stdout.splitlines()[1:] if line[:1] == "2"]
    assert found == [
        ["2.15.0", "bad"],
        ["2.12.0", "good"],
        ["2.14.0.dev20261101", "good"],
        ["2.14.0rc1", "bad"],
    ]
    assert "came between 2.14.0.dev20261101 (good) and 2.14.0rc1 (bad)" in done.stdout
    (script,) = (suite.root / ".lockstep" / "bisects").glob("*/git-bisect.sh")
    assert f"git bisect start {NEW_GIT} {OLD_GIT} && git bisect run {script}" in done.stdout
    assert subprocess.run(["sh", "-n", script]).returncode == 0 and script.stat().st_mode & 0o100
    assert "lockstep list fingerprint:clone:value --from" in script.read_text()
    asked = len((suite.root / "asked").read_text().splitlines())
    again = suite("bisect", "clone:value", "2.12", "2.15", word, env=env)
    assert again.stdout == done.stdout, "what was tried is taken as it is"
    assert len((suite.root / "asked").read_text().splitlines()) < asked + 10
    wrong = suite("bisect", "clone:value", "2.14.0", "2.15", word, env=env)
    assert wrong.returncode == 1 and "2.14.0 is not good for clone:value" in wrong.stderr
    none = suite("bisect", "clone:value", "2.15", "2.16", word, env=env)
    assert none.returncode == 2 and "found one wheel of torch" in none.stderr
