"""Sweeps from the command line, with registries that are made up."""

import json
import sys

from suites import FAKE, case, overload, verdicts


def test_a_sweep_has_an_instance_for_each_operator_that_its_rule_takes(sweeping):
    sweeping.dump(
        {
            "aten::sin": [overload("Tensor")],
            "aten::add": [overload("Tensor", "Tensor", name="Tensor")],
            "aten::clone": [overload("Tensor", tags=())],
        }
    )
    done = sweeping("list", "ops/*")
    assert done.stdout == "ops/clone@cpu\nops/sweep[op=sin]@cpu\n", done.stderr
    assert "ops/sweep[op=sin]@cpu\n" == sweeping("list", "op:sin").stdout
    assert "y = aten::sin.default(x)" in sweeping("show", "ops/sweep").stdout
    assert "4 cases with 5 instances: valid, operators as of torch 2.0" in sweeping("check").stdout


def test_each_call_of_a_list_is_known_by_its_own_operator(sweeping):
    names = ("aten::sin", "aten::cos", "aten::clone")
    sweeping.dump({name: [overload("Tensor")] for name in names})
    listed = case("calls", sweep={"calls": [["sin", "%x"], ["cos", "%x"]]})
    del listed["steps"], listed["outputs"]
    sweeping.write("cases/ops/sweep.json", listed)
    assert sweeping("check").returncode == 0, sweeping("check").stderr
    done = sweeping("list", "op:cos")
    assert done.stdout == "ops/sweep[call=cos(x)]@cpu\n", done.stdout + done.stderr
    told = json.loads(sweeping("list", "--json", "ops/sweep").stdout)
    assert [each["operators"] for each in told] == [["aten::sin.default"], ["aten::cos.default"]]


def test_without_a_dump_a_sweep_is_checked_in_structure_and_has_no_instances(sweeping):
    done = sweeping("check")
    assert done.returncode == 0 and done.stdout.startswith(
        "4 cases with 4 instances: valid in structure"
    ), done.stderr
    assert "without which 1 sweep has no instances\n" in done.stdout
    assert "sweep" not in sweeping("list", "--level", "all").stdout
    assert sweeping("list", "--unswept").returncode == 2
    sweeping.write("cases/ops/sweep.json", {**case("both"), "sweep": {"operators": {"tag": 1}}})
    done = sweeping("check")
    assert done.returncode == 2
    assert "found 0 steps that call `$op`" in done.stderr and "found the number 1" in done.stderr


def test_what_no_sweep_takes_is_listed_with_the_reason(sweeping):
    sweeping.dump(
        {
            "aten::sin": [overload("Tensor")],
            "aten::add": [overload("Tensor", "Tensor", name="Tensor")],
            "aten::_sin": [overload("Tensor")],
            "aten::pow": [overload("Tensor", "Scalar", name="Tensor_Scalar")],
            "aten::clone": [overload("Tensor", tags=())],
        }
    )
    done = sweeping("list", "--unswept")
    assert done.stdout == (
        "_sin: internal: begins with _\n"
        "add.Tensor: 2 tensors: no sweep has so many inputs, or those of its names\n"
        "pow.Tensor_Scalar: needs `Scalar a1`, which no sweep of 1 tensor gives\n"
    ), done.stderr
    assert sweeping("list", "--unswept", "tag:sweep").stdout == done.stdout
    assert sweeping("list", "--unswept", "bugs/*").returncode == 4, "no sweep among them"
    assert sweeping("list", "--unswept", "--json").returncode == 2


def test_a_reproducer_is_of_one_instance(sweeping):
    sweeping.dump({"aten::clone": [overload("Tensor", tags=())]})
    sweeping.path("inductor", worker="compiled", backend="inductor")
    done = sweeping("repro", "bugs/*", "path:inductor")
    assert done.returncode == 2 and done.stdout == ""
    assert (
        "found 3 instances, expected one:\n"
        "      bugs/1-first@cpu\n      bugs/2-second[rows=1]@cpu\n" in done.stderr
    ), done.stderr
    script = sweeping.root / "python"
    script.write_text("#!/bin/sh\necho a script\n")
    script.chmod(0o755)
    done = sweeping("repro", "bugs/1-first", "path:inductor", env={"LOCKSTEP_PYTHON": str(script)})
    assert (done.returncode, done.stdout) == (0, "a script\n"), done.stderr


def test_a_reproducer_compares_on_one_device(sweeping):
    sweeping.dump({"aten::clone": [overload("Tensor", tags=())]})
    sweeping.path("inductor", worker="compiled", backend="inductor", reference={"device": "other"})
    done = sweeping("repro", "bugs/1-first", "path:inductor")
    assert done.returncode == 2 and done.stdout == ""
    assert (
        "`bugs/1-first@cpu/inductor` is compared with eager on other, and a script compares on one "
        "device" in done.stderr
    ), done.stderr


def test_a_run_sweeps_the_operators_of_the_torch_that_runs(sweeping):
    sweeping.dump({"aten::sin": [overload("Tensor")], "aten::clone": [overload("Tensor", tags=())]})
    other = sweeping.root / "other.json"
    other.write_text(
        json.dumps(
            {
                "torch": "2.1",
                "operators_digest": "g",
                "operators": {
                    "aten::cos": [overload("Tensor")],
                    "aten::clone": [overload("Tensor", tags=())],
                },
            }
        )
    )
    sweeping.eager.write_text(f"""#!/bin/sh
[ "$1" = schemas ] && exec cat {other}
{sys.executable} {FAKE} "$@" | sed -u 's/"torch": *"2.13.0"/&, "operators_digest": "g"/'
""")
    done = sweeping("run", "ops/*", "--out", "out", "-v")
    assert "ops/sweep[op=cos]@cpu/conform" in verdicts(sweeping.root / "out"), (
        done.stdout + done.stderr
    )
    assert "op=sin" not in done.stdout
