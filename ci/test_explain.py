"""`explain` and `shrink` on the four reports that the project starts from, with the real
workers."""

import json
import os
import pathlib
import subprocess

import pytest
from own_cache import own_cache

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = pathlib.Path(os.environ.get("LOCKSTEP_BINARY_DIR", "")) / "bin" / "lockstep"


def lockstep(*arguments, **more):
    environment = {**os.environ, "LOCKSTEP_HOME": str(ROOT), **more}
    return subprocess.run(
        [BINARY, *arguments], env=environment, capture_output=True, text=True, timeout=900
    )


def explained(one, status, seconds=240):
    done = lockstep("explain", one, "--json", "--seconds", str(seconds))
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout)


def test_the_half_round_trip_is_a_fused_pair_of_casts():
    found = explained("bugs/185337-half-round-trip@cpu/inductor", 1)
    assert (
        found["layer"] == "inductor"
        and [layer["path"] for layer in found["ladder"]][-1] == "inductor"
    )
    assert (
        found["operators"] == ["to.dtype"] and found["how"] == "fused" and found["guilty"] == [0, 1]
    )
    assert found["cast"] == "compiled keeps float32 where eager rounds to float16 after step h"
    ends = [knob["name"] for knob in found["knobs"] if knob.get("ends")]
    assert "emulate_precision_casts" in ends and "pattern_matcher=false" not in ends
    assert found["sentence"].startswith(
        "Inductor, fusion of `to.dtype` twice; ends with emulate_precision_casts"
    )
    steps = {step["name"]: step for step in found["steps"]}
    assert (
        steps["h"]["value"] == "same"
        and steps["y"]["explained"] == "no"
        and steps["s"]["explained"] == "yes"
    )
    assert steps["y"]["eager"] == steps["y"]["stepwise"] != steps["y"]["compiled"]
    assert found["agrees_with_eager"] == ["stepwise"] and found["agrees_with_compiled"] == ["fp64"]
    assert "open" not in found
    # What `torch` says of a knob is what the worker finds.
    assert [knob["name"] for knob in found["knobs"] if "has no torch" in knob.get("why", "")] == []
    if "subsystem" in found["pass"]:  # this torch has a bisector
        assert (
            found["pass"]["subsystem"] == "lowerings"
            and "convert_element_type" in found["pass"]["what"]
        )


def test_a_run_explains_what_fails_and_names_its_fingerprint_by_that(tmp_path):
    done = lockstep(
        *"""
            run bugs/185337-half-round-trip bugs/105264-uint8-wraps --path inductor
            --no-expectations --explain --out
        """.split(),
        tmp_path / "run",
    )
    assert done.returncode == 1, done.stderr
    one = "bugs/185337-half-round-trip@cpu/inductor"
    assert (
        f"{one}\n    Inductor, fusion of `to.dtype` twice; ends with emulate_precision_casts"
        in done.stderr
    )
    verdicts = {
        verdict["id"]: verdict
        for verdict in json.loads((tmp_path / "run" / "run.json").read_text())["verdicts"]
    }
    assert [verdict["id"] for verdict in verdicts.values() if "explanation" in verdict] == [one]
    assert verdicts[one]["explanation"]["operators"] == ["to.dtype"] and verdicts[one][
        "fingerprints"
    ] == ["to:value/emulate_precision_casts"]
    assert (
        "explained: Inductor, fusion of `to.dtype` twice"
        in (tmp_path / "run" / "junit.xml").read_text()
    )
    # Every report can be made again from the log, and a merged log has it, too.
    assert (
        "to:value/emulate_precision_casts"
        in lockstep("report", "--fingerprints", tmp_path / "run").stdout
    )
    log = (tmp_path / "run" / "run.jsonl").read_text().splitlines()
    assert [json.loads(line)["type"] for line in log][-2:] == ["end", "explanation"]


def test_a_run_that_has_no_time_to_explain_says_so(tmp_path):
    done = lockstep(
        *"""
            run bugs/185337-half-round-trip bugs/195675-clamp-bound-out-of-range --path inductor
            --no-expectations --explain=1 --out
        """.split(),
        tmp_path / "run",
    )
    assert done.returncode == 1, done.stderr
    assert "1 of 2 failing verdicts explained; --explain=SECONDS gives more time" in done.stderr
    assert (
        lockstep(
            "run", "bugs/185337-half-round-trip", "--explain=0", "--out", tmp_path / "none"
        ).returncode
        == 2
    )


@pytest.mark.skipif(not os.environ.get("LOCKSTEP_LONG"), reason="takes minutes: ci/test --long")
def test_the_exponents_of_a_network_are_a_rounding_that_is_magnified():
    """Where Inductor's layout makes oneDNN add up a convolution in another order, the exponents
    turn on that already, and keeping the layout ends it; elsewhere on erf."""
    found = explained("bugs/178045-full-model@cpu/inductor", 1, 600)
    ending = [knob["name"] for knob in found["knobs"] if knob.get("ends")]
    first = "conv2d" if "layout_optimization=false" in ending else "erf"
    assert first == "conv2d" or "fall_back" in ending
    assert (
        found["layer"] == "inductor" and found["operators"] == [first] and found["how"] == "alone"
    )
    assert found.get("amplifier") == ("ceil" if first == "erf" else None)


@pytest.mark.parametrize(
    "one",
    [
        "bugs/177630-bmm-half-by-float@cpu/inductor",
        "bugs/179569-pooled-mean-exponents@cpu/inductor",
        "bugs/178045-log2-of-powers-of-two@cpu/inductor",
    ],
)
def test_of_what_this_torch_has_mended_there_is_nothing_to_say(one):
    found = explained(one, 0)
    assert found["status"] == "conform" and "layer" not in found
    assert found["sentence"] == "it conforms, and nothing differs: there is nothing to explain"


def test_a_case_is_shrunk_to_what_check_accepts_and_runs_as_before(tmp_path):
    file = tmp_path / "small.json"
    one = "bugs/185337-half-round-trip@cpu/inductor"
    cache = str(own_cache(tmp_path))
    done = lockstep("shrink", one, "--to", str(file), LOCKSTEP_CACHE=cache)
    assert done.returncode == 1, done.stderr
    small = json.loads(file.read_text())
    assert [step["op"] for step in small["steps"]] == ["to.dtype", "to.dtype"] and small[
        "outputs"
    ] == ["y"]
    assert len(json.dumps(small["inputs"])) < 80
    assert "torch.compile(" in done.stdout
    assert lockstep("check", str(file)).returncode == 0
    ran = lockstep("run", str(file), "--path", "inductor", "--out", str(tmp_path / "run"))
    assert ran.returncode == 1 and "value diverges" in ran.stdout, ran.stderr
    again = lockstep("shrink", one, LOCKSTEP_CACHE=cache)
    assert again.stdout.startswith(file.read_text())
    assert "remembered from before" in again.stderr
    assert lockstep("shrink", one, "--to", str(file)).returncode == 2
