"""A part in a process of its own: what it is given and when, what it may hand over, how it ends."""

import atexit
import ctypes
import os
import signal
import subprocess
import sys
import time

import pytest
import torch

from lockstep_worker import cell as cell_module
from lockstep_worker import namespaces
from lockstep_worker.cell import Cell, Lost, places, write_all
from lockstep_worker.decoys import Given, decoy_bytes, given_storages, storages_of
from lockstep_worker.handed import Handed
from lockstep_worker.problems import Fault, Malformed
from lockstep_worker.processes import Started


class Said:
    """Stages as the starter is told them."""

    def __init__(self):
        self.stages = []

    def __call__(self, stage):
        self.stages.append(stage)


@pytest.fixture
def started():
    cells = []

    def start(body, hidden=(), exits=False):
        cells.append(Cell(body, 1, list(hidden), exits))
        return cells[-1]

    yield start
    for cell in cells:
        cell.close()


def test_words_stages_and_bytes_come_out(started):
    def body(inside):
        inside.stage("trace")
        inside.stage("run")
        write_all(inside.files["bytes"], b"abc", 5)
        return {"a": 1}

    cell, said = started(body), Said()
    assert cell.finish(said) == {"a": 1} and said.stages == ["trace", "run"]
    assert os.pread(cell.files["bytes"], 10, 0) == b"\0" * 5 + b"abc"
    assert cell.peak_memory_bytes > 1 << 20


def test_a_part_waits_until_it_may_begin(started, tmp_path):
    def body(inside):
        (tmp_path / "begun").touch()
        return {}

    cell = started(body)
    time.sleep(0.2)
    assert not (tmp_path / "begun").exists()
    cell.finish(Said())
    assert (tmp_path / "begun").exists()


def test_inputs_are_there_when_they_were_asked_for_and_not_before(started):
    def body(inside):
        file, seen = inside.files["inputs"], []
        for call in range(2):
            seen.append(os.pread(file, 8, 8 * call).decode())
            inside.ask(call)
            seen.append(os.pread(file, 8, 8 * call).decode())
            inside.called(call)
        return {"seen": seen}

    over: list[int] = []
    words = started(body).finish(
        Said(), lambda file, call: write_all(file, b"inputs %d" % call, 8 * call), over.append
    )
    assert words == {"seen": ["", "inputs 0", "", "inputs 1"]} and over == [0, 1]


def test_a_part_has_none_of_the_starters_descriptors(started):
    reading, writing = os.pipe()
    try:
        words = started(lambda _: {"open": sorted(map(int, os.listdir("/proc/self/fd")))}).finish(
            Said()
        )
    finally:
        os.close(reading)
        os.close(writing)
    # Its own four files, the link, and the folder that is being listed.
    assert len([each for each in words["open"] if each > 2]) == 6


@pytest.mark.parametrize(
    ("end", "status"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGSEGV), signal.SIGSEGV),
        (lambda: os._exit(7), 7 << 8),
        (lambda: os._exit(64), 64 << 8),
    ],
)
def test_how_a_part_ends_is_known(started, end, status):
    with pytest.raises(Lost) as lost:
        started(lambda _: end()).finish(Said())
    assert lost.value.status & ~0x80 == status


@pytest.mark.parametrize(
    ("handler", "at_exit"),
    [
        (lambda: None, ""),
        (lambda: 1 / 0, ""),  # Python prints it and exits with 0
        (os.abort, f"was ended by signal {int(signal.SIGABRT)} when it exited"),
        (lambda: os._exit(3), "exited with 3"),
    ],
)
def test_how_a_part_exits_once_it_has_answered_is_no_end_of_it(started, handler, at_exit):
    def body(_):
        atexit.register(handler)
        return {"a": 1}

    for exits in (True, False):
        cell = started(body, exits=exits)
        assert cell.finish(Said()) == {"a": 1} and cell.at_exit == at_exit * exits


def test_a_part_that_does_not_exit_is_ended(started, monkeypatch):
    monkeypatch.setattr(cell_module, "_EXIT", 1)

    def body(_):
        atexit.register(time.sleep, 3600)
        return {}

    cell = started(body, exits=True)
    cell.finish(Said())
    assert cell.at_exit == "did not exit within 1 s"


def test_destructors_of_c_run_and_those_of_the_starter_do_not(started, tmp_path):
    libc = ctypes.CDLL(None)

    def body(_):
        # As a static object of a backend's shared object would.
        getattr(libc, "__cxa_atexit")(ctypes.cast(libc.abort, ctypes.c_void_p), None, None)
        return {}

    def touch():
        (tmp_path / "touched").touch()

    atexit.register(touch)
    try:
        cell = started(body, exits=True)
        cell.finish(Said())
    finally:
        atexit.unregister(touch)
    assert "signal" in cell.at_exit and not (tmp_path / "touched").exists()


def test_a_part_that_breaks_before_it_says_that_it_leaves_is_lost(started):
    with pytest.raises(Lost):
        started(lambda _: os.kill(os.getpid(), signal.SIGABRT), exits=True).finish(Said())


def test_a_part_that_ends_in_silence_is_no_observation(started):
    with pytest.raises(Lost):
        started(lambda _: os._exit(0)).finish(Said())


def test_a_process_that_it_leaves_behind_does_not_hold_up_the_starter(started):
    def body(_):
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        return {}

    began = time.monotonic()
    assert started(body).finish(Said()) == {}
    assert time.monotonic() - began < 30


def raising(error):
    def body(_):
        raise error

    return body


def test_what_a_part_declines_and_fails_at_is_told(started):
    with pytest.raises(Malformed, match="no such"):
        started(raising(Malformed("no such"))).finish(Said())
    with pytest.raises(Fault, match="disk"):
        started(raising(Fault("no disk"))).finish(Said())
    with pytest.raises(Fault, match="ValueError: hm"):
        started(raising(ValueError("hm"))).finish(Said())


@pytest.mark.parametrize("words", [b"{", b"[]", b"[" * 100_000, b'"a"'])
def test_words_that_are_none_are_a_fault(started, words):
    def body(inside):
        write_all(inside.files["words"], words, 0)
        os._exit(0)

    with pytest.raises(Fault):
        started(body).finish(Said())


@pytest.mark.parametrize(
    "said",
    [
        {"type": "ended", "run": 1, "exit": 0},
        {"type": "stage", "stage": "lunch"},
        {"type": "inputs", "call": "0"},
    ],
)
def test_a_part_speaks_for_itself_alone(started, said):
    def body(inside):
        inside._wire.say(said)
        time.sleep(60)
        return {}

    with pytest.raises(Fault, match="said"):
        started(body).finish(Said())


# What is handed over ------------------------------------------------------------------------------


def memory(data):
    file = os.memfd_create("bytes")
    write_all(file, data, 0)
    return file


def test_views_lie_on_the_storages_that_came_with_them(tmp_path):
    handed = Handed(str(tmp_path))
    first = {"result": {"x": {"storage": 0}}, "storages": [{"bytes": 2, "at": 1}]}
    assert handed.take(first, memory(b"abc")) == {"x": {"storage": 0}}
    second = {
        "result": [{"y": {"storage": 1, "shape": [0]}}, None, 3],
        "storages": [{"bytes": 1, "at": 0}, {"bytes": 1, "same": {"storage": 0}, "blocks": []}],
    }
    assert handed.take(second, memory(b"d")) == [{"y": {"storage": 2, "shape": [0]}}, None, 3]
    # A lowered program is the request's, and so are its storages.
    lowered = {"lowered": {"steps": [{"tensor": {"storage": 49}}]}}
    assert handed.take({"result": lowered, "storages": []}, memory(b"")) == lowered
    assert (tmp_path / "0").read_bytes() == b"bc" and (tmp_path / "1").read_bytes() == b"d"
    assert handed.storages[1:] == [
        {"bytes": 1, "file": "1"},
        {"bytes": 1, "same": {"storage": 1}, "blocks": []},
    ]


@pytest.mark.parametrize(
    "words",
    [
        {"result": {"y": {"storage": -1}}, "storages": []},
        {"result": {"y": [{"storage": 1}]}, "storages": [{"bytes": 1, "at": 0}]},
        {"result": {"y": {"storage": "0"}}, "storages": [{"bytes": 1, "at": 0}]},
        {"result": None, "storages": [{"bytes": 9, "at": 0}]},
        {"result": None, "storages": [{"bytes": -1, "at": 0}]},
        {"result": None, "storages": [{"bytes": 1, "same": {"storage": -1}, "blocks": []}]},
        {"result": None, "storages": [{"bytes": 1, "same": {"storage": 0}, "blocks": []}]},
        {"result": None, "storages": [{"bytes": 1, "same": {"held": 0}, "blocks": [7], "at": 0}]},
        {"result": None, "storages": [{"bytes": 1, "file": "0"}]},
        {"result": None, "storages": {}},
        {"result": None},
    ],
)
def test_a_part_names_no_storage_but_its_own(tmp_path, words):
    handed = Handed(str(tmp_path))
    handed.take({"result": None, "storages": [{"bytes": 1, "at": 0}]}, memory(b"a"))
    with pytest.raises(Fault):
        handed.take(words, memory(b"abc"))


# Decoys -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64", "float64", "complex128"])
def test_decoys_of_floats_are_numbers(dtype):
    dtype = getattr(torch, dtype)
    decoy = torch.frombuffer(
        bytearray(decoy_bytes(65 * dtype.itemsize + 1, dtype)[:-1]), dtype=dtype
    )
    parts = torch.view_as_real(decoy) if dtype.is_complex else decoy.float()
    assert ((parts >= 0.5) & (parts <= 1.5)).all() and parts.unique().numel() > 5


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int64"])
def test_decoys_of_integers_are_ones(dtype):
    dtype = getattr(torch, dtype)
    assert decoy_bytes(3 * dtype.itemsize, dtype) == torch.ones(3, dtype=dtype).numpy().tobytes()


def test_decoys_stand_in_until_a_call_is_given():
    def x(storage):
        return {"inputs": {"x": {"storage": storage, "dtype": "int8"}, "n": 3}}

    calls, sizes = [x(0), x(1)], [3, 2]
    file = os.memfd_create("inputs")
    for index, at in enumerate(places(sizes)):
        write_all(file, bytes([10 + index] * sizes[index]), at)
    given = Given(file, sizes, {"program": {}, "calls": calls}, set())

    def read(index):
        buffer = bytearray(sizes[index])
        given.fill(index, memoryview(buffer))
        return list(buffer)

    assert given.hides(0) and given.hides(1) and read(0) == [1, 1, 1]
    given.give(0)
    assert not given.hides(0) and given.hides(1) and read(0) == [10] * 3 and read(1) == [1, 1]
    given.give(1)
    assert read(1) == [11, 11]
    assert storages_of(calls) == {0, 1}


def test_what_the_call_before_hands_over_nobody_has_to_give():
    view = {"storage": 0, "dtype": "int8"}
    calls = [{"inputs": {"w": view, "x": {**view, "storage": at}}} for at in (1, 2)]
    request = {"program": {"carry": {"w": "w"}}, "calls": calls}
    assert given_storages(request) == [{0, 1}, {2}]
    assert given_storages({"program": {}, "calls": calls}) == [{0, 1}, {0, 2}]


# What is seen of processes ------------------------------------------------------------------------


def test_processes_are_seen_alive_and_afterwards():
    script = """
import os, sys
sys.stdin.readline()
os.fork() or os._exit(0)
os.wait()
print(1, flush=True)
sys.stdin.readline()
"""
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin and process.stdout
        before = Started.by(process.pid)
        process.stdin.write("\n")
        process.stdin.flush()
        process.stdout.readline()
        after = Started.by(process.pid)
        assert after.faults > before.faults
        process.stdin.write("\n")
        process.stdin.flush()


def test_orphans_are_seen():
    code = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
from lockstep_worker.processes import Started, adopt_orphans
adopt_orphans()
pid = os.fork()
if pid == 0:
    if os.fork() == 0:
        os.setsid()
        time.sleep(30)
    os._exit(0)
os.waitpid(pid, 0)
(orphan,) = Started.by(os.getpid()).alive
print("seen", flush=True)
os.kill(orphan, 9)  # it holds this output
"""
    here = os.path.dirname(os.path.abspath(__file__))
    seen = subprocess.run([sys.executable, "-c", code, here], capture_output=True, text=True)
    assert seen.stdout.strip() == "seen", seen.stderr


@pytest.mark.skipif(bool(namespaces.why_not()), reason="no user namespaces here")
def test_a_folder_is_hidden_and_what_is_kept_of_it_stays(started, tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_text("kept")
    (tmp_path / "secret").write_text("secret")
    starter = os.getpid()

    def body(_):
        namespaces.hide([str(tmp_path)], str(tmp_path / "kept"))
        seen = sorted(os.listdir(tmp_path))
        around = ""
        try:
            os.listdir(f"/proc/{starter}/root{tmp_path}")
        except OSError as error:
            around = type(error).__name__
        return {"seen": seen, "kept": (tmp_path / "kept" / "file").read_text(), "around": around}

    assert started(body).finish(Said()) == {
        "seen": ["kept"],
        "kept": "kept",
        "around": "PermissionError",
    }
    assert (tmp_path / "secret").exists()
