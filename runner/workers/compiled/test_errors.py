"""Errors: whose they are, where they happened, and that the original is found; and the proof."""

import pytest
import torch

from conversation import pack, path, view
from lockstep_worker import errors
from lockstep_worker.proof import digest, fallbacks

X = {"ref": "x"}
FLOATS = pack([1, 2, 3, 4], "f")


def op(let, name, *args, **kwargs):
    return {"let": let, "op": f"aten::{name}", "args": list(args), "kwargs": kwargs}


def call(let, name, *args, **kwargs):
    return {"let": let, "call": name, "args": list(args), "kwargs": kwargs}


def run(worker, step, path_=None, **rest):
    steps = step if isinstance(step, list) else [step]
    return worker.run(
        {"inputs": ["x", "i"], "steps": steps, "outputs": ["y"], **rest},
        [
            {
                "x": view(0, [2, 2], requires_grad="backward" in rest),
                "i": view(1, [2], dtype="int64"),
            }
        ],
        [FLOATS, pack([0, 9], "q")],
        path_=path_ or path("inductor"),
    )


@pytest.mark.parametrize(
    "step, kind",
    [
        (op(["y"], "mm.default", X, {"ref": "i"}), "RuntimeError"),
        (call(["y"], "torch.nn.functional.dropout", X, p={"float": "0x1p+1"}), "ValueError"),
        (call(["y"], "torch.nn.functional.batch_norm", X, None, None), "RuntimeError"),
        (op(["y"], "sum.dim_IntList", X, [7]), "IndexError"),
        (op(["y"], "linalg_cholesky.default", X), "torch._C._LinAlgError"),
        (op(["y"], "add.Tensor", X, {"str": "a"}), "TypeError"),
        (op(["y"], "index_select.default", X, 0, {"ref": "i"}), "IndexError"),
    ],
)
def test_the_programs_own_errors(worker, step, kind):
    seen = run(worker, step)
    eager = seen["reference"]
    assert (
        eager["outcome"] == "raised"
        and eager["error"]["class"] == kind
        and eager["error"]["stage"] == "eager"
    )
    assert seen["outcome"] == "raised" and seen["error"]["kind"] == "error", seen["error"]
    # An index out of range is a RuntimeError of the kernel that Inductor wrote.
    assert seen["error"]["class"] in (kind, "RuntimeError")
    assert (
        "_dynamo" not in seen["error"]["class"] and "from user code" not in seen["error"]["message"]
    )
    assert seen["stage"] == seen["error"]["stage"]


def test_eager_raises_and_inductor_does_not(worker):
    seen = worker.run(
        {"inputs": ["x"], "steps": [op(["y"], "add.Tensor", X, X)], "outputs": ["y"]},
        [{"x": view(0, [3], dtype="float8_e4m3fn")}],
        [b"abc"],
    )
    assert (
        seen["reference"]["error"]["class"] == "NotImplementedError"
        and seen["outcome"] == "returned"
    )


@pytest.mark.parametrize(
    "path_, kind, stage, wrapped",
    [
        (
            path("inductor", backend="relu_compile_error_TESTING_ONLY"),
            "internal",
            "lower",
            ["torch._dynamo.exc.BackendCompilerFailed"],
        ),
        (path("inductor", backend="relu_runtime_error_TESTING_ONLY"), "error", "run", []),
        (
            path(
                "inductor",
                config={"torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY": "compile_error"},
            ),
            "internal",
            "compile",
            ["torch._inductor.exc.InductorError"],
        ),
    ],
)
def test_the_compilers_failures(worker, path_, kind, stage, wrapped):
    seen = run(worker, call(["y"], "torch.relu", X), path_)
    assert seen["reference"]["outcome"] == "returned" and seen["outcome"] == "raised"
    error = seen["error"]
    assert (error["kind"], error["stage"], error["wrapped"]) == (kind, stage, wrapped)


def test_a_graph_break_is_refused_with_fullgraph_and_counted_without(worker):
    steps = [
        op(["s"], "sum.default", X),
        call([], "torch.Tensor.backward", {"ref": "s"}),
        op(["y"], "add.Tensor", X, 1),
    ]
    seen = run(worker, steps, path("eager"), backward={"of": ["y"], "with": "ones"})
    assert seen["reference"]["outcome"] == "returned", seen["reference"]["error"]
    assert seen["outcome"] == "raised" and seen["error"]["kind"] == "refused", seen["error"]
    assert (
        seen["error"]["class"] == "torch._dynamo.exc.Unsupported"
        and seen["error"]["stage"] == "trace"
    )
    seen = run(
        worker, steps, path("eager", fullgraph=False), backward={"of": ["y"], "with": "ones"}
    )
    assert seen["outcome"] == "returned" and seen["proof"]["graphs"] == 2
    assert len(seen["proof"]["breaks"]) == 1


def test_a_call_whose_backward_raised_is_there_without_gradients(worker):
    seen = run(
        worker,
        op(["y"], "detach.default", X),
        path("eager"),
        backward={"of": ["y"], "with": "ones"},
    )
    for side in (seen, seen["reference"]):
        assert (
            side["outcome"] == "raised" and "does not require grad" in side["error"]["message"]
        ), side["error"]
        (call_,) = side["runs"][0]["calls"]
        assert (
            call_["outputs"]["y"]["requires_grad"] is False
            and call_["inputs"]["x"]["requires_grad"] is True
        )
        assert call_["grads"] == {}
    seen = run(
        worker,
        op(["y"], "sum.dim_IntList", X, [7]),
        path("eager"),
        backward={"of": ["y"], "with": "ones"},
    )
    assert seen["reference"]["runs"] == [{"calls": []}], "it raised before its backward"


def test_the_recompile_limit(worker):
    program = {"inputs": ["x"], "steps": [op(["y"], "relu.default", X)], "outputs": ["y"]}
    calls = [{"x": view(0, [n])} for n in range(2, 13)]
    data = pack(range(12), "f")
    seen = worker.run(program, calls, [data], path_=path("eager", fullgraph=False))
    assert (
        seen["outcome"] == "returned"
        and seen["proof"]["recompile_limit"]
        and seen["proof"]["graphs"] == 8
    )
    seen = worker.run(program, calls, [data], path_=path("eager"))
    assert seen["outcome"] == "raised" and seen["error"]["kind"] == "refused"


@pytest.mark.parametrize(
    "line, name",
    [
        ("        aten.index_put_(buf9, [buf2, None], buf8, True)", "aten.index_put_"),
        ("        buf0.copy_(arg0_1, False)", "aten.copy_"),
        (
            (
                "        buf1 = torch.ops.aten.sort.stable("
                "arg0_1, stable=True, dim=0, descending=False)"
            ),
            "aten.sort.stable",
        ),
        ("        extern_kernels.mm(arg0_1, arg1_1, out=buf0)", "extern_kernels.mm"),
        ("aten = torch.ops.aten", None),
        ("        cpp_fused_copy_0(arg0_1, buf0)  # aten.copy_(x)", None),
        ("        not_aten.index_put_(buf0)", None),
    ],
)
def test_what_generated_code_calls_instead_of_a_kernel(line, name):
    assert fallbacks([line]) == ([name] if name else [])


def test_the_digest_of_code_is_that_of_what_is_executed():
    assert digest([]) == digest(["# AOT ID: 0\n\n"]) == ""
    assert (
        digest(["a = 1  # x\n", "b"])
        == digest(["# c\na = 1\n", "b  # y"])
        != digest(["a = 2\n", "b"])
    )


def test_proof(worker):
    seen = run(
        worker,
        [
            op(["s"], "sort.default", X),
            {"let": ["v"], "get": {"ref": "s"}, "index": [0]},
            op(["y"], "mm.default", {"ref": "v"}, X),
        ],
    )
    proof = seen["proof"]
    assert (
        proof["graphs"] == 1
        and proof["breaks"] == []
        and proof["recompiles"] == 0
        and not proof["recompile_limit"]
    )
    assert "extern_kernels.mm" in proof["fallbacks"] and any(
        "sort" in name for name in proof["fallbacks"]
    )
    assert proof["cache_hits"] + proof["cache_misses"] == 1
    again = run(
        worker,
        [
            op(["s"], "sort.default", X),
            {"let": ["v"], "get": {"ref": "s"}, "index": [0]},
            op(["y"], "mm.default", {"ref": "v"}, X),
        ],
    )["proof"]
    assert (
        again["cache_hits"] == 1
        and again["fallbacks"] == proof["fallbacks"]
        and again["kernels"] == proof["kernels"]
    )
    assert set(seen["phases"]) == {"eager", "trace", "lower", "compile", "run"} and all(
        v >= 0 for v in seen["phases"].values()
    )
    nothing = worker.run(
        {"inputs": ["x"], "steps": [], "outputs": ["x"]}, [{"x": view(0, [4])}], [FLOATS]
    )
    assert [
        nothing["proof"][key]
        for key in ("graphs", "operators", "frames", "frames_skipped", "breaks")
    ] == [0, 0, 1, 0, []]
    kernels = run(worker, op(["y"], "exp.default", X))["proof"]
    assert kernels["kernels"] == 1 and kernels["fallbacks"] == []
    assert again["code"] == proof["code"] != kernels["code"] and nothing["proof"]["code"] == ""


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


def test_a_quoted_error_without_a_fingerprint():
    from torch._dynamo.exc import TorchRuntimeError

    text = (
        "Dynamo failed to run FX node with fake tensors: call_function f(*(), **{}): "
        'got ValueError("it\'s (2)")\n\nfrom user code:\n  x'
    )
    described = errors.describe(TorchRuntimeError(text), "trace")
    assert (described["class"], described["message"], described["kind"]) == (
        "ValueError",
        "it's (2)",
        "error",
    )
    assert described["wrapped"] == ["torch._dynamo.exc.TorchRuntimeError"]


def raised_by(backend):
    """What `torch.compile` with a backend raises for a small program, as an observation says it."""
    torch._dynamo.reset()
    return errors.describe(
        caught(
            lambda: torch.compile(lambda x: x.relu() + 1, backend=backend, fullgraph=True)(
                torch.ones(3)
            )
        ),
        "lower",
    )


def backend_that_raises(raised):
    def backend(graph, inputs):
        raise raised

    return backend


class NoRule(NotImplementedError):
    pass


@pytest.mark.parametrize(
    "raised, kind, words",
    [
        (NotImplementedError("no rule"), "refused", "no rule"),
        (NoRule("no rule"), "refused", "no rule"),
        (torch._dynamo.exc.Unsupported("not for us"), "refused", "not for us"),
        (
            torch._subclasses.fake_tensor.UnsupportedOperatorException(torch.ops.aten.relu.default),
            "refused",
            "aten.relu.default",
        ),
        (
            torch._inductor.exc.MissingOperatorWithoutDecomp(torch.ops.aten.relu.default, [], {}),
            "refused",
            "aten.relu.default",
        ),
        (RuntimeError("broken"), "internal", "broken"),
        (
            type("Unsupported", (Exception,), {})("what only the vendor knows"),
            "internal",
            "only the vendor",
        ),
    ],
)
def test_a_backend_that_does_not_support_something_refuses(raised, kind, words):
    described = raised_by(backend_that_raises(raised))
    # What Inductor raises is from its part of the compilation.
    assert described["stage"] == ("compile" if "_inductor" in described["class"] else "lower")
    assert described["kind"] == kind and words in described["message"], described
    assert "TORCHDYNAMO" not in described["message"]


def test_what_eager_raises_too_is_no_refusal():
    reference = {"class": "NotImplementedError", "message": "no kernel"}
    from torch._dynamo.exc import BackendCompilerFailed

    wrapped = BackendCompilerFailed(
        backend_that_raises(None), NotImplementedError("no kernel"), None
    )
    assert errors.describe(wrapped, "lower", reference)["kind"] == "error"
    assert errors.describe(wrapped, "lower")["kind"] == "refused"


def test_a_lazy_backend_refuses_in_its_own_file_only(tmp_path):
    """A kernel of torch's that compiled code calls and that has no dtype is a fault of that
    code."""
    file = tmp_path / "vendor.py"
    file.write_text("def run():\n    raise NotImplementedError('no kernel')\n")
    scope: dict = {}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    assert errors.describe(caught(scope["run"]), "run")["kind"] == "refused"
    assert errors.describe(caught(scope["run"]), "eager")["kind"] == "error"
    exec(compile(file.read_text(), "<eval_with_key>.1", "exec"), scope)
    assert errors.describe(caught(scope["run"]), "run")["kind"] == "error"
    exec(compile(file.read_text(), torch.__file__, "exec"), scope)
    assert errors.describe(caught(scope["run"]), "run")["kind"] == "error"


@pytest.mark.parametrize(
    "raised, kind",
    [(RuntimeError("broken"), "internal"), (NotImplementedError("no rule"), "refused")],
)
def test_a_backward_that_is_compiled_late_is_the_compilers(raised, kind):
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd

    def refuse(graph, inputs):
        raise raised

    def run(backward):
        torch._dynamo.reset()
        backend = aot_autograd(
            fw_compiler=lambda graph, inputs: make_boxed_func(graph.forward), bw_compiler=backward
        )
        x = torch.ones(3, requires_grad=True)
        y = torch.compile(lambda x: x.sin(), backend=backend, fullgraph=True)(x)
        y.sum().backward()

    described = errors.describe(caught(lambda: run(refuse)), "run")
    assert (described["kind"], described["stage"]) == (kind, "lower"), described
    assert described["message"] == raised.args[0] and described["wrapped"] == []

    # What a compiled backward raises when it is executed stays what it is.
    def executed(graph, inputs):
        def compiled(arguments):
            raise RuntimeError("at work")

        compiled._boxed_call = True  # type: ignore[attr-defined]
        return compiled

    at_work = errors.describe(caught(lambda: run(executed)), "run")
    assert (at_work["kind"], at_work["stage"]) == ("error", "run"), at_work


def test_a_failed_lowering_keeps_its_target():
    from torch._inductor.exc import InductorError, LoweringException

    def lowering():
        try:
            raise AssertionError("sizes differ")
        except AssertionError as slip:
            raise LoweringException(
                slip, torch.ops.aten.sort.stable, ["TensorBox(x)", 1], {"stable": True}
            ) from slip

    described = errors.describe(InductorError(caught(lowering), None), "compile")
    assert (described["class"], described["message"], described["kind"]) == (
        "AssertionError",
        "sizes differ",
        "internal",
    )
    assert (
        described["detail"]
        == "target: aten.sort.stable args[0]: TensorBox(x) args[1]: 1 kwargs: {'stable': True}"
    )


def test_the_diagnostics_of_a_backend_are_kept():
    import subprocess

    def chained():
        ended = subprocess.CalledProcessError(
            1, ["cc"], output=b"", stderr=b"cc: core.c:3: error: no register\n1 file compiled\n"
        )
        raise RuntimeError("compilation failed, see diagnostics") from ended

    described = raised_by(lambda graph, inputs: chained())
    assert described["message"] == "compilation failed, see diagnostics"
    assert (
        described["detail"].startswith("from CalledProcessError: ")
        and "cc: core.c:3: error: no register" in described["detail"]
    )
    noted = RuntimeError("failed")
    # The notes are as add_note of Python 3.11 leaves them.
    vars(noted).update(
        __notes__=["while it placed relu"], diagnostics=["loading", "error: no register"]
    )
    assert (
        raised_by(backend_that_raises(noted))["detail"]
        == "error: no register; while it placed relu"
    )
    assert "detail" not in raised_by(backend_that_raises(RuntimeError("failed")))
    assert "detail" not in errors.describe(noted, "eager")


def test_plain_errors_keep_their_class():
    assert errors.describe(ValueError("a"), "run") == {
        "stage": "run",
        "class": "ValueError",
        "message": "a",
        "wrapped": [],
        "kind": "error",
    }
    oom = errors.describe(torch.OutOfMemoryError("b"), "run")
    assert oom["class"].endswith("OutOfMemoryError") and oom["kind"] == "error"


@pytest.mark.parametrize(
    "message, words",
    [
        ("one", "ValueError: one"),
        ("one\ntwo", "ValueError: one"),
        ("", "ValueError: "),
        (
            "backend='inductor' raised:\n"
            "OSError: [Errno 28] No space left on device\n\n"
            "Set TORCHDYNAMO_VERBOSE=1",
            "ValueError: backend='inductor' raised: OSError: [Errno 28] No space left on device",
        ),
        ("backend='inductor' raised:", "ValueError: backend='inductor' raised:"),
    ],
)
def test_the_first_words_say_something(message, words):
    assert errors.first_words(ValueError(message)) == words
