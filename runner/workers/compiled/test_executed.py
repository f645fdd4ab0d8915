"""What counts as executed: programs before a witness, in processes of their own."""

import contextlib
import gc
import json
import os
import subprocess
import sys
import types
from typing import Any

import pytest
import torch

from conversation import HERE
from lockstep_worker import program
from lockstep_worker.problems import Fault

SCRIPT = """
import json, os, sys, tempfile, threading
from lockstep_worker import environment
environment.before_torch()
import faulthandler
import torch
faulthandler.enable()
from lockstep_worker.witness import Testimony, Witness, EAGER
torch.set_num_threads(1)
x, i, out = torch.ones(4, 4), torch.ones(4, 4, dtype=torch.int64), {}

def seen(name, function):
    file = os.memfd_create("trace")
    witness = Witness(file)
    witness.of = EAGER
    with witness.call():
        function()
    executed = Testimony(file, witness.words()).executed(EAGER)
    out[name] = None if executed is None else dict(executed)

def on_a_thread():
    thread = threading.Thread(target=lambda: torch.relu(x))
    thread.start()
    thread.join()

def fake():
    from torch._subclasses import FakeTensorMode
    with FakeTensorMode() as mode:
        y = mode.from_tensor(x)
        torch.softmax(y @ y, 0).sum()

def backward():
    y = x.clone().requires_grad_()
    z = (y * y).sum() + (y * y).sum()
    with torch.profiler.record_function("a part"):
        z.backward()

def profiled():
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        x.sin()

def redispatched():
    from lockstep_worker.compat import operators
    operators.show_redispatched()
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
    torch.ops.aten.mm.default.redispatch(keys, x, x)

def another_observer():
    global other  # at its end it would take the one away that is at work
    other = torch.profiler.ExecutionTraceObserver()
    other.register_callback(tempfile.mktemp())
    other.start()
    other.stop()
    x.exp()

library = torch.library.Library("vendor", "FRAGMENT")
library.define("gemm(Tensor x) -> Tensor")
library.impl("gemm", lambda x: x.clone(), "CPU")
library.define("relu(Tensor x) -> Tensor")
library.impl("relu", lambda x: torch.relu(x), "CPU")

seen("composite", lambda: torch.matmul(x, x))
seen("outermost", lambda: (torch.sort(x), torch.softmax(x, 0)))
seen("views", lambda: (
    x.t(), x[0], x.view(16), x.split(2), x.squeeze_(), x.detach(), torch.real(x), x.T.contiguous()))
seen("allocation", lambda: (
    torch.empty(3), torch.empty_like(x), x.new_empty(3), torch.empty(0).resize_(4)))
seen("copies", lambda: (
    x.clone(), torch.empty(4, 4).copy_(x), torch.from_numpy(x.numpy()), x.sum().item()))
seen("casts", lambda: (x.to(torch.float16), torch.empty(4, 4).copy_(i)))
seen("factories", lambda: (torch.zeros(3), torch.rand(3)))
seen("thread", on_a_thread)
seen("fake", fake)
seen("meta", lambda: torch.ones(4, 4, device="meta") @ torch.ones(4, 4, device="meta"))
seen("backward", backward)
seen("profiled", profiled)
seen("vendor", lambda: (torch.ops.vendor.gemm(x), torch.ops.vendor.relu(x)))
seen("nothing", lambda: None)
seen("redispatched", redispatched)
seen("blinded", lambda: (torch.autograd._enable_record_function(False), torch.relu(x)))
torch.autograd._enable_record_function(True)
seen("another observer", another_observer)
print(json.dumps(out), flush=True)
sys.stdout.flush()
import os
os._exit(0)
"""

#: What → operators that count. None: nobody can tell.
EXPECTED = {
    "composite": {"aten::mm": 1},
    "outermost": {"aten::sort": 1, "aten::_softmax": 1},
    "views": {},
    "allocation": {},
    "copies": {"aten::sum": 1},
    "casts": {"aten::_to_copy": 1, "aten::copy_": 1},
    "factories": {"aten::zeros": 1, "aten::rand": 1},
    "thread": {"aten::relu": 1},
    "fake": {},
    "meta": {},
    "backward": {"aten::mul": 6, "aten::sum": 2, "aten::add": 1, "aten::ones_like": 1},
    "profiled": {"aten::sin": 1},
    "another observer": None,
    "vendor": {"aten::relu": 1},
    "nothing": {},
    "redispatched": {"aten::mm": 1},
    "blinded": None,
}


@pytest.fixture(scope="module")
def counted():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "PYTHONPATH": HERE},
        capture_output=True,
        timeout=300,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    # What the observer says of itself is no message of the program's; this is the other observer's.
    assert done.stderr.count("Disabling Execution Trace Observer") == 1, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("what", EXPECTED)
def test_what_counts(counted, what):
    assert counted[what] == EXPECTED[what]


def test_operators_by_what_inductor_calls():
    from lockstep_worker.evidence import operators

    assert operators(
        [
            "extern_kernels.bias_addmm",
            "extern_kernels.mm",
            "aten.sort.stable",
            "mkldnn._linear_pointwise.default",
        ]
    ) == {"aten::addmm", "aten::mm", "aten::sort", "mkldnn::_linear_pointwise"}


def test_what_a_wrapper_in_cpp_calls():
    from lockstep_worker.evidence import operators
    from lockstep_worker.proof import fallbacks

    code = (
        "// Topologically Sorted Source Nodes: [m], Original ATen: [aten.median]\n"
        "AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cpu_median(arg0_1, &buf1_handle));\n"
        "aoti_torch_cpu_mm_out(buf2, buf0, buf1); // aoti_torch_cpu_bmm_out(buf2)\n"
        "aoti_torch_cpu_sort_stable(buf2, nullptr, 0, 0, &a, &b);\n"
        "aoti_torch_index_put_out(buf0, buf0, indices.cbegin(), 1, arg2_1, 1);\n"
        'aoti_torch_call_dispatcher("aten::cummax", "", dispatch_vars.data())\n'
        'static auto op = c10::Dispatcher::singleton().findSchemaOrThrow("aten::sum", "int");\n'
        'py_args = PyUnicode_FromString("torch.ops.aten.frexp.Tensor");\n'
    )
    words = ("median", "mm", "sort", "index_put", "cummax", "sum", "frexp")
    called = {f"aten::{word}" for word in words}
    assert operators(fallbacks([code])) == called


def test_kernels_are_counted_where_they_are_called():
    from lockstep_worker.witness import kernels

    code = (
        "cpp_fused_relu_0 = async_compile.cpp_pybinding(['float*'], r'''...''')\n"
        "    def call(self, args):\n"
        "        cpp_fused_relu_0(a, b)\n"
        "        triton_poi_fused_add_1.run(b, c, 4)\n"
        "        cpp_fused_relu_7(b, c)\n"
    )
    assert kernels(code) == {"inductor/cpp_fused_relu": 2, "inductor/triton_poi_fused_add": 1}


@pytest.mark.parametrize("enabled", [True, False])
def test_nobody_collects_garbage_while_a_trace_is_read(enabled):
    from lockstep_worker.compat import trace

    side = {"values": [[6, 7, 0, 0, 4, "cpu"]], "types": ["Tensor(float)"]}
    call = {"ctrl_deps": 2, "inputs": side, "outputs": side, "attrs": []}
    nodes = [{**call, "id": 3 + number, "name": "aten::relu"} for number in range(3000)]
    for number in (3, 4):  # what is seen of a canary
        nodes[number]["name"], nodes[number + 5]["ctrl_deps"] = trace.CANARY, 3 + number
    nodes.append({**call, "id": 1, "ctrl_deps": 0, "name": trace._THREAD})
    nodes.append({**call, "id": 2, "ctrl_deps": 1, "name": trace._WINDOW + "0"})
    file, collected, before = os.memfd_create("trace"), [], gc.isenabled()
    os.write(file, json.dumps({"nodes": nodes}).encode())
    (gc.enable if enabled else gc.disable)()
    gc.callbacks.append(lambda phase, _: collected.append(phase))
    try:
        (calls,) = trace.read(file).values()
        assert gc.isenabled() is enabled and collected.count("start") <= 1  # afterwards
    finally:
        gc.callbacks.pop()
        (gc.enable if before else gc.disable)()
        os.close(file)
    assert len(calls) == 3000 - 4


def test_globs_and_coverage():
    from collections import Counter

    from lockstep_worker.witness import covers, foreign

    executed = Counter({"aten::mm": 2, "aten::topk": 1})
    assert (
        foreign(executed, ["aten::top*"]) == {"aten::mm": 2} and foreign(executed, []) == executed
    )
    assert covers(executed, Counter({"aten::mm": 2})) and not covers(
        executed, Counter({"aten::mm": 3})
    )
    assert not covers(executed, Counter())


@pytest.mark.skipif(not hasattr(torch, "AcceleratorError"), reason="of torch 2.8 and newer")
def test_of_a_device_that_failed_the_programs_error_is_told(monkeypatch):
    """After an assertion on a device nothing of it can be read: what was raised is the result."""
    lost = torch.AcceleratorError("device-side assert triggered", 710)

    class Gone:
        def keep(self, calls): ...
        def read_again(self, runs): ...

        def call(self, *left):
            raise lost

    source = types.SimpleNamespace(constants={}, outputs=["y"])
    call: dict = {}
    asked: Any = types.SimpleNamespace(
        repeat=1,
        calls=[call],
        names=["x"],
        device="cpu",
        source=source,
        backward=None,
        carry={},
        seed=0,
        arguments=lambda call: ([torch.ones(1)], {}),
        context_of=lambda call: {},
        seed_of=lambda repetition, at: 0,
    )

    @contextlib.contextmanager
    def nobody():
        yield

    settled: list = []
    monkeypatch.setattr(program.accelerator, "synchronize", settled.append)
    witness: Any = types.SimpleNamespace(call=nobody, repetition=0)
    stage: Any = types.SimpleNamespace(last="run")

    def assertion(x):
        raise lost

    gone: Any = Gone()
    executor = program.Executor(asked, gone, stage, witness)
    observed = executor.observe(assertion, {})
    assert (observed["outcome"], settled) == ("raised", [])
    assert "device-side assert" in str(observed["error"])
    assert "after_error" not in observed
    # One that is raised later is raised while the call is waited for.
    executor = program.Executor(asked, gone, stage, witness)
    with pytest.raises(Fault, match="settled"):
        monkeypatch.setattr(
            program.accelerator, "synchronize", lambda device: _raise(Fault("settled"))
        )
        executor.observe(lambda x: (x,), {})


def _raise(error):
    raise error
