"""What the parent does where a fork goes wrong: it costs one execution, never the worker."""

import errno
import mmap
import os
import signal

import pytest

from lockstep_worker import proof, warmup
from lockstep_worker.parent import Parent


class Heard:
    """A wire that keeps what is said, after `at_once` has seen it."""

    def __init__(self, at_once=lambda message: None):
        self.messages, self.at_once = [], at_once

    def say(self, message):
        self.messages.append(message)
        self.at_once(message)


@pytest.fixture
def run(monkeypatch, tmp_path):
    monkeypatch.setattr(warmup, "check_single_threaded", lambda: None)  # of pytest's own threads
    return {"type": "run", "run": 7, "out": str(tmp_path)}


def wait_for(message):
    """Until a child that has started has ended."""
    if message["type"] == "started":
        os.waitid(os.P_PID, message["pid"], os.WEXITED | os.WNOWAIT)


def parent(wire):
    made = Parent(0, wire)
    made.hello = {"threads": 1}
    return made


def test_an_execution_that_cannot_be_forked_is_answered(monkeypatch, run):
    def fork():
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    descriptors = len(os.listdir("/proc/self/fd"))
    monkeypatch.setattr(os, "fork", fork)
    wire = Heard()
    parent(wire)._run(run)
    assert [(m["type"], m["run"], m["exit"]) for m in wire.messages] == [("ended", 7, 70)]
    assert "temporarily unavailable" in wire.messages[0]["error"]
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_a_child_that_is_killed_before_it_begins_costs_nobody_else(run):
    def kill(message):
        if message["type"] == "started":
            os.kill(message["pid"], signal.SIGKILL)
            wait_for(message)

    wire = Heard(kill)
    served = parent(wire)
    served._run(run)  # a BrokenPipeError would be taken for the end of the runner
    served._reap()
    assert wire.messages[1:] == [{"type": "ended", "run": 7, "signal": signal.SIGKILL}]


def test_a_child_that_cannot_begin_does_not_become_a_second_parent(monkeypatch, run):
    monkeypatch.setattr(Parent, "_become_child", lambda *_: 1 / 0)
    wire = Heard(wait_for)
    served, tester = parent(wire), os.getpid()
    try:
        served._run(run)
    finally:
        if os.getpid() != tester:
            os._exit(99)
    served._reap()
    assert wire.messages[1]["exit"] == 70


@pytest.mark.parametrize(("what", "warm"), [("lowered", "lower"), ("packaged", "package")])
def test_a_parent_does_once_what_its_children_have_lost_as_much_by(monkeypatch, run, what, warm):
    """They count in memory that they share with it."""
    asked = []

    def counting(*_):
        proof.count(what)
        os._exit(0)

    monkeypatch.setattr(proof, "_counts", mmap.mmap(-1, len(proof.COUNTED)))
    monkeypatch.setattr(warmup, warm, lambda: asked.append(proof.counted(what)))
    monkeypatch.setattr(Parent, "_become_child", counting)
    wire = Heard(wait_for)
    served = parent(wire)
    for _ in range(5):
        served._run(run)
        served._reap()
    assert asked == [3, 4]
