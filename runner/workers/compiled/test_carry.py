"""What one call hands to the next, and contexts of single calls: on eager, compiled, in
scripts."""

import threading
import types

import pytest
import torch

from conversation import pack, path, view
from lockstep_worker.compat.carry import as_input, copied
from lockstep_worker.repro.execution.run import execute
from lockstep_worker.threads import by_another_thread

W, X = {"ref": "w"}, {"ref": "x"}
TRAINING = {
    "inputs": ["w", "x", "n"],
    "steps": [
        {"let": ["h"], "op": "aten::mul.Tensor", "args": [W, X]},
        {"let": ["loss"], "op": "aten::sum.default", "args": [{"ref": "h"}]},
        {"let": ["new"], "op": "aten::sub.Tensor", "args": [W, X]},
        {"let": [], "op": "aten::add_.Tensor", "args": [{"ref": "n"}, 1]},
    ],
    "outputs": ["loss", "new"],
    "carry": {"w": "new", "n": "n"},
}


def call(x, **rest):
    inputs = {"w": view(0, [2], requires_grad=True), "x": view(x, [2]), "n": view(3, [1])}
    return {"inputs": inputs, **rest}


STORAGES = [pack([8, 9], "f"), pack([1, 2], "f"), pack([3, 1], "f"), pack([0], "f")]


@pytest.mark.parametrize("name", ["eager-python", "inductor", "aot_eager"])
@pytest.mark.parametrize("decoys", [False, True])
def test_a_call_gets_what_the_call_before_left(worker, name, decoys):
    seen = worker.run(
        TRAINING,
        [call(1), call(2), call(1)],
        STORAGES,
        path_=path(name),
        repeat=2,
        **({"decoys": True} if decoys else {}),
    )
    assert seen["outcome"] == "returned", seen["error"]
    for run in range(2):
        new = [seen.values(seen.output("new", run, at)) for at in range(3)]
        assert new == [[7, 7], [4, 6], [3, 4]]
        calls = seen["runs"][run]["calls"]
        assert [seen.values(each["inputs"]["w"]) for each in calls] == [[8, 9], [7, 7], [4, 6]]
        assert [seen.values(each["inputs"]["n"]) for each in calls] == [[1], [2], [3]]
        assert all(each["inputs"]["w"]["requires_grad"] for each in calls)


@pytest.mark.parametrize("name", ["eager-python", "inductor"])
def test_a_call_may_have_a_context_of_its_own(worker, name):
    program = {
        "inputs": ["x"],
        "steps": [{"let": ["y"], "op": "aten::mul.Tensor", "args": [X, 2]}],
        "outputs": ["y"],
    }
    given = {"inputs": {"x": view(0, [2], requires_grad=True)}}
    others = [{"grad": False}, {}, {"grad": False, "thread": True}, {"thread": True}]
    calls = [given, *({**given, "context": each} for each in others)]
    on = path(name, executes="inductor")
    seen = worker.run(program, calls, STORAGES, path_=on, decoys=True)
    flags = [each["outputs"]["y"]["requires_grad"] for each in seen["runs"][0]["calls"]]
    assert flags == [True, False, True, False, True]
    if name == "inductor":  # whoever makes a call
        proof = seen["proof"]
        assert (proof["execution"], proof["traces"]) == ("observed", {"eager": {"aten::mul": 5}})
        assert proof["executed"] == {"inductor/cpp_fused_mul": 5}


BESIDE = {
    "inputs": ["w", "x"],
    "steps": [
        {"let": ["h"], "op": "aten::mul.Tensor", "args": [W, X]},
        {"let": ["loss"], "op": "aten::sum.default", "args": [{"ref": "h"}]},
        {
            "with": {"compiled": False},
            "steps": [
                {"let": ["g"], "grad": {"of": [{"ref": "loss"}], "wrt": [W]}},
                {
                    "with": {"grad": False},
                    "steps": [{"let": [], "op": "aten::sub_.Tensor", "args": [W, {"ref": "g"}]}],
                },
            ],
        },
    ],
    "outputs": ["loss", "g"],
    "carry": {"w": "w"},
}


@pytest.mark.parametrize("name", ["eager-python", "inductor"])
def test_an_optimizer_stands_beside_what_is_compiled(worker, name):
    calls = [{"inputs": {"w": view(0, [2], requires_grad=True), "x": view(1, [2])}}] * 3
    seen = worker.run(BESIDE, calls, STORAGES, path_=path(name))
    assert seen["outcome"] == "returned", seen["error"]
    found = [[seen.values(seen.output(of, 0, at)) for of in ("loss", "g")] for at in range(3)]
    assert found == [[[26], [1, 2]], [[21], [1, 2]], [[16], [1, 2]]]
    left = [seen.values(each["inputs"]["w"]) for each in seen["runs"][0]["calls"]]
    assert left == [[7, 7], [6, 5], [5, 3]]
    if name == "inductor":  # what stands beside is in no graph
        assert seen["proof"]["graphs"] == 1 and seen["proof"]["operators"] == 2


@pytest.mark.parametrize("name", ["export", "aoti"])
def test_what_exports_has_nothing_beside_it(worker, name):
    calls = [{"inputs": {"w": view(0, [2], requires_grad=True), "x": view(1, [2])}}]
    seen = worker.run({**BESIDE, "carry": {}}, calls, STORAGES, path_=path(name))
    assert seen["outcome"] == "unsupported" and "beside" in seen["reason"]


@pytest.mark.parametrize(
    "change", [{"carry": {"w": "new"}}, {"context": {"grad": False}}], ids=["carry", "context"]
)
@pytest.mark.parametrize("name", ["export", "aoti"])
def test_what_exports_says_what_it_does_not_do(worker, name, change):
    program = {
        "inputs": ["w"],
        "steps": [{"let": ["new"], "op": "aten::mul.Tensor", "args": [W, 2]}],
        "outputs": ["new"],
        **({"carry": change["carry"]} if "carry" in change else {}),
    }
    given = {"inputs": {"w": view(0, [2])}}
    calls = [given, given if "carry" in change else {**given, **change}]
    seen = worker.run(program, calls, STORAGES, path_=path(name))
    assert seen["outcome"] == "unsupported" and "torch.export" in seen["reason"]


def test_copies_have_the_layout_and_share_what_was_shared():
    base = torch.arange(12.0, requires_grad=True)
    view_ = (base * 1).as_strided((2, 3), (1, 4), 1)
    found = copied(
        {"a": view_, "b": view_[0], "c": 3, "z": torch.zeros(2, dtype=torch.cfloat).conj()}
    )
    assert found["a"].stride() == (1, 4) and found["a"].storage_offset() == 1
    assert torch.equal(found["a"], view_) and not found["a"].requires_grad
    assert found["a"].untyped_storage()._cdata == found["b"].untyped_storage()._cdata
    assert found["a"].untyped_storage()._cdata != view_.untyped_storage()._cdata
    assert found["c"] == 3 and found["z"].is_conj()
    assert as_input(found["a"], True).requires_grad and found["a"].is_leaf
    assert not as_input(torch.zeros(1, dtype=torch.int64), True).requires_grad


def test_a_script_hands_on_what_each_side_left():
    def call(function, given):
        given["n"] += 1
        return {"new": function(given["w"])}

    case = types.SimpleNamespace(
        calls=3,
        call=call,
        carry={"w": "new", "n": "n"},
        inputs=lambda call: {"w": torch.ones(1), "n": torch.zeros(1)},
        reseed=False,
        repeat=1,
        seed=0,
        backward=False,
        observe=None,
        by={},
    )
    for factor in (2, 3):
        done = execute(case, lambda w, by=factor: w * by, [0, 1])
        assert [[float(each["new"].numbers) for each in run] for run in done.runs] == [
            [factor, factor**2, factor**3]
        ] * 2
        assert [float(each["input n"].numbers) for each in done.runs[0]] == [1, 2, 3]
    case.call = [call, lambda function, given: {"new": given["w"] - 1}, call]
    done = execute(case, lambda w: w * 2, [0])
    assert [float(each["new"].numbers) for each in done.runs[0]] == [2, 1, 2]
    case.by = {1: by_another_thread}
    case.call = lambda *_: {"new": torch.tensor([threading.get_ident()])}
    here, there, again = (int(each["new"].numbers) for each in execute(case, None, [0]).runs[0])
    assert here == again == threading.get_ident() != there
