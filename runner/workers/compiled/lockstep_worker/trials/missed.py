"""What the worker can do without, for a price."""

import functools
import os
import tempfile
from typing import Any

import torch

from .. import errors
from ..compat import build, dynamo, graphs, inductor, tensors
from ..proof import compile_phases
from ..witness import Testimony, Witness
from .trial import TRIED, Trial, compiled, expect, two_steps, untraced

#: The trial without which `settle` takes headers away from the cache.
HEADERS = "header cache"


def _headers() -> None:
    used: list[str] = []
    inductor.on_header(used.append)
    compiled(two_steps, TRIED, backend="inductor")
    expect("a precompiled header is used", bool(used), True)
    for header in used:
        expect(
            f"{header} lies in the cache",
            inductor.is_placed(header, os.environ["TORCHINDUCTOR_CACHE_DIR"]),
            True,
        )


def _compiler() -> None:
    expect("the C++ compiler has a name", bool(inductor.cpp_compiler()), True)


def _builds() -> None:
    with tempfile.TemporaryDirectory() as directory:
        name, target = inductor.build_in(directory)
    expect(f"the compiler writes beside {os.path.basename(target)}", name != target, True)


def _records() -> None:
    def two_parts(x: Any) -> tuple:
        return two_steps(x), x.view(2, 2) @ x.view(2, 2)

    proof = compiled(two_parts, TRIED, backend="inductor")
    expect("kernels are counted", proof["kernels"] >= 1, True)
    expect("what is called instead of a kernel", proof["fallbacks"], ["extern_kernels.mm"])
    expect(
        "graphs that came from the cache or did not", proof["cache_hits"] + proof["cache_misses"], 1
    )


def _stages() -> None:
    told: list[str] = []

    def hook() -> None:
        dynamo.on_lowering(told.append)
        dynamo.on_compilations(told.append)
        inductor.on_compile(lambda: told.append("compile"))

    with inductor.no_graph_cache():
        compiled(two_steps, TRIED, backend="inductor", hook=hook)
    expect("stages", told, ["trace", "lower", "compile", "run"])
    expect(
        "stages without seconds",
        [stage for stage, seconds in compile_phases().items() if seconds <= 0],
        [],
    )


def _guards() -> None:
    seen: list[int] = []
    dynamo.no_guard_profiling(lambda: seen.append(1))
    compiled(two_steps, 3)
    expect("guards were asked to be timed", bool(seen), True)


def _profiles() -> None:
    expect("profiles are kept", dynamo.keeps_profiles(), False)


def _errors() -> None:
    def failing(*_: object) -> None:
        raise ValueError("no")

    leave = untraced()
    for what, function, backend, expected in (
        (
            "what an operator raises",
            lambda x: x.reshape(2),
            "eager",
            ("error", "trace", "RuntimeError"),
        ),
        ("what Dynamo does not support", leave, "eager", ("refused", "trace", None)),
        ("a backend that raises", two_steps, failing, ("internal", "lower", "ValueError")),
    ):
        try:
            compiled(lambda x, function=function: function(x), 3, backend=backend)
        except Exception as error:
            seen = errors.describe(error, "trace")
            expect(what, (seen["kind"], seen["stage"], expected[2] and seen["class"]), expected)
        else:
            raise AssertionError(f"{what}: no error")


def _bits() -> None:
    import torch

    x = torch.ones(3, dtype=torch.complex64)
    y = torch.empty(0, dtype=x.dtype).set_(x.untyped_storage(), 0, (3,), (1,))
    tensors.set_conj_neg(y, True, True)
    expect(
        "conj and neg bits",
        [y.is_conj(), y.is_neg(), x.is_conj(), x.is_neg()],
        [True, True, False, False],
    )


def _zeros() -> None:
    import torch

    zero = tensors.zeros([2, 3], torch.float32, "cpu")
    expect(
        "zero tensors, their views and others",
        [tensors.is_zeros(t) for t in (zero, zero.t(), torch.zeros(2))],
        [True, True, False],
    )
    expect("what a zero tensor reads as", zero.clone().tolist(), [[0.0] * 3] * 2)


def _quantizers() -> None:
    import torch

    integers = torch.tensor([1, 2], dtype=torch.int8)
    one = tensors.quantized(integers, 0.5, 0)
    each = tensors.quantized_by_channel(
        integers, torch.tensor([0.5, 2.0], dtype=torch.float64), torch.tensor([0, 0]), 0
    )
    expect(
        "quantized tensors",
        [one.dequantize().tolist(), each.dequantize().tolist()],
        [[0.5, 1.0], [0.5, 4.0]],
    )


def _gradients() -> None:
    dynamo.trace_gradients()
    expect("the setting", dynamo.traces_gradients(), True)
    if build.autograd_has_threads():
        return  # its first use starts them, and waits for them where a fork lost them

    import torch

    def gradient(x: Any) -> Any:
        x = x.detach().requires_grad_()
        return torch.autograd.grad([(x * x).sum()], [x])

    expect("graphs of a gradient", compiled(gradient, 3)["graphs"], 1)


@functools.cache
def _witness() -> tuple[Witness, int]:
    """The one of this process, for two would watch each other; and the file of its trace."""
    file = os.memfd_create("trace")
    witness = Witness(file)
    witness.watch()
    return witness, file


def _seen(backend: str) -> tuple[dict, bool]:
    """What a witness sees execute a program of two operators, and whether through AOT autograd."""
    witness, file = _witness()
    witness.of = backend
    compiled(two_steps, TRIED, backend=backend)
    read = Testimony(file, witness.words())
    return dict(read.executed(backend) or {}), read.through_aot(backend)


def _execution() -> None:
    expect(
        "what a backend of torch's executes", _seen("eager")[0], {"aten::relu": 1, "aten::add": 1}
    )


def _kernels() -> None:
    expect("what Inductor executes", _seen("inductor")[0], {"inductor/cpp_fused_add_relu": 1})


def _aot() -> None:
    expect(
        "without AOT autograd and with it",
        [_seen(backend)[1] for backend in ("eager", "aot_eager")],
        [False, True],
    )


def _spellings() -> None:
    from ..spelling import Argument, resolve, spell

    x = Argument("x", "tensor")
    spelled = [
        spell(resolve(name), [x], {})
        for name in ("aten::relu.default", "aten::linalg_qr.default", "aten::real.default")
    ]
    expect("spellings", spelled, ["x.relu()", "torch.linalg.qr(x)", "torch.real(x)"])


def _lowering() -> None:
    """The operators of a composite function, whole."""
    nodes = graphs.trace(torch.nn.functional.linear, [torch.ones(2, 2), torch.ones(2, 2)])
    called = [graphs.overload(node.target) for node in nodes if node.op == "call_function"]
    expect("lowering", called, ["aten::linear.default"])


def _opening() -> None:
    """What the kernel of an operator that is written in Python calls."""
    function, tensors = torch.ops.prims.sin.default, [torch.ones(2)]
    instead = graphs.kernels(graphs.trace(function, tensors))
    called = [graphs.overload(node.target) for node in graphs.trace(function, tensors, instead)]
    expect("the kernel of prims::sin", "aten::sin.default" in called, True)


MISSED = (
    Trial(HEADERS, "each compilation reads the C++ headers itself, which takes seconds", _headers),
    Trial(
        "atomic builds",
        "a compiler killed at a time-out can leave a torn file in the cache: delete the cache then",
        _builds,
    ),
    Trial("compiler", "compilers share a cache: delete it when the compiler changes", _compiler),
    Trial(
        "records",
        "kernels, fallbacks, cache hits and seconds by stage are wrong or missing",
        _records,
    ),
    Trial("stages", "the clocks of trace, lower, compile and run are not told apart", _stages),
    Trial("guard timing", "every compilation takes 25 ms longer", _guards),
    Trial(
        "profiles", "one execution can change with which dynamic shapes another compiles", _profiles
    ),
    Trial(
        "errors", "errors of the program and of the compiler can be taken for each other", _errors
    ),
    Trial("conj and neg bits", "inputs with these bits are unsupported", _bits),
    Trial("zero tensors", "inputs and results that are zero tensors are unsupported", _zeros),
    Trial("quantizers", "quantized inputs are unsupported", _quantizers),
    Trial("gradients", "programs with a grad step are refused", _gradients),
    Trial("execution", "no verdict says who executed it", _execution),
    Trial("kernels", "who has Inductor compute for it is not found out", _kernels),
    Trial("AOT autograd", "expectations that hold through it hold nowhere", _aot),
    Trial("lowering", "calls of public functions have no golds", _lowering),
    Trial("Python kernels", "calls of operators that Python alone has have no golds", _opening),
    Trial(
        "spellings",
        "programs call torch.ops, not the public functions that people write",
        _spellings,
    ),
)
