"""`lockstep findings`: expected/FINDINGS.md is what it writes, and its cases still diverge as it
says."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
from suites import BINARY, case

ROOT = pathlib.Path(__file__).resolve().parents[2]
long = pytest.mark.skipif(
    not os.environ.get("LOCKSTEP_LONG"), reason="compiles every finding; LOCKSTEP_LONG=1 runs it"
)


def lockstep(*words, home=ROOT, **variables):
    return subprocess.run(
        [BINARY, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=900,
        env={
            **os.environ,
            "LOCKSTEP_HOME": str(home),
            "LOCKSTEP_PYTHON": sys.executable,
            "NO_COLOR": "1",
            **variables,
        },
    )


def test_the_page_is_current(tmp_path):
    done = lockstep("findings", "--to", tmp_path / "FINDINGS.md")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "FINDINGS.md").read_text()
    assert text == (ROOT / "expected" / "FINDINGS.md").read_text(), (
        "renew it: ci/lockstep findings --to expected/FINDINGS.md"
    )


def test_the_page_has_each_unreported_expectation_and_each_case():
    text = (ROOT / "expected" / "FINDINGS.md").read_text()
    unreported = [
        rule
        for file in sorted((ROOT / "expected" / "known").glob("*.json"))
        for rule in json.loads(file.read_text())["known"]
        if rule["because"] == "unreported"
    ]
    assert len(unreported) > 40
    for rule in unreported:
        assert rule["reason"].replace("|", "\\|") in text or rule["reason"] in text
        if "example" not in rule:
            # Without an example it is of no consequence: finite numbers that round differently.
            assert (
                all(fingerprint.endswith(":value") for fingerprint in rule["fingerprints"])
                if "fingerprints" in rule
                else rule["status"] == "value_diverges"
            )
            assert rule["grade"] in ("ulp4", "close", "no_worse1"), rule
    for file in sorted((ROOT / "cases" / "findings").glob("*.json")):
        assert f"(../cases/findings/{file.name})" in text, (
            f"{file.name} is the example of no expectation"
        )


def test_the_lines_of_the_page_show_what_it_says(tmp_path):
    """The Python of one section, as somebody who reads the report would run it; one that shows on
    every CPU."""
    section = (
        (ROOT / "expected" / "FINDINGS.md")
        .read_text()
        .split("## fmax and fmin of -0 and +0 have the sign that eager gives them")[1]
    )
    (tmp_path / "it.py").write_text(section.split("```python\n")[1].split("```")[0])
    done = subprocess.run(
        [sys.executable, "it.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        env={
            **os.environ,
            "TORCHINDUCTOR_CACHE_DIR": os.environ.get(
                "LOCKSTEP_TEST_CACHE", str(tmp_path / "cache")
            ),
        },
    )
    assert done.returncode == 0, done.stderr
    eager, compiled = (text for text in done.stdout.split("tensor(") if text.strip())
    assert eager.startswith("[-0., 0.]") and compiled.startswith("[0., -0.]"), done.stdout


def test_an_example_that_names_no_verdict_is_refused(suite):
    suite.write("cases/bugs/1-first.json", case("one"))
    suite.write(
        "expected/known/a.json",
        {
            "format": 2,
            "known": [
                {
                    "instances": ["bugs/1-first"],
                    "paths": ["flip"],
                    "status": "value_diverges",
                    "because": "unreported",
                    "reason": "r",
                    "example": "bugs/1-frist@cpu/flip",
                    "searched": "everywhere",
                    "date": "2026-11-21",
                }
            ],
        },
    )
    (suite.binary.parent / "schemas.json").write_text(
        json.dumps({"torch": "2.0", "operators_digest": "f", "operators": []})
    )
    done = suite("findings", "--to", "FINDINGS.md")
    assert done.returncode == 2, done.stderr
    assert "expected/known/a.json:4: there is no verdict `bugs/1-frist@cpu/flip`" in done.stderr
    assert not (suite.root / "FINDINGS.md").exists()


@long
def test_every_case_diverges_as_it_is_known(tmp_path):
    """On every path that the expectations speak of, nothing is new, and nothing that the page
    claims of this torch is gone."""
    done = lockstep(
        "run",
        "findings/*",
        "--path",
        "aot_eager_decomp,inductor,inductor-emulate-casts",
        "--out",
        tmp_path / "out",
        LOCKSTEP_CACHE=str(tmp_path),
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
    assert "met nothing" not in done.stdout
