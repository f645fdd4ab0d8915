"""The conversation: #185337 on several paths, crashes, time-outs, the end of input."""

import contextlib
import json
import os
import pathlib
import signal
import time

import pytest
import torch

import conversation
from conversation import Worker, pack, path, view
from wire_examples import examples, form

X = {"ref": "x"}
ROUND_TRIP = {
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
        {"let": ["s"], "op": "aten::sum.dim_IntList", "args": [{"ref": "y"}, [1]], "kwargs": {}},
    ],
}
#: Compiles for long enough to be interrupted.
LONG = {
    "inputs": ["x"],
    "outputs": ["x"],
    "steps": [
        {"let": ["x"], "op": "aten::sin.default", "args": [X]},
        {"let": ["x"], "op": "aten::cumsum.default", "args": [X, 0]},
    ]
    * 400,
}


def round_trip(worker, path_, repeat=2):
    data = pack([i / 7 for i in range(20)], "f")
    return worker.run(
        ROUND_TRIP, [{"x": view(0, [4, 5], [1, 4])}], [data], path_=path_, repeat=repeat
    )


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def group_is_gone(pid, seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            os.killpg(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def until_stage(worker, run, stage, timeout=120):
    pid = None
    while True:
        message = worker.hear(timeout)
        assert message["run"] == run
        if message["type"] == "started":
            pid = message["pid"]
        if message.get("stage") == stage:
            return pid


def stages_of(worker, path_):
    """The stages of an execution, in order."""
    run, _ = worker.start(ROUND_TRIP, [{"x": view(0, [4, 5])}], [pack([1] * 20, "f")], path_=path_)
    messages: list = []
    while not messages or messages[-1]["type"] != "ended":
        messages.append(worker.hear())
    assert (
        messages[0]["type"] == "started"
        and messages[-1].get("exit") == 0
        and {m["run"] for m in messages} == {run}
    )
    return [m["stage"] for m in messages if m["type"] == "stage"]


def test_hello(worker):
    hello = worker.hello
    assert (
        hello["type"] == "hello"
        and hello["protocol"] == 2
        and hello["modes"] == ["plain", "configure", "lower"]
    )
    assert hello["devices"][0] == "cpu" and "float8_e4m3fn" in hello["dtypes"]
    assert hello["environment"]["torch"] == torch.__version__
    assert all(isinstance(value, (str, int, float)) for value in hello["environment"].values())


def test_185337_diverges_by_default(worker):
    seen = round_trip(worker, path("inductor"))
    assert (
        seen["outcome"] == seen["reference"]["outcome"] == "returned"
        and seen["proof"]["graphs"] == 1
    )
    for run in range(2):
        ours, eager = (seen.values(seen.output("y", run, reference=r)) for r in (False, True))
        gaps = [abs(a - b) for a, b in zip(ours, eager)]
        assert sum(gap > 0 for gap in gaps) == 17 and 7e-4 < max(gaps) < 9e-4
    assert seen.output("y")["strides"] == [1, 4] and seen.output("s")["shape"] == [4]


@pytest.mark.parametrize("name", ["inductor-emulate-casts", "aot_eager", "eager"])
def test_185337_conforms(worker, name):
    seen = round_trip(worker, path(name))
    assert seen["proof"]["graphs"] == 1
    for output in ("y", "s"):
        assert seen.raw(seen.output(output)) == seen.raw(seen.output(output, reference=True))


def test_185337_strict_needs_a_newer_torch(worker):
    seen = round_trip(worker, path("inductor-strict"))
    if hasattr(torch._inductor.config, "numerics"):
        assert seen.raw(seen.output("y")) == seen.raw(seen.output("y", reference=True))
    else:
        assert seen["outcome"] == "unsupported"
        assert seen["reason"] == f"torch {torch.__version__} has no torch._inductor.config.numerics"


def test_eager_python_is_its_own_reference(worker):
    seen = round_trip(worker, path("eager-python"))
    assert seen["outcome"] == "returned" and seen["reference"] is None and len(seen["runs"]) == 2
    assert "x.to(torch.float16)" in open(os.path.join(seen.out, "program.py")).read()


def test_order_of_lines(worker):
    stages = [stage for stage in stages_of(worker, path("inductor")) if stage != "compile"]
    assert stages == "configure prepare eager configure trace lower run write".split()


def test_settings_are_warmed_up_once_and_outside_of_the_clocks(worker):
    """Same header, another set of settings: half a minute would be spent where the stage says
    so."""
    settings = path(
        "inductor", config={"torch._inductor.config.cpp.min_chunk_size": time.time_ns() % (1 << 30)}
    )
    plain, first, again = (
        stages_of(worker, path_) for path_ in (path("inductor"), settings, settings)
    )
    assert "warm" not in plain + again
    assert first.index("eager") < first.index("warm") < first.index("trace")


@pytest.mark.skipif(
    not os.environ.get("LOCKSTEP_LONG"),
    reason="minutes of precompiled headers; LOCKSTEP_LONG=1 runs it",
)
def test_a_new_cache_costs_no_instance_a_header(tmp_path_factory):
    """By the files: the header of the C++ wrapper and that of another vector width appear before
    `trace`, none after."""
    cache = tmp_path_factory.mktemp("new-cache")
    fresh = Worker(tmp_path_factory.mktemp("scratch"), cache=str(cache))

    def headers():
        return sorted(file.name for file in cache.rglob("*.gch"))

    for settings in (
        {},
        {"torch._inductor.config.cpp_wrapper": True},
        {"torch._inductor.config.cpp.simdlen": 256},
    ):
        warmed = headers()
        assert warmed
        run, _ = fresh.start(
            ROUND_TRIP,
            [{"x": view(0, [4, 5], [1, 4])}],
            [pack([1] * 20, "f")],
            path_=path("inductor", config=settings),
        )
        until_stage(fresh, run, "trace", 600)
        before = headers()
        assert fresh.wait(run, 600)["exit"] == 0
        assert headers() == before and (before != warmed) == bool(settings)
    assert fresh.stop() == 0


def test_several_at_once(worker):
    runs = {
        worker.start(ROUND_TRIP, [{"x": view(0, [4, 5])}], [pack([1] * 20, "f")])[0]
        for _ in range(3)
    }
    while runs:
        message = worker.hear()
        if message["type"] == "ended":
            assert message["exit"] == 0
            runs.remove(message["run"])


def test_a_killed_child_ends_with_its_signal_and_leaves_nothing(worker):
    run, out = worker.start(LONG, [{"x": view(0, [4])}], [pack([1] * 4, "f")])
    pid = until_stage(worker, run, "trace")
    os.kill(pid, signal.SIGKILL)
    assert worker.wait(run) == {"type": "ended", "run": run, "signal": 9}
    assert group_is_gone(pid) and not os.path.exists(os.path.join(out, "observation.json"))
    assert round_trip(worker, path("eager"))["outcome"] == "returned"


def test_a_compiler_killed_midway_does_not_spoil_the_cache(worker, cache):
    def killed(after):
        """A program that nobody has compiled yet, whose compiler was killed so many seconds after
        it began; None: it had ended."""
        program = {
            "inputs": ["x"],
            "outputs": ["y"],
            "steps": [
                {"let": ["y"], "op": "aten::mul.Tensor", "args": [X, {"float": time.time().hex()}]}
            ],
        }
        run, _ = worker.start(program, [{"x": view(0, [4])}], [pack([1] * 4, "f")])
        pid = until_stage(worker, run, "compile")
        time.sleep(after)
        with contextlib.suppress(ProcessLookupError):  # a quick machine: no signal ended it
            os.killpg(pid, signal.SIGKILL)
        return program if "signal" in worker.wait(run) else None

    program = next(filter(None, map(killed, (0.5, 0.2, 0.1, 0.05, 0))), None)
    assert program, "every compiler was quicker than that"
    start = time.monotonic()
    assert worker.run(program, [{"x": view(0, [4])}], [pack([1] * 4, "f")])["outcome"] == "returned"
    assert time.monotonic() - start < 60  # it did not wait for a dead process's lock


def test_requests_that_break_the_protocol(worker):
    def error(program, calls, storages=(), **rest):
        run, _ = worker.start(program, calls, storages, **rest)
        ended = worker.wait(run)
        assert ended["exit"] == 64
        return ended["error"]

    x = pack([1] * 4, "f")
    assert "'x y' is not a name" in error(
        {"inputs": ["x y"], "steps": [], "outputs": []}, [{"x y": 1}]
    )
    assert "'z' is not defined" in error(
        {"inputs": ["x"], "steps": [], "outputs": ["z"]}, [{"x": 1}]
    )
    assert "the key 'steps' is missing" in error({"inputs": ["x"], "outputs": []}, [{"x": 1}])
    assert "there is no storage 3" in error(
        {"inputs": ["x"], "steps": [], "outputs": ["x"]}, [{"x": view(3, [1])}], [x]
    )
    assert "no such message" in (worker.say({"type": "dance"}), worker.hear())[1]["error"]
    worker.stdin.write(b"not json\n")
    worker.stdin.flush()
    assert "not a message" in worker.hear()["error"]
    worker.say({"type": "run", "run": 1000, "out": "/nowhere"})
    assert worker.hear()["exit"] == 64


def test_what_is_unsupported_says_why(worker):
    def reason(steps, **rest):
        seen = worker.run(
            {"inputs": ["x"], "steps": steps, "outputs": ["x"]},
            [{"x": view(0, [4])}],
            [pack([1] * 4, "f")],
            **rest,
        )
        assert seen["outcome"] == "unsupported"
        return seen["reason"]

    assert "has no operator aten::nope.default" in reason(
        [{"let": ["y"], "op": "aten::nope.default", "args": [X]}]
    )
    assert "no backend 'nope'" in reason([], path_=path("inductor", backend="nope"))
    assert "cannot import nope" in reason([], path_=path("inductor", **{"import": ["nope"]}))
    assert "no mode 'fp64'" in reason([], mode="fp64")
    assert "layout sparse_coo" in reason(
        [{"let": ["x"], "op": "aten::_to_sparse.default", "args": [X]}], path_=path("eager-python")
    )


def test_random_numbers_are_seeded_before_every_call(worker):
    program = {
        "inputs": ["x"],
        "outputs": ["y"],
        "steps": [{"let": ["y"], "op": "aten::rand_like.default", "args": [X]}],
    }
    data, calls = pack([0] * 4, "f"), [{"x": view(0, [4])}] * 2

    def values(name, seed):
        seen = worker.run(program, calls, [data], path_=path(name), seed=seed)
        return [seen.raw(seen.output("y", call=call)) for call in range(2)]

    eager = values("eager-python", 3)
    assert eager[0] != eager[1] and eager == values("inductor", 3)
    assert values("eager-python", 4)[0] == eager[1]  # call by call the next seed
    native = values("inductor-native-random", 3)
    assert native[0] != native[1] and native[0] != eager[0]


def test_limits_and_streams(tmp_path, cache):
    """A file that outgrows its limit is that execution's error; what an execution prints never gets
    among the lines."""
    small = Worker(tmp_path, cache=cache, limits={"memory_bytes": 0, "file_bytes": 1 << 20})
    ones = {
        "inputs": ["x"],
        "outputs": ["y"],
        "steps": [{"let": ["y"], "op": "aten::ones.default", "args": [[1 << 19]]}],
    }
    data, call = pack([1] * 4, "f"), {"x": view(0, [4])}
    run, out = small.start(ones, [call], [data], path_=path("eager-python"))
    ended = small.wait(run)
    assert ended.get("exit") != 0 and not os.path.exists(os.path.join(out, "observation.json")), (
        ended
    )
    (tmp_path / "prints").mkdir()
    (tmp_path / "prints" / "talkative.py").write_text(
        "import os, sys\n"
        'print(\'{"type": "ended"}\')\n'
        "sys.stdout.flush()\n"
        "os.write(1, b'from below\\n')\n"
        "print(os.environ['LOCKSTEP_INSTANCE'], 'to the log', file=sys.stderr)\n"
    )
    small.say({"type": "stop"})
    assert small.process.wait(30) == 0
    loud = Worker(tmp_path / "prints", cache=cache, shim=str(tmp_path / "prints"))
    run, out = loud.start(
        ROUND_TRIP,
        [{"x": view(0, [4, 5])}],
        [pack([1] * 20, "f")],
        path_=path("eager-python", **{"import": ["talkative"]}),
    )
    assert loud.wait(run)["exit"] == 0 and all(
        message.get("run") in (None, run) for message in loud.log
    )
    printed = pathlib.Path(out, "stderr").read_text()
    assert "from below" in printed and "test/1@cpu to the log" in printed and '"ended"' in printed
    assert loud.stop() == 0


def test_hello_comes_first_and_says_which_protocol(tmp_path):
    small = Worker(tmp_path, hello=False)
    small.say({"type": "run", "run": 5})
    assert small.hear()["error"] == "hello comes first"
    small.say({"type": "hello", "protocol": 3, "scratch": str(tmp_path), "threads": 1})
    answer = small.hear()
    assert (
        answer["type"] == "hello"
        and "speaks protocol 2" in answer["error"]
        and small.process.wait(10) == 1
    )


def test_end_of_input_leaves_no_children(tmp_path, cache):
    worker = Worker(
        tmp_path, cache=cache, threads=2, limits={"memory_bytes": 1 << 33, "file_bytes": 1 << 30}
    )
    seen = round_trip(worker, path("eager"))
    assert seen["outcome"] == "returned"
    big = {
        "inputs": [],
        "outputs": ["y"],
        "steps": [{"let": ["y"], "op": "aten::zeros.default", "args": [[1 << 33]]}],
    }
    seen = worker.run(big, [{}], path_=path("eager-python"))
    assert seen["outcome"] == "raised" and "allocate" in seen["error"]["message"]
    pids: list = []
    for _ in range(2):
        run, _ = worker.start(LONG, [{"x": view(0, [4])}], [pack([1] * 4, "f")])
        pids.append(until_stage(worker, run, "trace") if not pids else None)
    while pids[1] is None:
        message = worker.hear()
        pids[1] = message["pid"] if message["type"] == "started" else None
    worker.stdin.close()
    assert worker.process.wait(20) == 0
    assert all(group_is_gone(pid) and not alive(pid) for pid in pids)


@pytest.mark.parametrize(
    "changes, reason",
    [
        ({}, None),
        ({"backend": None}, None),
        (
            {"config": {"torch._inductor.config.not_there": 1}},
            "has no torch._inductor.config.not_there",
        ),
        ({"import": ["not_there"]}, "cannot import not_there"),
        ({"backend": "not_there"}, "has no backend 'not_there'"),
        ({"options": {"epilogue_fusion": False}}, None),
        ({"options": {"not_there": 1}}, "not_there"),
    ],
)
def test_a_path_can_be_configured_without_a_program(worker, changes, reason):
    nothing: dict = {"inputs": [], "steps": [], "outputs": [], "context": {}, "backward": None}
    seen = worker.run(
        nothing, [], path_=path("inductor-emulate-casts", **changes), mode="configure"
    )
    assert seen["stage"] == "configure"
    if reason is None:
        assert seen["outcome"] == "returned" and seen["runs"] == [
            {"calls": [{"outputs": {}, "inputs": {}, "grads": {}}]}
        ]
    else:
        assert seen["outcome"] == "unsupported" and reason in seen["reason"] and seen["runs"] == []


def test_a_path_can_have_torchs_own_kernels_called(worker):
    program = {
        "inputs": ["x"],
        "outputs": ["y"],
        "steps": [{"let": ["y"], "op": "aten::erf.default", "args": [X], "kwargs": {}}],
    }
    data, call = pack([i / 7 for i in range(20)], "f"), [{"x": view(0, [20])}]
    own = worker.run(program, call, [data], path_=path("inductor"))["proof"]
    theirs = worker.run(
        program, call, [data], path_=path("inductor", fall_back=["aten::erf.default"])
    )["proof"]
    assert own["fallbacks"] == [] and any("erf" in name for name in theirs["fallbacks"])
    seen = worker.run(
        program, call, [data], path_=path("inductor", fall_back=["aten::not_there.default"])
    )
    assert seen["outcome"] == "unsupported" and "has no aten::not_there.default" in seen["reason"]


def test_path_files():

    names = [name[:-5] for name in os.listdir(conversation.PATHS) if name.endswith(".json")]
    ours = [p for p in map(path, names) if p["worker"] == "compiled"]
    keys = set(
        """
            format name title contract default worker dynamic import above config environment
            devices """.split()
    )
    assert len(ours) >= 10
    for p in ours:
        how = {"export"} if "export" in p else {"backend", "mode", "fullgraph"}
        assert (
            set(p) - {"unsupported", "refuses", "variants", "layer"} == keys | how
            and p["format"] == 2
            and p["contract"] in ("bits", "casts", "values")
        ), p["name"]
    assert {p["name"] for p in ours if p["default"]} == {
        "inductor",
        "inductor-emulate-casts",
        "inductor-strict",
    }
    json.dumps(ours)


# What is accepted and what is refused, in files that the runner and the other worker are tested
# with, too.


@pytest.mark.parametrize("example", examples("requests.jsonl"), ids=lambda example: example["name"])
def test_requests_are_accepted_or_refused_as_the_file_says(worker, tmp_path, example):
    out, storage = tmp_path / "out", tmp_path / "storage"
    out.mkdir()
    storage.write_bytes(pack(range(20), "f"))
    line = example.get("text") or json.dumps(example["request"])
    worker.stdin.write(
        line.replace("$OUT", str(out)).replace("$STORAGE", str(storage)).encode() + b"\n"
    )
    worker.stdin.flush()
    answer = worker.hear()
    while answer["type"] not in ("ended", "error"):
        answer = worker.hear()
    if refused := example.get("refused"):
        assert answer.get("exit", 64) == 64
        assert (refused if isinstance(refused, str) else refused["compiled"]) in answer["error"]
        return
    assert answer["exit"] == 0, answer
    seen = json.loads((out / "observation.json").read_text())
    assert seen["outcome"] == example["outcome"]
    if "outputs" in example:
        outputs = seen["runs"][0]["calls"][0]["outputs"]
        assert {name: form(value) for name, value in outputs.items()} == example["outputs"]


def test_what_the_worker_says_is_what_the_runner_accepts(worker):
    """By type: no key that the accepted examples do not have."""
    known: dict = {}
    for example in examples("worker_lines.jsonl"):
        if "refused" not in example:
            known.setdefault(example["line"]["type"], set()).update(example["line"])
    round_trip(worker, path("eager"))
    for message in worker.log:
        if message["type"] != "error":
            assert set(message) <= known[message["type"]], message
    stages = {
        example["line"]["stage"]
        for example in examples("worker_lines.jsonl")
        if "refused" not in example and example["line"]["type"] == "stage"
    }
    assert {message["stage"] for message in worker.log if message["type"] == "stage"} <= stages
