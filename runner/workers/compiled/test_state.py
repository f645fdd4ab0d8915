"""What a call leaves behind beside its results, as the worker says it."""

import ctypes
import gc
import os
import platform
import random
import signal
import warnings

import pytest
import torch

from conversation import Worker, pack, path, view
from lockstep_worker.state import (
    AS_BEFORE,
    SURROUNDINGS,
    Listener,
    Memory,
    Surroundings,
    Versions,
    fnv1a,
    observe_state,
)
from lockstep_worker.tensors import Outputs

X = {"ref": "x"}
RELU = {
    "inputs": ["x"],
    "outputs": ["y"],
    "steps": [{"let": ["y"], "op": "aten::relu.default", "args": [X]}],
}
RAND = {
    "inputs": ["x"],
    "outputs": ["y"],
    "steps": [{"let": ["y"], "op": "aten::rand_like.default", "args": [X]}],
}
CALL, DATA = {"x": view(0, [4])}, pack([1, -2, 3, -4], "f")


def calls_of(seen, reference=False):
    runs = (seen["reference"] if reference else seen.data)["runs"]
    return [list(run["calls"]) for run in runs]


def test_digests_are_those_of_the_eager_worker():
    """The same two are in eager/state_test.cpp: the bytes of a state are the same in C++ and in
    Python."""
    assert fnv1a(b"") == "cbf29ce484222325" and fnv1a(b"foobar") == "85944171f73967e8"
    before = torch.get_rng_state()
    try:
        torch.manual_seed(5)
        assert observe_state("cpu")["generators"] == {"cpu": "1b35da5b1d8e2398"}
        torch.rand(3)
        assert observe_state("cpu")["generators"] == {"cpu": "483819f76d5a7581"}
    finally:
        torch.set_rng_state(before)


def test_modes_are_those_in_force():
    modes = observe_state("cpu")["modes"]
    assert modes == {
        "grad": True,
        "inference": False,
        "default_dtype": "float32",
        "deterministic_algorithms": "off",
        "autocast_cpu": "off",
        "threads": torch.get_num_threads(),
    }
    with torch.inference_mode(), torch.autocast("cpu", torch.float16):
        modes = observe_state("cpu")["modes"]
    assert (modes["grad"], modes["inference"], modes["autocast_cpu"]) == (False, True, "float16")


def _flush(on):
    assert torch.set_flush_denormal(on)


#: What is changed, how, and how it is put back.
CHANGES = {
    "environment": (
        lambda: os.environ.update(LOCKSTEP_A="1", LOCKSTEP_B="2"),
        lambda: [os.environ.pop(name) for name in ("LOCKSTEP_A", "LOCKSTEP_B")],
        "LOCKSTEP_A, LOCKSTEP_B changed",
    ),
    "signals": (
        lambda: signal.signal(signal.SIGUSR2, signal.SIG_IGN),
        lambda: signal.signal(signal.SIGUSR2, signal.SIG_DFL),
        "SIGUSR2 changed",
    ),
    "python_random": (random.random, lambda: None, "another"),
    "default_device": (
        lambda: torch.set_default_device("meta"),
        lambda: torch.set_default_device(None),
        "cpu, now meta",
    ),
    "matmul_precision": (
        lambda: torch.set_float32_matmul_precision("medium"),
        lambda: torch.set_float32_matmul_precision("highest"),
        "highest, now medium",
    ),
    "anomaly": (
        lambda: torch.autograd.set_detect_anomaly(True),
        lambda: torch.autograd.set_detect_anomaly(False),
        "another",
    ),
    "rounding": (
        lambda: ctypes.CDLL(None).fesetround(0x400),
        lambda: ctypes.CDLL(None).fesetround(0),
        "another",
    ),
    "warning_filters": (
        lambda: warnings.simplefilter("ignore"),
        lambda: None,  # pytest does so after each test
        "another",
    ),
    "subnormals": (lambda: _flush(True), lambda: _flush(False), "kept, now flushed"),
}


@pytest.mark.parametrize("name", sorted(SURROUNDINGS))
def test_what_is_done_to_the_surroundings_is_said(name):
    if name in ("rounding", "subnormals") and platform.machine() != "x86_64":
        pytest.skip("another processor has other numbers for it")
    change, put_back, expected = CHANGES[name]
    surroundings = Surroundings()
    assert set(surroundings.modes().values()) == {AS_BEFORE}
    try:
        change()
        modes = observe_state("cpu", surroundings)["modes"]
    finally:
        put_back()
    assert {key: modes[key] for key in SURROUNDINGS if modes[key] != AS_BEFORE} == {name: expected}


UNTIDY = """
import os
import torch._dynamo

@torch._dynamo.register_backend
def lockstep_untidy(graph, examples):
    compiled = torch._dynamo.lookup_backend("aot_eager")(graph, examples)
    def run(*inputs):
        os.environ["LOCKSTEP_LEFT"] = "1"
        return compiled(*inputs)
    return run
"""


def test_what_a_backend_does_to_its_surroundings_is_seen(tmp_path, cache):
    """Eager says that they are as before."""
    (tmp_path / "untidy.py").write_text(UNTIDY)
    worker = Worker(tmp_path, shim=str(tmp_path), cache=cache)
    seen = worker.run(
        RELU,
        [CALL],
        [DATA],
        path_=path("inductor", backend="lockstep_untidy", **{"import": ["untidy"]}),
    )
    modes = calls_of(seen)[0][0]["state"]["modes"]
    assert modes["environment"] == "LOCKSTEP_LEFT changed" and modes["signals"] == AS_BEFORE
    modes = calls_of(seen, reference=True)[0][0]["state"]["modes"]
    assert modes["environment"] == AS_BEFORE
    assert worker.stop() == 0


def test_versions_are_counted_of_what_shares_no_memory():
    x, y, z = torch.ones(3), torch.ones(3), torch.ones(3)
    shares = torch.empty(0).set_(z.untyped_storage(), 0, [3], [1])
    with torch.inference_mode():
        inference = torch.ones(3)
    given = [("x", x), ("y", y), ("z", z), ("shares", shares), ("i", inference), ("n", 2)]
    versions = Versions(given)
    for value in (x, z, shares):
        value.add_(1)
    y.data.add_(1)
    assert versions.counted() == ["x"]


def test_memory_that_stays_is_named_and_a_cycle_is_none():
    memory, kept = Memory(), torch.ones(3)
    state: dict = {}
    other: dict = {}
    cycle = [torch.ones(3)]
    cycle.append(cycle)
    gc.disable()
    try:
        memory.note(state, [("x", kept), ("n", 1), ("y", [cycle[0], None])])
        memory.note(other, [("x", torch.ones(3))])
        held = kept.view(3, 1).detach()  # the memory, and not the tensor
        del kept, cycle
        memory.settle()
    finally:
        gc.enable()
    assert state == {"kept": ["x"]} and other == {"kept": []} and held.numel() == 3


def test_memory_that_a_program_closes_over_may_stay():
    memory, weight, kept = Memory(), torch.ones(3), torch.ones(3)
    state: dict = {}
    memory.note(state, [("w", weight), ("y", weight[1:]), ("z", [kept])], [weight])
    memory.settle()
    assert state == {"kept": ["z"]} and weight.numel() == kept.numel()


def test_warnings_are_heard_each_time_and_the_filters_are_put_back():
    filters, showwarning = list(warnings.filters), warnings.showwarning
    with Listener() as listener:
        for _ in range(2):
            torch.ones(1).var()
            warnings.warn("twice", FutureWarning, stacklevel=1)
            warnings.warn("twice", FutureWarning, stacklevel=1)
            warnings.warn("unseen", DeprecationWarning, stacklevel=1)
            variance, twice = listener.heard()
            assert variance.startswith("UserWarning: var(): degrees of freedom is <= 0.")
            assert "Triggered" not in variance and twice == "FutureWarning: twice"
        assert listener.heard() == []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.warn("hidden", stacklevel=1)
        assert listener.heard() == []
    assert warnings.filters == filters and warnings.showwarning is showwarning
    assert not torch.is_warn_always_enabled()


def test_every_call_of_either_side_says_its_state(worker):
    seen = worker.run(RELU, [CALL, CALL], [DATA], path_=path("inductor"), repeat=2)
    ours, eager = calls_of(seen), calls_of(seen, reference=True)
    assert [[call["state"] for call in run] for run in ours] == [
        [call["state"] for call in run] for run in eager
    ]
    assert (
        ours[0][0]["state"]["generators"] != ours[0][1]["state"]["generators"]
    )  # each has a seed of its own
    assert ours[0][0]["state"] == ours[1][0]["state"]
    assert not any("again" in call for run in ours for call in run)
    assert all(call["state"]["kept"] == call["state"]["versions"] == [] for call in ours[0])
    # For what was compiled, nobody hears what the compiler warns of.
    assert [["warnings" in call for call in run] for run in (*eager, *ours)] == [
        [True, True],
        [True, True],
        [False, True],
        [True, True],
    ]


def test_a_warning_that_c_writes_to_standard_error_is_one_too(worker):
    """As operators do that an exported graph calls past `torch`."""
    program = {**RELU, "steps": [{"let": ["y"], "op": "aten::var.default", "args": [X]}]}
    for name in ("export", "aot_eager"):
        seen = worker.run(program, [{"x": view(0, [1])}], [DATA], path_=path(name), repeat=2)
        ours, eager = (calls_of(seen, reference)[1][0]["warnings"] for reference in (False, True))
        assert ours == eager and len(eager) == 1, (name, ours, eager)
        assert eager[0].startswith("UserWarning: var(): degrees of freedom is <= 0.")


def test_versions_and_memory_are_eagers_on_torchs_own_paths(worker):
    program = {
        "inputs": ["x", "w"],
        "outputs": ["y"],
        "steps": [
            {"let": [], "op": "aten::add_.Scalar", "args": [{"ref": "w"}, 1]},
            {"let": ["y"], "op": "aten::mul.Tensor", "args": [X, {"ref": "w"}]},
        ],
        "backward": {"of": ["y"], "with": "ones"},
    }
    call = {"x": view(0, [4], requires_grad=True), "w": view(1, [4])}
    for name in ("inductor", "aot_eager", "eager", "eager-python"):
        seen = worker.run(program, [call] * 2, [DATA, DATA], path_=path(name), repeat=2)
        for run in (calls_of(seen), calls_of(seen, reference=name != "eager-python")):
            states = [each["state"] for calls in run for each in calls]
            assert [(each["versions"], each["kept"]) for each in states] == [(["w"], [])] * 4


def test_the_last_repetition_has_other_seeds_where_it_is_asked_for(worker):
    def values(**rest):
        seen = worker.run(RAND, [CALL, CALL], [DATA], path_=path("eager-python"), **rest)
        return [[seen.raw(call["outputs"]["y"]) for call in run] for run in calls_of(seen)]

    first, second, other = values(repeat=3, seed=5, reseed=True)
    assert first == second and not set(first) & set(other)
    assert values(repeat=1, seed=7, reseed=True) == [other]
    assert values(repeat=3, seed=5) == [first] * 3


def test_threads_are_the_executions_own(worker):
    for threads in (2, None, 3):
        seen = worker.run(
            RELU,
            [CALL],
            [DATA],
            path_=path("inductor"),
            **({"threads": threads} if threads else {}),
        )
        assert calls_of(seen)[0][0]["state"]["modes"]["threads"] == (threads or 1)


def test_inductor_compiles_for_the_threads_that_there_are(tmp_path, cache, worker):
    def code(of, **rest):
        many = {"x": view(0, [1 << 18])}
        return of.run(RELU, [many], [bytes(4 << 18)], path_=path("inductor"), **rest)["proof"][
            "code"
        ]

    one, two = code(worker), code(worker, threads=2)
    assert one == code(worker, threads=1) != two
    with_two = Worker(tmp_path, cache=cache, threads=2)  # those of the run
    assert (code(with_two), code(with_two, threads=1)) == (two, one)
    assert with_two.stop() == 0


def test_an_error_leaves_its_inputs_and_its_state(worker):
    program = {
        **RELU,
        "outputs": ["z"],
        "steps": [
            {"let": [], "op": "aten::add_.Scalar", "args": [X, 1]},
            {"let": ["z"], "op": "aten::mm.default", "args": [X, X]},
        ],
    }
    seen = worker.run(program, [CALL], [DATA], path_=path("eager-python"))
    after = seen["after_error"]
    assert (
        seen["outcome"] == "raised"
        and after["call"] == 0
        and after["state"]["modes"]["grad"] is True
    )
    assert seen.values(after["inputs"]["x"]) == [2, -1, 4, -3]


def test_calls_behind_an_error_are_made_up_to_another_one(worker):
    program = {**RELU, "steps": [{"let": ["y"], "op": "aten::mm.default", "args": [X, X]}]}
    fits, none = {"x": view(0, [2, 2])}, {"x": view(0, [1, 4])}
    for name in ("eager-python", "aot_eager"):
        seen = worker.run(program, [fits, none, fits, none, fits], [DATA], path_=path(name))
        after = seen["after_error"]
        assert seen["outcome"] == "raised" and after["call"] == 1 and len(after["calls"]) == 1
        assert seen.values(after["calls"][0]["outputs"]["y"]) == [-5, 6, -9, 10]


SQUARE = {
    "inputs": ["x"],
    "outputs": ["y"],
    "steps": [{"let": ["y"], "op": "aten::mul.Tensor", "args": [X, X]}],
}


def test_a_second_backward_raises_unless_the_graph_is_retained(worker):
    calls = [{"x": view(0, [4], requires_grad=True)}]
    for name in ("eager-python", "aot_eager"):
        freed = worker.run(
            {**SQUARE, "backward": {"of": ["y"], "with": "ones", "twice": True}},
            calls,
            [DATA],
            path_=path(name),
        )
        assert freed["outcome"] == "raised" and "a second time" in freed["error"]["message"]
        assert (
            freed.values(calls_of(freed)[0][0]["outputs"]["y"]) == [1, 4, 9, 16]
            and calls_of(freed)[0][0]["grads"] == {}
        )
        kept = worker.run(
            {
                **SQUARE,
                "backward": {"of": ["y"], "with": "ones", "twice": True, "retain_graph": True},
            },
            calls,
            [DATA],
            path_=path(name),
        )
        assert kept.values(calls_of(kept)[0][0]["grads"]["x"]) == [4, -8, 12, -16]


def test_what_reads_otherwise_later_is_said():
    outputs = Outputs(os.memfd_create("bytes"))
    outputs.keep(True)
    y, kept, x = torch.ones(3), torch.ones(3), torch.ones(3)
    runs = [
        {"calls": [outputs.call([("y", [y, kept]), ("z", kept)], [("x", x)], [("x", y.view(3))])]}
    ]
    y.fill_(7)
    x.fill_(7)  # nobody's result
    outputs.read_again(runs)
    again = runs[0]["calls"][0]["again"]
    assert set(again["outputs"]) == {"y"} and set(again["grads"]) == {"x"}
    before, after = runs[0]["calls"][0]["outputs"]["y"], again["outputs"]["y"]
    assert after[0]["storage"] != before[0]["storage"] and after[1] == before[1]
    written = outputs.storages[after[0]["storage"]]
    assert os.pread(outputs.file, written["bytes"], written["at"]) == pack([7] * 3, "f")
    assert len(outputs.storages) == 4
    # What has no memory any more.
    outputs.keep(True)
    runs = [{"calls": [outputs.call([("y", y)], [], [])]}]
    y.untyped_storage().resize_(0)
    outputs.read_again(runs)
    assert runs[0]["calls"][0]["again"] == {"outputs": {"y": None}}
