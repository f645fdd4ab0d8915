"""Distinct calls as files that `check` takes: small enough, and with ids that have room."""

import json

from lockstep.capturing import sweeps


def noted(op, *shapes, args=(), **kwargs):
    inputs = {
        f"t{at}": {
            "dtype": "float32",
            "shape": shape,
            "strides": [1] * len(shape),
            "offset": 0,
            "fill": None,
        }
        for at, shape in enumerate(shapes)
    }
    given = [{"ref": name} for name in inputs]
    return {
        "call": {"op": f"aten::{op}", "args": [*given, *args], "kwargs": kwargs},
        "inputs": inputs,
    }


def calls_of(texts):
    return [call for text in texts for call in json.loads(text)["sweep"]["calls"]]


def test_an_input_is_called_the_same_whatever_else_there_is():
    one, other = noted("exp.default", [3]), noted("add.Tensor", [3], [3])
    (alone,) = calls_of(sweeps.write([one], "x")[0])
    texts, _ = sweeps.write([other, one], "x")
    added, same = calls_of(texts)
    assert same == alone
    # Of two that are alike each has a name, since they have numbers of their own.
    assert added[1] == alone[1] != added[2]
    assert len(json.loads(texts[0])["inputs"]) == 2


def test_files_are_split_where_check_would_refuse_them(monkeypatch):
    calls = [noted("exp.default", [at + 1]) for at in range(40)]
    whole, _ = sweeps.write(calls, "x")
    assert len(whole) == 1
    parts, _ = sweeps.write(calls, "x", len(whole[0]) - 1)
    assert len(parts) > 1 and calls_of(parts) == calls_of(whole)
    monkeypatch.setattr(sweeps, "MOST_DECODED", len(calls) * len(whole[0]) - 1)
    parts, _ = sweeps.write(calls, "x")
    assert len(parts) > 1 and calls_of(parts) == calls_of(whole)


def test_a_call_that_no_id_has_room_for_is_left_out_and_counted():
    texts, too_long = sweeps.write(
        [noted("cat.default", [3], args=[[{"ref": "t0"}] * 60]), noted("exp.default", [3])], "x"
    )
    assert too_long == 1
    assert [call[0] for call in calls_of(texts)] == ["exp"]


def test_a_view_has_memory_of_its_own():
    call = noted("add.Tensor", [3], [3])
    call["inputs"]["t0"]["fill"] = {"arange": {"start": 0, "step": 1}}
    del call["inputs"]["t1"]["fill"]
    call["inputs"]["t1"] |= {"view_of": "t0", "offset": 2}
    (text,), _ = sweeps.write([call], "x")
    base, view = json.loads(text)["inputs"].values()
    assert view == base | {"offset": 2}


def test_what_an_argument_is_unless_one_says_is_not_said():
    (text,), _ = sweeps.write([noted("sum.dim_IntList", [3], args=[[0]], dtype=None)], "x")
    assert calls_of([text])[0][2:] == [[0]]
