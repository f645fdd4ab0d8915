"""Paths that export: the graph executed eagerly, and the package that another worker executes."""

import json
import os
import pathlib

import pytest

from conversation import pack, path, view

X = {"ref": "x"}
ALONE = {"inputs": ["x"], "outputs": ["y"]}
#: float32 → float16 → float32, and a sum over what differs between calls.
ROUND = {
    "inputs": ["x"],
    "outputs": ["y", "s"],
    "steps": [
        {"let": ["h"], "op": "aten::to.dtype", "args": [X, {"dtype": "float16"}], "kwargs": {}},
        {
            "let": ["y"],
            "op": "aten::to.dtype",
            "args": [{"ref": "h"}, {"dtype": "float32"}],
            "kwargs": {},
        },
        {"let": ["s"], "op": "aten::sum.dim_IntList", "args": [{"ref": "y"}, [0]], "kwargs": {}},
    ],
}
FOUR, SIX = pack([i / 7 for i in range(20)], "f"), pack([i / 3 for i in range(30)], "f")


def op(let, name, *args):
    name = name if "." in name else f"{name}.default"
    return {"let": let, "op": f"aten::{name}", "args": list(args), "kwargs": {}}


def description(seen):
    with open(os.path.join(seen.out, "package.json"), encoding="utf-8") as file:
        return json.load(file)


def test_export_executes_the_graph_for_sizes_that_differ(worker):
    seen = worker.run(
        ROUND,
        [{"x": view(0, [4, 5])}, {"x": view(1, [6, 5])}],
        [FOUR, SIX],
        path_=path("export"),
        repeat=2,
    )
    assert seen["outcome"] == "returned", seen["error"]
    for call in (0, 1):
        for name in ("y", "s"):
            assert seen.raw(seen.output(name, call=call)) == seen.raw(
                seen.output(name, call=call, reference=True)
            )
    assert seen["proof"]["graphs"] == 1 and seen["proof"]["operators"] == 3
    assert seen["proof"]["traces"]["eager"]


@pytest.mark.parametrize("dynamic, first", [(False, [4, 5]), (None, [1, 20])])
def test_export_refuses_a_call_that_it_was_not_exported_for(worker, dynamic, first):
    """With a size of 1 in each call there is no call that torch.export takes as an example of
    all."""
    second = [6, 5] if dynamic is False else [20, 1]
    seen = worker.run(
        ROUND,
        [{"x": view(0, first)}, {"x": view(1, second)}],
        [FOUR, SIX],
        path_=path("export", dynamic=dynamic),
    )
    assert seen["outcome"] == "raised" and seen["error"]["kind"] == "refused", seen["error"]
    assert seen["error"]["stage"] == "trace"


@pytest.mark.parametrize(
    "name, step",
    [
        (
            "DynamicOutputShapeException",
            {
                "let": ["y", "a", "b"],
                "op": "aten::unique_dim_consecutive.default",
                "args": [{"ref": "i"}, 0],
            },
        ),
        ("GuardOnDataDependentSymNode", op(["y"], "one_hot.default", {"ref": "i"})),
    ],
)
@pytest.mark.parametrize("export", ["eager", "aot_inductor"])
def test_what_hangs_on_data_is_refused(worker, export, name, step):
    seen = worker.run(
        {"inputs": ["i"], "steps": [step], "outputs": ["y"]},
        [{"i": view(0, [3], dtype="int64")}],
        [pack([0, 2, 1], "q")],
        path_=path("export", export=export),
    )
    assert seen["outcome"] == "raised" and seen["error"]["class"].endswith(name), seen["error"]
    assert seen["error"]["kind"] == "refused" and seen["error"]["stage"] == "trace"


def test_what_a_program_closes_over_is_fresh_in_every_call(worker):
    program = {
        "inputs": ["w", "x"],
        "constants": ["w"],
        "outputs": ["y"],
        "steps": [op([], "add_.Tensor", {"ref": "w"}, 1), op(["y"], "mul.Tensor", X, {"ref": "w"})],
    }
    calls = [{"w": view(i, [2]), "x": view(0, [2])} for i in (1, 2)]
    seen = worker.run(
        program,
        calls,
        [pack(each, "f") for each in ([1, 2], [3, 4], [5, 6])],
        path_=path("export"),
        repeat=2,
    )
    assert seen["outcome"] == "returned", seen["error"]
    for run in seen["runs"]:
        assert [seen.values(call["outputs"]["y"]) for call in run["calls"]] == [[4, 10], [6, 14]]
        assert [seen.values(call["inputs"]["w"]) for call in run["calls"]] == [[4, 5], [6, 7]]


def test_export_says_what_eager_says_of_an_error(worker):
    program = {**ALONE, "steps": [op(["y"], "mm", X, X)]}
    seen = worker.run(program, [{"x": view(0, [4, 5])}], [FOUR], path_=path("export"))
    assert seen["outcome"] == "raised" and seen["error"]["kind"] == "error", seen["error"]
    assert seen["error"]["class"] == seen["reference"]["error"]["class"]


def test_a_package_is_made_once_and_says_what_it_takes_and_returns(worker, cache):
    program = {
        "inputs": ["n", "w", "x"],
        "constants": ["w"],
        "outputs": ["parts", "y"],
        "steps": [
            op(["p"], "mm", X, {"ref": "w"}),
            op(["parts"], "split.Tensor", {"ref": "p"}, 2),
            op([], "add_.Tensor", X, {"ref": "n"}),
            op(["y"], "relu", X),
        ],
    }
    call = {"n": 3, "w": view(1, [5, 3]), "x": view(0, [4, 5])}
    storages = [FOUR, pack(range(15), "f")]
    seen = worker.run(program, [call], storages, path_=path("aoti"), repeat=2)
    assert seen["outcome"] == "returned", seen["error"]
    assert (
        seen["runs"] == [{"calls": [{"outputs": {}, "inputs": {}, "grads": {}}]}]
        and seen["reference"]["outcome"] == "returned"
    )
    told = description(seen)
    assert told["inputs"] == ["x"]
    assert told["outputs"] == [
        {"name": "parts", "form": ["tensor", "tensor"]},
        {"name": "y", "form": "tensor"},
    ]
    assert (
        told["proof"]["execution"] == "stated"
        and told["proof"]["graphs"] == 1
        and told["proof"]["kernels"] > 0
    )
    assert "aten::mm" in told["proof"]["executed"] or "aten::addmm" in told["proof"]["executed"], (
        told["proof"]
    )
    assert told["proof"]["traces"]["eager"]["aten::mm"] == 1
    assert os.path.getsize(os.path.join(seen.out, "package.pt2")) > 1000
    assert list(pathlib.Path(cache).glob("*/interface-*.o")), "its wrapper was compiled whole"
    # Other numbers, the same package; other bytes of what it closes over, another one.
    again = worker.run(program, [call], [SIX, storages[1]], path_=path("aoti"))
    assert again["proof"]["cache_hits"] == 1 and again["proof"]["code"] == seen["proof"]["code"]
    # For what it does not take it is not made.
    mixed = worker.run(program, [call, {**call, "n": 4}], storages, path_=path("aoti"))
    assert mixed["outcome"] == "unsupported" and "`n` is compiled into it" in mixed["reason"]
    other = worker.run(
        program,
        [call, {**call, "x": {**view(0, [4, 5]), "strides": [1, 4]}}],
        storages,
        path_=path("aoti"),
    )
    assert other["outcome"] == "unsupported" and "dtype and layout" in other["reason"]


def test_what_a_call_raises_its_package_has_to_raise(worker):
    """What the exported program raises where its guards are tried says nothing of the package."""
    program = {
        "inputs": ["i", "x"],
        "steps": [op(["y"], "index_select", X, 0, {"ref": "i"})],
        "outputs": ["y"],
    }
    calls = [{"i": view(at, [3], dtype="int64"), "x": view(0, [4, 5])} for at in (1, 2)]
    storages = [FOUR, pack([0, 3, 1], "q"), pack([0, 7, 1], "q")]
    seen = worker.run(program, calls, storages, path_=path("aoti"))
    assert seen["reference"]["outcome"] == "raised", seen["reference"]
    assert seen["outcome"] == "returned", seen["error"]
    assert os.path.getsize(os.path.join(seen.out, "package.pt2")) > 1000


def test_what_a_package_cannot_hold_is_unsupported(worker):
    number = {**ALONE, "outputs": ["n"], "steps": [op(["n"], "sym_size.int", X, 0)]}
    seen = worker.run(number, [{"x": view(0, [4, 5])}], [FOUR], path_=path("aoti"))
    assert seen["outcome"] == "unsupported" and "returns tensors alone" in seen["reason"], seen[
        "error"
    ]
    written = {
        "inputs": ["w", "x"],
        "constants": ["w"],
        "outputs": ["y"],
        "steps": [op([], "add_.Tensor", {"ref": "w"}, 1), op(["y"], "mul.Tensor", X, {"ref": "w"})],
    }
    seen = worker.run(
        written, [{"w": view(1, [4, 5]), "x": view(0, [4, 5])}], [FOUR, FOUR], path_=path("aoti")
    )
    assert seen["outcome"] == "unsupported" and "closes over" in seen["reason"], seen["error"]


def test_a_package_that_cannot_be_made_is_the_compilers_failure(worker):
    relu = {**ALONE, "steps": [op(["y"], "relu", X)]}
    broken = path(
        "aoti", config={"torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY": "compile_error"}
    )
    seen = worker.run(relu, [{"x": view(0, [4, 5])}], [FOUR], path_=broken)
    assert (
        seen["outcome"] == "raised"
        and seen["error"]["kind"] == "internal"
        and seen["error"]["stage"] == "compile"
    ), seen["error"]
    data_dependent = {
        **ALONE,
        "steps": [
            op(["n"], "item", X),
            {"let": ["m"], "scalar": ["or", {"ref": "n"}, 2]},
            op(["y"], "ones", [{"ref": "m"}]),
        ],
    }
    seen = worker.run(
        data_dependent, [{"x": view(0, [], dtype="int64")}], [pack([3], "q")], path_=path("aoti")
    )
    assert seen["outcome"] == "raised", seen["reason"]
