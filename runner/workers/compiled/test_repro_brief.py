"""The short script of a case: what somebody reads who is sent a report."""

import pytest
from reproducers import ROUND_TRIP, X, brief, execute, render, request

from conversation import pack, path, view


def test_the_brief_script_returns_what_has_no_name(tmp_path, script_environment):
    program = {**ROUND_TRIP, "outputs": ["y", "y", None], "backward": {"of": ["y"]}}
    given = [{"x": {**view(0, [20], [1]), "requires_grad": True}}]
    (text,) = brief(tmp_path, request(tmp_path, program, given))
    assert "y, output_2, output_3 = run(x)" in text
    done = execute(text, tmp_path, script_environment)
    assert done.returncode == 0 and done.stdout.count("None") == 2, done.stdout + done.stderr


CONTIGUOUS = [{"x": view(0, [20], [1])}]


def test_the_brief_script_shows_both_sides(tmp_path, script_environment):
    (text,) = brief(tmp_path, request(tmp_path, calls=CONTIGUOUS))
    assert len(text.splitlines()) < 20 and "lockstep" not in text
    eager, compiled = execute(text, tmp_path, script_environment).stdout.split("tensor(")[1:]
    assert "0.571289062" in eager and "0.571428597" in compiled


def test_the_brief_script_says_what_the_path_sets_and_what_is_raised(tmp_path, script_environment):
    step = {
        "let": ["y"],
        "op": "aten::div.Tensor_mode",
        "args": [{"ref": "x"}, {"ref": "x"}],
        "kwargs": {"rounding_mode": {"str": "no'such"}},
    }
    raising = {
        "inputs": ["x"],
        "outputs": ["y"],
        "context": {"grad": False},
        "backward": None,
        "steps": [step],
    }
    settings = {
        "config": {"torch._inductor.config.freezing": True},
        "environment": {"A": "b'c"},
        "mode": None,
        "fullgraph": False,
    }
    (text,) = brief(
        tmp_path,
        request(
            tmp_path,
            raising,
            CONTIGUOUS,
            path_=path("inductor", **settings),
            raises={"class": "", "match": ""},
        ),
    )
    assert (
        "os.environ['A'] = \"b'c\"" in text
        and "torch._inductor.config.freezing = True" in text
        and "with torch.no_grad():" in text
    )
    done = execute(text, tmp_path, script_environment)
    assert done.returncode == 0 and "RuntimeError div expected rounding_mode" in done.stdout, (
        done.stdout + done.stderr
    )


def test_the_brief_script_has_gradients_and_numbers_that_are_not_finite(
    tmp_path, script_environment
):
    program = {
        "inputs": ["x"],
        "outputs": ["y"],
        "context": {},
        "backward": {"of": ["y"]},
        "steps": [{"let": ["y"], "op": "aten::abs.default", "args": [{"ref": "x"}]}],
    }
    data = pack([float("nan"), float("-inf"), -0.0, 2.0], "f")
    (text,) = brief(
        tmp_path,
        request(tmp_path, program, [{"x": {**view(0, [4], [1]), "requires_grad": True}}], (data,)),
    )
    assert (
        "torch.tensor([math.nan, -math.inf, -0.0, 2.0], dtype=torch.float32, requires_grad=True)"
        in text
    )
    done = execute(text, tmp_path, script_environment)
    assert done.stdout.count("inf") == 2 and done.stdout.count("-1.") == 2, (
        done.stdout + done.stderr
    )


@pytest.mark.parametrize(
    "change, why",
    [
        ({}, "contiguous"),
        ({"calls": CONTIGUOUS * 2}, "one call"),
        (
            {
                "calls": CONTIGUOUS,
                "libraries": ["x.so"],
                "program": {
                    **ROUND_TRIP,
                    "steps": [{"let": ["y"], "op": "theirs::relu.default", "args": [X]}],
                },
            },
            "a script for a report loads no libraries, and torch 2",
        ),
        ({"calls": CONTIGUOUS, "libraries": ["x.so"], "device": "theirs"}, "has no device theirs"),
        ({"calls": CONTIGUOUS, "prepare": {}}, "prepares no inputs"),
        (
            {
                "calls": CONTIGUOUS,
                "program": {
                    **ROUND_TRIP,
                    "steps": [
                        {"let": ["y"], "op": "aten::bernoulli.default", "args": [{"ref": "x"}]}
                    ],
                },
            },
            "random",
        ),
    ],
)
def test_what_has_no_brief_script_says_why(tmp_path, change, why):
    (text,) = brief(tmp_path, request(tmp_path, **change))
    assert why in text["unsupported"]


def test_a_library_that_the_case_does_not_need_is_left_out(tmp_path):
    given = request(tmp_path, calls=CONTIGUOUS, libraries=[str(tmp_path / "no_such.so")])
    (text,) = brief(tmp_path, given)
    assert "def program(x):" in text and "no_such" not in text
    assert "no_such" not in render(given)
    given["program"] = {
        **ROUND_TRIP,
        "steps": [{"let": ["y"], "op": "theirs::relu.default", "args": [X]}],
    }
    assert "no_such.so" in render(given, status=3), "this one is needed, and loaded"
