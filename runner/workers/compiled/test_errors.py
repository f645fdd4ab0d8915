"""Errors: whose they are, where they happened, and that the original is found; and the proof."""

import pytest
import torch

from conversation import pack, path, view
from lockstep_worker import errors

X = {"ref": "x"}
FLOATS = pack([1, 2, 3, 4], "f")


def op(let, name, *args, **kwargs):
    return {"let": let, "op": f"aten::{name}", "args": list(args), "kwargs": kwargs}


def call(let, name, *args, **kwargs):
    return {"let": let, "call": name, "args": list(args), "kwargs": kwargs}


def run(worker, step, path_=None, **rest):
    steps = step if isinstance(step, list) else [step]
    return worker.run({"inputs": ["x", "i"], "steps": steps, "outputs": ["y"], **rest},
                      [{"x": view(0, [2, 2], requires_grad="backward" in rest), "i": view(1, [2], dtype="int64")}],
                      [FLOATS, pack([0, 9], "q")], path_=path_ or path("inductor"))


@pytest.mark.parametrize("step, kind", [
    (op(["y"], "mm.default", X, {"ref": "i"}), "RuntimeError"),
    (call(["y"], "torch.nn.functional.dropout", X, p={"float": "0x1p+1"}), "ValueError"),
    (call(["y"], "torch.nn.functional.batch_norm", X, None, None), "RuntimeError"),
    (op(["y"], "sum.dim_IntList", X, [7]), "IndexError"),
    (op(["y"], "linalg_cholesky.default", X), "torch._C._LinAlgError"),
    (op(["y"], "add.Tensor", X, {"str": "a"}), "TypeError"),
    (op(["y"], "index_select.default", X, 0, {"ref": "i"}), "IndexError"),
])
def test_the_programs_own_errors(worker, step, kind):
    seen = run(worker, step)
    eager = seen["reference"]
    assert eager["outcome"] == "raised" and eager["error"]["class"] == kind and eager["error"]["stage"] == "eager"
    assert seen["outcome"] == "raised" and seen["error"]["kind"] == "error", seen["error"]
    # An index out of range is a RuntimeError of the kernel that Inductor wrote.
    assert seen["error"]["class"] in (kind, "RuntimeError")
    assert "_dynamo" not in seen["error"]["class"] and "from user code" not in seen["error"]["message"]
    assert seen["stage"] == seen["error"]["stage"]


def test_eager_raises_and_inductor_does_not(worker):
    seen = worker.run({"inputs": ["x"], "steps": [op(["y"], "add.Tensor", X, X)], "outputs": ["y"]},
                      [{"x": view(0, [3], dtype="float8_e4m3fn")}], [b"abc"])
    assert seen["reference"]["error"]["class"] == "NotImplementedError" and seen["outcome"] == "returned"


@pytest.mark.parametrize("path_, kind, stage, wrapped", [
    (path("inductor", backend="relu_compile_error_TESTING_ONLY"), "internal", "lower", ["torch._dynamo.exc.BackendCompilerFailed"]),
    (path("inductor", backend="relu_runtime_error_TESTING_ONLY"), "error", "run", []),
    (path("inductor", config={"torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY": "compile_error"}), "internal",
     "compile", ["torch._inductor.exc.InductorError"]),
])
def test_the_compilers_failures(worker, path_, kind, stage, wrapped):
    seen = run(worker, call(["y"], "torch.relu", X), path_)
    assert seen["reference"]["outcome"] == "returned" and seen["outcome"] == "raised"
    error = seen["error"]
    assert (error["kind"], error["stage"], error["wrapped"]) == (kind, stage, wrapped)


def test_a_graph_break_is_refused_with_fullgraph_and_counted_without(worker):
    steps = [op(["s"], "sum.default", X), call([], "torch.Tensor.backward", {"ref": "s"}), op(["y"], "add.Tensor", X, 1)]
    seen = run(worker, steps, path("eager"), backward={"of": ["y"], "with": "ones"})
    assert seen["reference"]["outcome"] == "returned", seen["reference"]["error"]
    assert seen["outcome"] == "raised" and seen["error"]["kind"] == "refused", seen["error"]
    assert seen["error"]["class"] == "torch._dynamo.exc.Unsupported" and seen["error"]["stage"] == "trace"
    seen = run(worker, steps, path("eager", fullgraph=False), backward={"of": ["y"], "with": "ones"})
    assert seen["outcome"] == "returned" and seen["proof"]["graphs"] == 2
    assert len(seen["proof"]["breaks"]) == 1


def test_a_call_whose_backward_raised_is_there_without_gradients(worker):
    seen = run(worker, op(["y"], "detach.default", X), path("eager"), backward={"of": ["y"], "with": "ones"})
    for side in (seen, seen["reference"]):
        assert side["outcome"] == "raised" and "does not require grad" in side["error"]["message"], side["error"]
        (call_,) = side["runs"][0]["calls"]
        assert call_["outputs"]["y"]["requires_grad"] is False and call_["inputs"]["x"]["requires_grad"] is True
        assert call_["grads"] == {}
    seen = run(worker, op(["y"], "sum.dim_IntList", X, [7]), path("eager"), backward={"of": ["y"], "with": "ones"})
    assert seen["reference"]["runs"] == [{"calls": []}], "it raised before its backward"


def test_the_recompile_limit(worker):
    program = {"inputs": ["x"], "steps": [op(["y"], "relu.default", X)], "outputs": ["y"]}
    calls = [{"x": view(0, [n])} for n in range(2, 13)]
    data = pack(range(12), "f")
    seen = worker.run(program, calls, [data], path_=path("eager", fullgraph=False))
    assert seen["outcome"] == "returned" and seen["proof"]["recompile_limit"] and seen["proof"]["graphs"] == 8
    seen = worker.run(program, calls, [data], path_=path("eager"))
    assert seen["outcome"] == "raised" and seen["error"]["kind"] == "refused"


def test_proof(worker):
    seen = run(worker, [op(["s"], "sort.default", X), {"let": ["v"], "get": {"ref": "s"}, "index": [0]},
                        op(["y"], "mm.default", {"ref": "v"}, X)])
    proof = seen["proof"]
    assert proof["graphs"] == 1 and proof["breaks"] == [] and proof["recompiles"] == 0 and not proof["recompile_limit"]
    assert "extern_kernels.mm" in proof["fallbacks"] and any("sort" in name for name in proof["fallbacks"])
    assert proof["cache_hits"] + proof["cache_misses"] == 1
    again = run(worker, [op(["s"], "sort.default", X), {"let": ["v"], "get": {"ref": "s"}, "index": [0]},
                         op(["y"], "mm.default", {"ref": "v"}, X)])["proof"]
    assert again["cache_hits"] == 1 and again["fallbacks"] == proof["fallbacks"] and again["kernels"] == proof["kernels"]
    assert set(seen["phases"]) == {"eager", "trace", "lower", "compile", "run"} and all(v >= 0 for v in seen["phases"].values())
    nothing = worker.run({"inputs": ["x"], "steps": [], "outputs": ["x"]}, [{"x": view(0, [4])}], [FLOATS])
    assert [nothing["proof"][key] for key in ("graphs", "operators", "frames", "frames_skipped", "breaks")] == [0, 0, 1, 0, []]
    kernels = run(worker, op(["y"], "exp.default", X))["proof"]
    assert kernels["kernels"] == 1 and kernels["fallbacks"] == []


def caught(function):
    try:
        function()
    except Exception as error:
        return error


def test_unwrapping_ignores_suppressed_contexts():
    from torch._dynamo.exc import InternalTorchDynamoError

    def raises():
        try:
            raise KeyError("slip")
        except KeyError as slip:
            raise InternalTorchDynamoError(f"KeyError: {slip}") from None

    described = errors.describe(caught(raises), "trace")
    assert (described["class"], described["kind"]) == ("KeyError", "internal")
    assert described["wrapped"] == ["torch._dynamo.exc.InternalTorchDynamoError"]


def test_a_quoted_error_without_a_cause():
    from torch._dynamo.exc import TorchRuntimeError

    text = "Dynamo failed to run FX node with fake tensors: call_function f(*(), **{}): got ValueError(\"it's (2)\")\n\nfrom user code:\n  x"
    described = errors.describe(TorchRuntimeError(text), "trace")
    assert (described["class"], described["message"], described["kind"]) == ("ValueError", "it's (2)", "error")
    assert described["wrapped"] == ["torch._dynamo.exc.TorchRuntimeError"]


def test_plain_errors_keep_their_class():
    assert errors.describe(ValueError("a"), "run") == {
        "stage": "run", "class": "ValueError", "message": "a", "wrapped": [], "kind": "error"}
    oom = errors.describe(torch.OutOfMemoryError("b"), "run")
    assert oom["class"].endswith("OutOfMemoryError") and oom["kind"] == "error"


@pytest.mark.parametrize("message, words", [
    ("one", "ValueError: one"),
    ("one\ntwo", "ValueError: one"),
    ("", "ValueError: "),
    ("backend='inductor' raised:\nOSError: [Errno 28] No space left on device\n\nSet TORCHDYNAMO_VERBOSE=1",
     "ValueError: backend='inductor' raised: OSError: [Errno 28] No space left on device"),
    ("backend='inductor' raised:", "ValueError: backend='inductor' raised:"),
])
def test_the_first_words_say_something(message, words):
    assert errors.first_words(ValueError(message)) == words
