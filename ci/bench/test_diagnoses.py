"""What the benchmarks of `explain` and `shrink` make of explanations and cases, without executing
any."""

import importlib.util
import json
import pathlib

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
KNOWN = json.loads((HERE / "explain" / "diagnoses.json").read_text("utf-8"))["diagnoses"]


def bench(name):
    """A module of its own of each file of that name."""
    spec = importlib.util.spec_from_file_location(f"bench_{name}", HERE / name / "bench.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


explained, shrunk = bench("explain"), bench("shrink")


def test_every_diagnosis_is_of_a_case_and_names_operators_of_it():
    assert len(KNOWN) >= 40 and len({each["id"] for each in KNOWN}) == len(KNOWN)
    for each in KNOWN:
        file = ROOT / "cases" / f"{each['id'].partition('@')[0].partition('[')[0]}.json"
        text = file.read_text("utf-8")
        assert (ROOT / "runner" / "paths" / f"{each['layer']}.json").exists()
        for operator in each["operators"]:
            assert (
                f'"{operator}"' in text
                or f'"{operator}.default"' in text
                or f'"{operator.partition(".")[0]}"' in text
            ), (each, operator)


def test_misses_are_in_the_table():
    known = {"id": "bugs/1@cpu/inductor", "layer": "inductor", "operators": ["exp", "mul.Tensor"]}
    found = {
        "layer": "aot_eager",
        "operators": ["mul.Tensor"],
        "status": "value_diverges",
        "how": "alone",
        "seconds": 3.0,
        "knobs": [{"name": "freezing", "ends": True}, {"name": "cse=false"}],
    }
    hit, miss = (
        explained.judged(known, {**found, "layer": "inductor"}),
        explained.judged(known, {**found, "operators": ["sin"]}),
    )
    assert hit["same_layer"] and hit["same_operator"] and hit["ends"] == ["freezing"]
    text = explained.table([hit, miss, explained.judged(known, {"failed": "no"})])
    assert (
        text.count("**(miss)**") == 2
        and "Of 2 that diverge here the layer of 1 and an operator of 1" in text
    )


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_buried_case_keeps_its_steps_among_others(number):
    case = json.loads(
        (ROOT / "cases" / "bugs" / "183607-half-product-overflow.json").read_text("utf-8")
    )
    assert shrunk.can_be_buried(case) and not shrunk.can_be_buried({**case, "matrix": {}})
    large = shrunk.buried(case, 1, number)
    assert large == shrunk.buried(case, 1, number)
    names = [step["let"] for step in large["steps"] if isinstance(step["let"], str)]
    order = [names.index(step["let"]) for step in case["steps"]]
    assert order == sorted(order) and len(set(names)) == len(names)
    assert (
        shrunk.FEWEST + shrunk.count(case["steps"])
        <= shrunk.count(large["steps"])
        <= shrunk.MOST + 6
    )
    assert set(case["outputs"]) < set(large["outputs"])
