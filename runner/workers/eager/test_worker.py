"""lockstep-eager over its pipes: the protocol, processes and time."""

import json
import os
import signal
import struct
import subprocess

from eager_worker import ENDLESS, ROUND_TRIP, TRANSPOSED, fractions, is_gone, round_trip


def test_hello_says_what_it_is(worker):
    answer = worker.hello()
    assert (
        answer["type"] == "hello"
        and answer["protocol"] == 2
        and answer["worker"] == "lockstep-eager"
    )
    assert answer["environment"]["torch"] and answer["environment"]["operators_digest"]
    assert answer["devices"][0] == "cpu"
    assert {"float32", "float8_e4m3fn", "uint16"} <= set(answer["dtypes"])
    modes = "plain fp64 mpfr perturbed stepwise fp64_noise stepwise_noise package"
    assert answer["modes"] == modes.split()
    assert answer["concurrent"] >= 16


def test_hello_of_another_protocol_is_answered_with_an_error(worker):
    assert "protocol 2" in worker.hello(protocol=99)["error"]
    assert worker.process.wait(timeout=10) != 0


def test_a_library_that_does_not_load_is_named(worker):
    assert "no-such-library.so" in worker.hello(libraries=["/no-such-library.so"])["error"]


def test_schemas_name_the_same_fingerprint(binary, worker):
    dump = json.loads(subprocess.check_output([binary, "schemas"]))
    assert dump["format"] == 1
    assert dump["operators_digest"] == worker.hello()["environment"]["operators_digest"]
    assert any(each["overload"] == "Tensor" for each in dump["operators"]["aten::add"])


def test_half_round_trip_keeps_its_rounding(greeted):
    data = struct.pack("20f", *fractions())
    observation = greeted.observe(ROUND_TRIP, {"x": TRANSPOSED}, [data], repeat=2)
    assert observation["outcome"] == "returned" and len(observation["runs"]) == 2
    for run in observation["runs"]:
        call = run["calls"][0]
        y = call["outputs"]["y"]
        assert (y["dtype"], y["shape"], y["strides"]) == ("float32", [4, 5], [1, 4])
        assert greeted.floats(1, observation, y) == [round_trip(value) for value in fractions()]
        assert greeted.floats(1, observation, call["inputs"]["x"]) == fractions()


def test_messages_come_in_order(greeted):
    run = greeted.start(ROUND_TRIP, {"x": TRANSPOSED}, [struct.pack("20f", *fractions())])
    messages = greeted.until("ended", run)
    kinds = [message["type"] for message in messages if message["type"] != "stage"]
    assert kinds == ["started", "ended"]
    assert [m["stage"] for m in messages if m["type"] == "stage"] == ["run", "write"]


def test_a_killed_execution_is_a_signal_and_the_next_one_works(greeted):
    run = greeted.start(ENDLESS)
    pid = greeted.until("started", run)[-1]["pid"]
    assert os.getpgid(pid) == pid
    os.kill(pid, signal.SIGKILL)
    assert greeted.until("ended", run)[-1]["signal"] == signal.SIGKILL
    assert not (greeted.scratch / str(run) / "observation.json").exists()
    data = struct.pack("20f", *fractions())
    assert greeted.observe(ROUND_TRIP, {"x": TRANSPOSED}, [data])["outcome"] == "returned"


def test_a_crash_of_one_is_no_crash_of_others(greeted):
    slow = greeted.start(ENDLESS)
    slow_pid = greeted.until("started", slow)[-1]["pid"]
    crashing = greeted.start(ENDLESS)
    os.kill(greeted.until("started", crashing)[-1]["pid"], signal.SIGSEGV)
    assert greeted.until("ended", crashing)[-1]["signal"] == signal.SIGSEGV
    os.kill(slow_pid, 0)
    os.kill(slow_pid, signal.SIGKILL)
    greeted.until("ended", slow)


def test_end_of_input_kills_everything(greeted):
    pids = [greeted.until("started", greeted.start(ENDLESS))[-1]["pid"] for _ in range(3)]
    greeted.stdin.close()
    assert greeted.process.wait(timeout=10) == 0
    assert all(is_gone(pid) for pid in pids)
    greeted.stdin = open(os.devnull, "w")


def test_the_death_of_the_worker_kills_everything(greeted):
    pid = greeted.until("started", greeted.start(ENDLESS))[-1]["pid"]
    greeted.process.kill()
    assert is_gone(pid)


def test_stop_waits_for_what_runs(greeted):
    run = greeted.start(ROUND_TRIP, {"x": TRANSPOSED}, [struct.pack("20f", *fractions())])
    greeted.say({"type": "stop"})
    assert greeted.until("ended", run)[-1]["exit"] == 0
    assert greeted.process.wait(timeout=10) == 0


def test_many_at_once_each_get_their_own_answer(greeted):
    runs = []
    for i in range(24):
        data = struct.pack("20f", *[float(i)] * 20)
        runs.append(greeted.start(ROUND_TRIP, {"x": TRANSPOSED}, [data]))
    ended: dict = {}
    while len(ended) < len(runs):
        message = greeted.hear()
        if message["type"] == "ended":
            ended[message["run"]] = message["exit"]
    assert ended == dict.fromkeys(runs, 0)
    for i, run in enumerate(runs):
        observation = json.loads((greeted.scratch / str(run) / "observation.json").read_text())
        y = observation["runs"][0]["calls"][0]["outputs"]["y"]
        assert greeted.floats(run, observation, y) == [float(i)] * 20


def test_an_error_is_an_observation(greeted):
    program = {
        **ROUND_TRIP,
        "outputs": [],
        "steps": [
            {
                "let": ["z"],
                "op": "aten::mm.default",
                "args": [{"ref": "x"}, {"ref": "x"}],
                "kwargs": {},
            }
        ],
    }
    observation = greeted.observe(program, {"x": TRANSPOSED}, [struct.pack("20f", *fractions())])
    assert observation["outcome"] == "raised"
    assert observation["error"]["class"] == "RuntimeError"
    assert (
        observation["error"]["message"] == "mat1 and mat2 shapes cannot be multiplied (4x5 and 4x5)"
    )


def test_a_malformed_request_is_an_exit_and_says_why(greeted):
    greeted.say({"type": "run", "run": 70})
    ended = greeted.until("ended", 70)[-1]
    assert ended["exit"] == 64 and "`out`" in ended["error"]
    run = greeted.start(
        ROUND_TRIP, {"x": {**TRANSPOSED, "offset": 1}}, [struct.pack("20f", *fractions())]
    )
    ended = greeted.until("ended", run)[-1]
    assert ended["exit"] == 64 and "reaches outside" in ended["error"]
    greeted.say({"type": "sing"})
    assert greeted.hear()["type"] == "error"


def test_what_leaves_by_itself_is_no_fault_of_the_worker(worker, tmp_path):
    """64 is also what the worker says of a malformed request, but then it says why."""
    (tmp_path / "leave.c").write_text(
        "#include <pthread.h>\n#include <unistd.h>\nstatic void leave(void) { _exit(64); }\n"
        "__attribute__((constructor)) static void load(void) { pthread_atfork(0, 0, leave); }\n"
    )
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-o", tmp_path / "leave.so", tmp_path / "leave.c"], check=True
    )
    worker.hello(libraries=[str(tmp_path / "leave.so")])
    run = worker.start(ROUND_TRIP, {"x": TRANSPOSED}, [struct.pack("20f", *fractions())])
    assert worker.until("ended", run)[-1] == {"type": "ended", "run": run, "exit": 64}


def test_the_memory_limit_holds(binary, worker):
    worker.hello(limits={"memory_bytes": 4 << 30, "file_bytes": 0})
    program = {
        **ENDLESS,
        "steps": [{"let": ["a"], "op": "aten::ones.default", "args": [[8 << 30]], "kwargs": {}}],
    }
    observation = worker.observe(program)
    assert observation["outcome"] == "raised"
    assert "can't allocate memory" in observation["error"]["message"]


def test_the_file_limit_holds(worker):
    worker.hello(limits={"memory_bytes": 0, "file_bytes": 1 << 20})
    program = {
        **ENDLESS,
        "outputs": ["a"],
        "steps": [{"let": ["a"], "op": "aten::ones.default", "args": [[1 << 20]], "kwargs": {}}],
    }
    run = worker.start(program)
    ended = worker.until("ended", run)[-1]
    assert ended.get("signal") == signal.SIGXFSZ or ended.get("exit") == 70


def test_more_threads_work_after_the_fork(worker):
    worker.hello(threads=2)
    program = {
        "inputs": ["x"],
        "outputs": ["g"],
        "context": {},
        "backward": {"of": ["s"], "with": "ones"},
        "steps": [
            {"let": ["y"], "op": "aten::matmul.default", "args": [{"ref": "x"}, {"ref": "x"}]},
            {"let": ["z"], "op": "aten::sin.default", "args": [{"ref": "y"}]},
            {"let": ["s"], "op": "aten::sum.default", "args": [{"ref": "z"}]},
            {"let": ["g"], "op": "aten::detach.default", "args": [{"ref": "s"}]},
        ],
    }
    view = {
        "storage": 0,
        "dtype": "float32",
        "shape": [512, 512],
        "strides": [512, 1],
        "requires_grad": True,
    }
    for _ in range(4):
        observation = worker.observe(program, {"x": view}, [bytes(4 * 512 * 512)])
        assert observation["outcome"] == "returned"
