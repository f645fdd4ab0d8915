"""Random programs are the same again by their seed, valid cases, and say which verdicts fail."""

import json
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "ci"))

torch = pytest.importorskip("torch")

import random_programs  # noqa: E402


def test_a_seed_makes_the_same_programs_again(tmp_path):
    made = []
    for folder, seed in (("a", 7), ("b", 7), ("c", 8)):
        random_programs.make(tmp_path / folder, 12, seed)
        made.append([file.read_text() for file in sorted((tmp_path / folder).iterdir())])
    assert made[0] == made[1] != made[2] and len(made[0]) == 12


def test_programs_are_of_many_operators_and_every_input_is_used():
    operators: set = set()
    for number in range(60):
        case = random_programs.make_program(1, number)
        used = random_programs.references([step["args"] for step in case["steps"]])
        assert set(case["inputs"]) <= used and case["outputs"]
        operators.update(step["op"] for step in case["steps"])
    assert len(operators) > 60


def test_few_programs_conform_where_the_graph_is_executed_by_torch(tmp_path):
    result = subprocess.run(
        [
            ROOT / "ci" / "false-alarms",
            *"--programs 6 --seed 2 --save-tensors".split(),
            tmp_path,
            "aot_eager",
        ],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert result.returncode == 0, result.stderr
    assert re.search(r"^aot_eager: 0 of \d fail, 0.00 %", result.stdout, re.MULTILINE), (
        result.stdout
    )
    assert len(list((tmp_path / "cases").iterdir())) == 6


def test_what_fails_is_named_with_its_reason(tmp_path, capsys):
    verdict = {
        "type": "verdict",
        "path": "p",
        "instance": "a@cpu",
        "id": "a@cpu/p",
        "status": "value_diverges",
        "standing": "new",
        "differences": [{"status": "value_diverges", "reason": "y: 1 of 2 differ"}],
    }
    weak = {
        "type": "verdict",
        "path": "p",
        "instance": "b@cpu",
        "id": "b@cpu/p",
        "status": "conform",
        "weak": "of the sign of zero",
    }
    quiet = [
        {**weak, "id": f"{status}@cpu/p", "status": status, "weak": ""}
        for status in ("unsupported", "extension")
    ]
    (tmp_path / "run.jsonl").write_text(
        "".join(json.dumps(each) + "\n" for each in ({"type": "run"}, verdict, weak, *quiet))
    )
    random_programs.rates(tmp_path / "run.jsonl")
    assert capsys.readouterr().out == (
        "p: 1 of 2 fail, 50.00 %, 1 by values, 50.00 %"
        "  (1 value_diverges, 1 weak, 1 unsupported, 1 extension)\n"
        "a@cpu/p  value_diverges: y: 1 of 2 differ\n"
    )
