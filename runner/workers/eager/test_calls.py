"""Calls of one run: what they leave for the next, and what surrounds them."""

import struct

import pytest

from eager_worker import FOUR, ROUND_TRIP, op

# w + tiny is w in float32, and not in float64: what a gold hands on is its own.
ADDS = {
    **ROUND_TRIP,
    "inputs": ["w", "n"],
    "steps": [
        op(["new"], "add.Tensor", {"ref": "w"}, {"float": "0x1p-30"}),
        op([], "add_.Tensor", {"ref": "n"}, 1),
    ],
    "outputs": ["new"],
    "carry": {"w": "new", "n": "n"},
}


def adds(**changes):
    one = {"storage": 0, "dtype": "float32", "shape": [1], "strides": [1]}
    given = {"inputs": {"w": {**one, "requires_grad": True}, "n": {**one, "storage": 1}}}
    return {"calls": [given] * 3, **changes}


@pytest.mark.parametrize("mode", ["plain", "fp64", "stepwise", "mpfr", "perturbed"])
def test_a_call_gets_what_the_call_before_left(greeted, mode):
    storages = [struct.pack("f", 1), struct.pack("f", 10)]
    seen = greeted.observe(ADDS, None, storages, repeat=2, **adds(mode=mode))
    for run in seen["runs"]:
        left = []
        for call in run["calls"]:
            views = [call["outputs"]["new"], call["inputs"]["n"], call["inputs"]["w"]]
            code = {"float32": "f", "float64": "d"}
            left.append(
                [
                    struct.unpack(
                        code[view["dtype"]],
                        (
                            greeted.scratch
                            / str(greeted.runs)
                            / seen["storages"][view["storage"]]["file"]
                        ).read_bytes(),
                    )[0]
                    for view in views
                ]
            )
            assert call["inputs"]["w"]["requires_grad"] is True
        tiny = 2.0**-30 if mode in ("fp64", "mpfr") else 0
        if mode == "perturbed":  # one unit away from the start, and from there like fp64
            first = left[0][2]
            assert first != 1 and [each[0] - first for each in left] == [
                2.0**-30 * k for k in (1, 2, 3)
            ]
            continue
        assert [each[0] for each in left] == [1 + tiny, 1 + 2 * tiny, 1 + 3 * tiny]
        assert [each[1] for each in left] == [11, 12, 13]
        assert [each[2] for each in left] == [1, 1 + tiny, 1 + 2 * tiny]


def test_what_a_gold_lacks_it_does_not_hand_on(greeted):
    program = {
        **ROUND_TRIP,
        "inputs": ["w"],
        "steps": [{"let": ["new"], "call": "torch.relu", "args": [{"ref": "w"}]}],
        "outputs": ["new"],
        "carry": {"w": "new"},
    }
    seen = greeted.observe(
        program, None, [b"\0" * 16], mode="fp64", calls=[{"inputs": {"w": FOUR}}] * 2
    )
    first, second = seen["runs"][0]["calls"]
    assert "inputs" not in first["lost"]
    assert "public Python function" in first["lost"]["outputs"]["new"]
    assert "public Python function" in second["lost"]["inputs"]["w"]


def test_a_call_may_have_a_context_of_its_own(greeted):
    program = {**ROUND_TRIP, "steps": [op(["y"], "mul.Tensor", {"ref": "x"}, 2)], "outputs": ["y"]}
    given = {"inputs": {"x": {**FOUR, "requires_grad": True}}}
    calls = [given, {**given, "context": {"grad": False}}, given]
    seen = greeted.observe(program, None, [b"\0" * 16], calls=calls)
    flags = [call["outputs"]["y"]["requires_grad"] for call in seen["runs"][0]["calls"]]
    assert flags == [True, False, True]
    within = {**program, "context": {"grad": False, "default_dtype": "float64"}}
    calls = [{**given, "context": {"grad": True}}, given]
    seen = greeted.observe(within, None, [b"\0" * 16], calls=calls)
    flags = [call["outputs"]["y"]["requires_grad"] for call in seen["runs"][0]["calls"]]
    assert flags == [True, False]
    calls = [{**given, "context": {"unheard_of": True}}]
    seen = greeted.observe(program, None, [b"\0" * 16], calls=calls)
    assert seen["outcome"] == "unsupported" and "unheard_of" in seen["reason"]


def test_another_thread_may_make_a_call(greeted):
    """It begins with torch's defaults; what it raises, and what it draws, are as ever."""
    program = {
        **ROUND_TRIP,
        "steps": [
            op(["y"], "mul.Tensor", {"ref": "x"}, 2),
            op(["r"], "rand_like.default", {"ref": "x"}),
        ],
        "outputs": ["y", "r"],
        "backward": {"of": ["y"], "with": "ones"},
    }
    given = {"inputs": {"x": {**FOUR, "requires_grad": True}}}
    thread = {"context": {"thread": True}}
    made = [
        greeted.observe(program, None, [b"\0" * 16], calls=[given, {**given, **own}])
        for own in ({}, thread)
    ]
    assert made[0]["runs"] == made[1]["runs"] and made[0]["outcome"] == "returned"
    program = {**ROUND_TRIP, "steps": [op(["y"], "mm.default", {"ref": "x"}, {"ref": "x"})]}
    program = {**program, "outputs": ["y"]}
    made = [
        greeted.observe({**program, **own}, None, [b"\0" * 16], calls=[given])
        for own in ({}, thread)
    ]
    assert made[0]["error"] == made[1]["error"] and made[0]["outcome"] == "raised"
    assert made[0]["after_error"] == made[1]["after_error"]
    within = {**program, "steps": [{"with": {"thread": True}, "steps": program["steps"]}]}
    run = greeted.start(within, None, [b"\0" * 16], calls=[given])
    assert "/thread: steps run in" in greeted.until("ended", run)[-1]["error"]


@pytest.mark.parametrize("enabled", [None, False])
def test_autocast_can_be_off(greeted, enabled):
    inner = {"device": "cpu", "dtype": "bfloat16"} | ({} if enabled is None else {"enabled": False})
    step = op(["y"], "mm.default", {"ref": "x"}, {"ref": "x"})
    program = {
        **ROUND_TRIP,
        "context": {"autocast": {"device": "cpu", "dtype": "bfloat16"}},
        "steps": [{"with": {"autocast": inner}, "steps": [step]}],
        "outputs": ["y"],
    }
    x = {"storage": 0, "dtype": "float32", "shape": [2, 2], "strides": [2, 1]}
    seen = greeted.observe(program, {"x": x}, [b"\0" * 16])
    y = seen["runs"][0]["calls"][0]["outputs"]["y"]
    assert y["dtype"] == ("bfloat16" if enabled is None else "float32")
