"""What a call leaves behind beside its results, as the worker says it."""

import ctypes
import os
import platform
import random
import signal
import warnings

import pytest
import torch

from conversation import Worker, pack, path, view
from lockstep_worker.state import AS_BEFORE, SURROUNDINGS, Surroundings, fnv1a, observe_state
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
