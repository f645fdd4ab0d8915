"""The line through all rooms: report #185337 from JSON to a verdict, with the real binary and the
real workers."""

import json
import os
import pathlib
import subprocess
import xml.etree.ElementTree

import pytest
from own_cache import own_cache

ROOT = pathlib.Path(__file__).resolve().parent.parent
CASE = "bugs/185337-half-round-trip"


@pytest.fixture(scope="module")
def lockstep():
    binary = pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "lockstep"

    def run(*arguments, **more):
        environment = {**os.environ, "LOCKSTEP_HOME": str(ROOT), **more}
        return subprocess.run(
            [binary, *arguments], env=environment, capture_output=True, text=True, timeout=600
        )

    return run


@pytest.fixture(scope="module")
def ran(lockstep, tmp_path_factory):
    """Runs the case on its paths, and keeps the verdicts: what the run said, its folder, and what
    runs it again into another one."""
    folder = tmp_path_factory.mktemp("ran")
    cache = str(own_cache(folder))

    def run(name):
        return lockstep("run", CASE, "--reuse", "--out", str(folder / name), LOCKSTEP_CACHE=cache)

    return run("first"), folder / "first", run


def verdicts(directory):
    record = json.loads((directory / "run.json").read_text())
    return {verdict["path"]: verdict for verdict in record["verdicts"]}


def test_the_known_divergence_is_known_and_the_emulating_mode_conforms(ran):
    result, folder, _ = ran
    assert result.returncode == 0, result.stderr
    found = verdicts(folder)
    assert found["inductor"]["status"] == "value_diverges"
    assert found["inductor"]["standing"] == "known"
    assert (
        found["inductor"]["expectation"]["link"]
        == "https://github.com/pytorch/pytorch/issues/185337"
    )
    output = found["inductor"]["outputs"][0]
    assert (output["differing"], output["elements"]) == (17, 20)
    # 17/7 in units of 2^-9, the distance of float16 numbers there: 1243.43 is rounded by 0.43 of
    # them.
    assert output["max_abs"] == pytest.approx((17 / 7 * 512 - 1243) / 512, rel=1e-4)
    assert found["inductor-emulate-casts"]["status"] == "conform"
    absent = {
        path["name"]: path["reason"]
        for path in json.loads((folder / "run.json").read_text())["run"]["absent_paths"]
    }
    if "inductor-strict" in found:
        assert found["inductor-strict"]["status"] == "conform" and absent == {}
    else:
        assert "has no torch._inductor.config.numerics" in absent["inductor-strict"]
        assert "inductor-strict: torch" in result.stderr
    # The proof that something was compiled.
    assert found["inductor-emulate-casts"]["proof"]["graphs"] == 1


def test_what_nothing_has_changed_of_is_not_executed_again(ran):
    _, folder, again = ran
    assert again("second").returncode == 0
    first, second = (
        json.loads((folder.with_name(name) / "run.json").read_text())
        for name in ("first", "second")
    )
    assert not any("reused" in verdict for verdict in first["verdicts"])
    for made, taken in zip(first["verdicts"], second["verdicts"], strict=True):
        assert taken.pop("reused") == first["run"]["started"]
        for verdict in (made, taken):
            for key in ("seconds", "phases"):
                verdict.pop(key, None)
        assert taken == made


def test_without_expectations_it_fails_and_says_how_to_repeat_it(lockstep, tmp_path):
    result = lockstep("run", CASE + "@cpu/inductor", "--no-expectations", "--out", str(tmp_path))
    assert result.returncode == 1, result.stderr
    assert "17 of 20 elements differ" in result.stdout
    assert "0.000837" in result.stdout
    assert "ci/lockstep run " + CASE + "@cpu/inductor" in result.stdout
    suites = xml.etree.ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert suites.get("failures") == "1"
    page = (tmp_path / "report.html").read_text()
    assert CASE in page


def test_a_wrong_expectation_is_not_met(lockstep, tmp_path):
    """The saboteur of the expectations: one that expects a crash does not excuse a difference."""
    suite = tmp_path / "suite"
    (suite / "cases" / "bugs").mkdir(parents=True)
    (suite / "expected" / "known").mkdir(parents=True)
    (suite / "cases" / "bugs" / "185337-half-round-trip.json").write_text(
        (ROOT / "cases" / f"{CASE}.json").read_text()
    )
    rule = {
        "instances": [CASE],
        "paths": ["inductor"],
        "status": "crash",
        "because": "bug",
        "reason": "made up for a test",
        "link": "https://example.org/1",
        "date": "2026-11-21",
    }
    (suite / "expected" / "known" / "wrong.json").write_text(
        json.dumps({"format": 2, "known": [rule]})
    )
    result = lockstep(
        "run", "--suite", str(suite), CASE + "@cpu/inductor", "--out", str(tmp_path / "run")
    )
    assert result.returncode == 1, result.stderr
    assert verdicts(tmp_path / "run")["inductor"]["standing"] == "new"


def test_the_record_says_what_it_was_made_with(ran):
    environment = json.loads((ran[1] / "run.json").read_text())["environment"]
    for worker in ("eager", "compiled"):
        assert environment[worker]["flush_denormals"] is False
        for key in ("torch", "torch_git", "cpu_capability", "compiler", "operators_digest"):
            assert environment[worker][key], (worker, key)
    assert environment["machine"]["threads"] == 2
    assert environment["compiled"]["float32_matmul_precision"] == "highest"


def test_doctor_finds_a_machine_fit_where_the_suite_runs(lockstep):
    result = lockstep("doctor", "--deep")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "FAIL" not in result.stdout
    for subject in (
        *"python torch compiler eager operators devices".split(),
        "path inductor",
        "path aot_eager",
    ):
        assert f"\nok    {subject} " in result.stdout, result.stdout
    assert result.stdout.splitlines()[-1].startswith("fit to run")
