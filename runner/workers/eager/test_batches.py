"""Batches: several runs in one child. This worker offers them for accelerators alone and takes them
for the CPU, too."""

import os
import signal
import struct

import pytest

from eager_worker import ENDLESS, ROUND_TRIP, TRANSPOSED, is_gone

RAISES = {
    **ENDLESS,
    "steps": [{"let": ["a"], "op": "aten::ones.default", "args": [[-1]], "kwargs": {}}],
}


def round_trip_of(worker, value=1.0):
    return worker.request(ROUND_TRIP, {"x": TRANSPOSED}, [struct.pack("20f", *[value] * 20)])


def said_of(worker, last):
    """All that is said up to the end of this run."""
    said = [worker.hear()]
    while said[-1]["type"] != "ended" or said[-1]["run"] != last:
        said.append(worker.hear())
    return said


def children(said):
    return {message["run"]: message["pid"] for message in said if message["type"] == "started"}


def ends(said):
    return [
        (message["run"], message.get("exit"), message.get("signal"))
        for message in said
        if message["type"] == "ended"
    ]


def test_batches_are_not_for_the_cpu(worker):
    answer = worker.hello()
    assert set(answer["batch"]) == {device.split(":")[0] for device in answer["devices"]} - {"cpu"}


def test_a_batch_is_executed_in_one_child_in_order(greeted):
    runs = greeted.start_batch(*[round_trip_of(greeted, value) for value in (1.0, 2.0, 3.0)])
    said = said_of(greeted, runs[-1])
    one = ["started", "stage", "stage", "ended"]
    assert [(message["run"], message["type"]) for message in said] == [
        (run, kind) for run in runs for kind in one
    ]
    assert ends(said) == [(run, 0, None) for run in runs]
    assert len(set(children(said).values())) == 1
    for run, value in zip(runs, (1.0, 2.0, 3.0)):
        seen = greeted.observation(run)
        assert (
            greeted.floats(run, seen, seen["runs"][0]["calls"][0]["outputs"]["y"]) == [value] * 20
        )
    assert greeted.observe(ROUND_TRIP, {"x": TRANSPOSED}, [bytes(80)])["outcome"] == "returned"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])  # a time-out, and a crash
def test_what_dies_in_a_batch_is_one_execution(greeted, number):
    runs = greeted.start_batch(
        round_trip_of(greeted),
        greeted.request(ENDLESS),
        *[round_trip_of(greeted) for _ in range(2)],
    )
    said = greeted.until("started", runs[1])
    pid = said[-1]["pid"]
    os.killpg(pid, number)
    said = said_of(greeted, runs[-1])
    assert ends(said) == [(runs[1], None, number), (runs[2], 0, None), (runs[3], 0, None)]
    assert children(said)[runs[2]] == children(said)[runs[3]] != pid
    assert not (greeted.scratch / str(runs[1]) / "observation.json").exists()
    assert [greeted.observation(run)["outcome"] for run in (runs[0], runs[2], runs[3])] == [
        "returned"
    ] * 3


def test_after_an_error_comes_a_fresh_child(greeted):
    beyond = greeted.request(
        ROUND_TRIP, {"x": {**TRANSPOSED, "offset": 1}}, [bytes(80)]
    )  # breaks the protocol
    runs = greeted.start_batch(
        greeted.request(RAISES), round_trip_of(greeted), beyond, round_trip_of(greeted)
    )
    said = said_of(greeted, runs[-1])
    assert ends(said) == [
        (runs[0], 0, None),
        (runs[1], 0, None),
        (runs[2], 64, None),
        (runs[3], 0, None),
    ]
    pids = children(said)
    assert pids[runs[0]] != pids[runs[1]] == pids[runs[2]] != pids[runs[3]]
    assert greeted.observation(runs[0])["outcome"] == "raised"
    errors = {
        message["run"]: message.get("error", "") for message in said if message["type"] == "ended"
    }
    assert "reaches outside" in errors[runs[2]] and not errors[runs[3]]


def test_limits_hold_for_each_of_a_batch(worker):
    worker.hello(limits={"memory_bytes": 4 << 30, "file_bytes": 1 << 20})
    large = {
        **ENDLESS,
        "steps": [{"let": ["a"], "op": "aten::ones.default", "args": [[8 << 30]], "kwargs": {}}],
    }
    written = {
        **ENDLESS,
        "outputs": ["a"],
        "steps": [{"let": ["a"], "op": "aten::ones.default", "args": [[1 << 20]], "kwargs": {}}],
    }
    runs = worker.start_batch(
        round_trip_of(worker), worker.request(large), worker.request(written), round_trip_of(worker)
    )
    ended = ends(said_of(worker, runs[-1]))
    assert ended[1] == (runs[1], 0, None) and ended[3] == (runs[3], 0, None)
    assert ended[2] in [(runs[2], None, signal.SIGXFSZ), (runs[2], 70, None)]
    assert "can't allocate memory" in worker.observation(runs[1])["error"]["message"]


def test_the_peak_of_memory_is_that_of_each(greeted):
    size = 1 << 26  # 256 MiB
    large = {
        **ENDLESS,
        "steps": [{"let": ["a"], "op": "aten::ones.default", "args": [[size]], "kwargs": {}}],
    }
    runs = greeted.start_batch(
        round_trip_of(greeted), greeted.request(large), round_trip_of(greeted)
    )
    said = said_of(greeted, runs[-1])
    assert len(set(children(said).values())) == 1
    before, peak, after = [greeted.observation(run)["peak_memory_bytes"] for run in runs]
    assert peak - before > 3 * size and peak - after > 3 * size


def test_end_of_input_ends_a_batch(greeted):
    runs = greeted.start_batch(*[greeted.request(ENDLESS) for _ in range(3)])
    pid = greeted.until("started", runs[0])[-1]["pid"]
    greeted.stdin.close()
    assert greeted.process.wait(timeout=10) == 0
    assert is_gone(pid)
    assert not any((greeted.scratch / str(run) / "stderr").exists() for run in runs[1:])
    greeted.stdin = open(os.devnull, "w")


def test_stop_waits_for_all_of_a_batch(greeted):
    runs = greeted.start_batch(greeted.request(RAISES), round_trip_of(greeted))
    greeted.say({"type": "stop"})
    assert ends(said_of(greeted, runs[-1])) == [(run, 0, None) for run in runs]
    assert greeted.process.wait(timeout=10) == 0


def test_a_batch_is_for_one_device(greeted):
    greeted.say(
        {
            "type": "batch",
            "runs": [round_trip_of(greeted), {**round_trip_of(greeted), "device": "cuda:0"}],
        }
    )
    answer = greeted.hear()
    assert answer["type"] == "error" and "several devices" in answer["error"]


def test_a_call_whose_backward_raised_is_there_without_gradients(greeted):
    program = {
        "inputs": ["x"],
        "outputs": ["y"],
        "context": {},
        "backward": {"of": ["y"], "with": "ones"},
        "steps": [
            {"let": ["y"], "op": "aten::detach.default", "args": [{"ref": "x"}], "kwargs": {}}
        ],
    }
    view = {"storage": 0, "dtype": "float32", "shape": [2], "strides": [1], "requires_grad": True}
    observation = greeted.observe(program, {"x": view}, [bytes(8)])
    assert (
        observation["outcome"] == "raised"
        and "does not require grad" in observation["error"]["message"]
    )
    (call,) = observation["runs"][0]["calls"]
    assert (
        call["outputs"]["y"]["requires_grad"] is False
        and call["inputs"]["x"]["requires_grad"] is True
    )
    assert call["grads"] == {}
    program["steps"] = [
        {"let": ["y"], "op": "aten::sum.dim_IntList", "args": [{"ref": "x"}, [7]], "kwargs": {}}
    ]
    observation = greeted.observe(program, {"x": view}, [bytes(8)])
    assert observation["runs"] == [{"calls": []}], "it raised before its backward"
