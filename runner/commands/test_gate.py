"""The gate between two runs, as CI calls it: what each transition looks like, what fails, what is
let pass, what is refused."""

import json
import pathlib
import re
import sys

import pytest
from lxml import etree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from suites import BINARY, FAKE, Suite, case, log_of

SCHEMA = (
    pathlib.Path(__file__).resolve().parents[2]
    / "reports"
    / "testdata"
    / "schemas"
    / "jenkins-junit-10.xsd"
)

pytestmark = pytest.mark.skipif(
    not BINARY.is_file(), reason="LOCKSTEP_BINARY_DIR names no build with bin/lockstep"
)


def worker(behaviour):
    return [sys.executable, str(FAKE), f"as={behaviour}"]


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    """Runs: `good`, `bad` (one path differs where it did not, another crashes no more), `less` (a
    case is gone)."""
    suite = Suite(tmp_path_factory.mktemp("gate") / "suite", BINARY)

    def run(directory, x, y, *more):
        suite.path("x", worker=worker(x))
        suite.path("y", worker=worker(y))
        assert suite("run", "bugs/*", "path:x", "path:y", "--out", directory, *more).returncode in (
            0,
            1,
        )

    run("good", "conform", "crash")
    run("again", "conform", "crash")
    run("bad", "flip", "conform")
    (suite.root / "cases/bugs/1-first.json").unlink()
    suite.write("cases/bugs/4-fourth.json", case("is new"))
    run("less", "conform", "crash")
    return suite


def test_two_runs_that_agree_open_the_gate(suite):
    same = suite("gate", "good", "again")
    assert same.returncode == 0 and same.stderr == ""
    assert same.stdout.endswith("the gate is open: 6 verdicts unchanged, 0 changes\n")


def test_the_console_and_the_exit_status(suite):
    result = suite("gate", "good", "bad")
    assert result.returncode == 1
    suite.golden(
        "gate.txt", re.sub(r"\b[0-9a-f]{8}\b", "DIGEST", result.stdout)
    )  # of path files, which name the interpreter
    back = suite("gate", "bad", "good")
    assert back.returncode == 1 and "new crash" in back.stdout and "fixed" in back.stdout
    less = suite("gate", "good", "less")
    assert (
        less.returncode == 1
        and "gone  bugs/1-first  2 verdicts; " in less.stdout
        and "new case  bugs/4-fourth  1 verdict; " in less.stdout
    )
    assert "environment changed  digest of cases" in less.stdout
    assert "not compared like with like:\n    the cases are not the same\n" in less.stdout
    strict = suite("gate", "good", "less", "--strict")
    assert strict.returncode == 2 and "the cases are not the same" in strict.stderr
    assert "bugs/2-second[rows=2]@cpu/x" in suite("gate", "good", "bad", "-v").stdout


def test_the_later_run_is_the_latest_if_none_is_named(suite):
    suite("run", "bugs/2-second", "path:x")
    told = suite("gate", "less").stdout
    # It was asked for less: what it leaves out is no loss.
    assert "4 of the first alone, 0 of the second alone" in told and "gone" not in told


def test_what_fails_can_be_chosen(suite):
    gate = ("gate", "good", "bad")
    assert suite(*gate, "--fail-on", "none").returncode == 0
    assert suite(*gate, "--fail-on", "gone,new_crash").returncode == 0
    assert suite(*gate, "--fail-on", "fixed").returncode == 1
    assert suite(*gate, "--fail-on", "release").returncode == 1
    assert suite(*gate, "--fail-on", "nightly").returncode == 1  # nothing accounts for them
    assert suite(*gate, "--fail-on", "fixed:unknown").returncode == 1
    wrong = suite(*gate, "--fail-on", "gone,new_crush")
    assert (
        wrong.returncode == 2
        and "new_crush" in wrong.stderr
        and "did you mean `new_crash`?" in wrong.stderr
    )


def test_a_nightly_is_closed_by_what_is_unknown_alone(suite):
    records = log_of(suite.root / "bad")
    told = {"because": "bug", "reason": "It is reported.", "file": "known.json"}
    for record in records:
        if record["type"] == "environment" and record["name"] == "eager":
            record["values"]["torch"] = "2.16.0.dev20261120"
        if record.get("status") == "value_diverges":
            record.update(standing="known", expectation={"status": record["status"], **told})
    (suite.root / "night").mkdir()
    text = "".join(json.dumps(record) + "\n" for record in records)
    (suite.root / "night" / "run.jsonl").write_text(text)
    night = suite("gate", "good", "night")
    assert night.returncode == 0, night.stdout + night.stderr
    assert " worse and known to the suite" in night.stdout
    assert suite("gate", "good", "night", "--fail-on", "release").returncode == 1


def test_what_somebody_has_looked_at_passes(suite):
    allowed: dict = {
        "format": 1,
        "allow": [
            {
                "transition": "new_divergence",
                "ids": ["bugs/*/x"],
                "reason": "the new rounding is meant",
                "link": "https://example.org/7",
            },
            {"transition": "gone", "ids": ["*"], "reason": "nothing is"},
        ],
    }
    suite.write("allow.json", allowed)
    gate = ("gate", "good", "bad", "--allow", "allow.json")
    result = suite(*gate)
    assert (
        result.returncode == 0
        and "new divergence (allowed)" in result.stdout
        and "the new rounding is meant" in result.stdout
    )
    assert "`gone` lets nothing pass: remove it" in result.stdout
    allowed["allow"][0]["ids"] = ["bugs/1-first@cpu/x"]  # the others still fail
    suite.write("allow.json", allowed)
    assert suite(*gate).returncode == 1
    suite.write(
        "allow.json",
        {"format": 1, "allow": [{"transition": "new_divergance", "ids": "bugs/*"}, {"why": 1}]},
    )
    wrong = suite(*gate)
    assert wrong.returncode == 2 and "did you mean `new_divergence`?" in wrong.stderr
    assert (
        "reason" in wrong.stderr and "why" in wrong.stderr and "allow.json:" in wrong.stderr
    )  # all at once, each at its place


def test_the_reports(suite):
    result = suite(*"gate good bad --json - --junit gate.xml --summary gate.md".split())
    told = json.loads(result.stdout)  # people read standard error then
    assert result.returncode == 1 and "the gate is closed" in result.stderr
    assert told["counts"] == {
        "new_divergence": {"changes": 3, "failing": 3},
        "environment_changed": {"changes": 1, "failing": 0},
        "fixed": {"changes": 3, "failing": 0},
    }
    first = told["changes"][0]
    assert (first["transition"], first["id"], first["fails"]) == (
        "new_divergence",
        "bugs/1-first@cpu/x",
        True,
    )
    assert first["before"]["status"] == "conform" and first["after"]["status"] == "value_diverges"
    etree.XMLSchema(etree.parse(str(SCHEMA))).assertValid(etree.parse(str(suite.root / "gate.xml")))
    root = etree.parse(str(suite.root / "gate.xml")).getroot()
    tests = root.findall("testsuite/testcase")
    assert (root.get("tests"), root.get("failures")) == ("7", "3") and len(tests) == 7
    assert [test.get("name") for test in tests if test.find("failure") is not None] == [
        "bugs/1-first@cpu/x",
        "bugs/2-second[rows=1]@cpu/x",
        "bugs/2-second[rows=2]@cpu/x",
    ]
    page = (suite.root / "gate.md").read_text()
    assert (
        page.startswith("## Lockstep: the gate is closed&#58; 1 fingerprint in 3 verdicts is worse")
        and "| new divergence | 3 | 3 |" in page
    )


def test_eager_is_compared_where_that_is_asked_for(suite):
    log = (suite.root / "good" / "run.jsonl").read_text()
    logged = re.search(r'"id":"bugs/1-first@cpu/x".*?"eager_digest":"([0-9a-f]{16})"', log)
    assert logged
    digest = logged[1]
    (suite.root / "other-eager").mkdir()
    (suite.root / "other-eager" / "run.jsonl").write_text(log.replace(digest, "0" * 16))
    plain = suite("gate", "good", "other-eager")
    assert plain.returncode == 0 and "eager" not in plain.stdout and "0 changes" in plain.stdout
    asked = suite(
        *"""
            gate good other-eager --eager --json gate.json --summary gate.md --html
            gate.html
        """.split()
    )
    assert (
        asked.returncode == 0
        and "eager differs  bugs/1-first@cpu  other bits\neager: 1 of 3 instances differs\n"
        in asked.stdout
    )
    assert json.loads((suite.root / "gate.json").read_text())["eager"] == {
        "changes": [{"instance": "bugs/1-first@cpu", "text": "other bits"}],
        "same": 2,
        "unknown": 0,
    }
    assert (
        "### eager with eager" in (suite.root / "gate.md").read_text()
        and 'id="eager"' in (suite.root / "gate.html").read_text()
    )
    (suite.root / "other-eager" / "run.jsonl").write_text(
        re.sub('"eager_digest":"[0-9a-f]{16}",', "", log)
    )  # of an older Lockstep
    assert (
        "3 cannot be told: the logs do not say what eager did"
        in suite("gate", "good", "other-eager", "--eager").stdout
    )


def test_half_a_run_and_a_changed_one_are_not_believed(suite):
    log = (suite.root / "good" / "run.jsonl").read_text()
    lines = log.splitlines(keepends=True)

    def refused(text):
        (suite.root / "forged").mkdir(exist_ok=True)
        (suite.root / "forged" / "run.jsonl").write_text(text)
        result = suite("gate", "forged", "bad")
        assert result.returncode == 2 and result.stdout == ""
        return result.stderr

    assert "has no end" in refused("".join(lines[:-1]))
    place = next(place for place, line in enumerate(lines) if '"type":"verdict"' in line)
    assert "it has 5 of 6 verdicts" in refused("".join(lines[:place] + lines[place + 1 :]))
    assert "the log was changed" in refused(
        log.replace('"id":"bugs/1-first@cpu/x"', '"id":"bugs/1-other@cpu/x"')
    )
    suite("run", "bugs/*", "path:x", "--shard", "1/2", "--out", "half")
    assert "shard 1/2" in suite("gate", "half", "bad").stderr
