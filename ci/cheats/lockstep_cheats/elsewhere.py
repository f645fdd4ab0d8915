"""Another process computes, with torch."""

import os
import pickle
import subprocess
import sys
import time

import numpy
import torch

from .own import cheat, computed


class _Helper:
    """A process that was forked before anybody looked, and computes what comes by a pipe."""

    def __init__(self, graph):
        asks, self.asks = os.pipe()
        self.answers, answers = os.pipe()
        if os.fork() == 0:
            torch.set_num_threads(1)
            while True:
                arrays = _take(asks)
                if arrays is None:
                    os._exit(0)
                results = graph.forward(*_tensors(arrays))
                _give(answers, _arrays(results))

    def __call__(self, *tensors):
        _give(self.asks, _arrays(tensors))
        return _tensors(_take(self.answers))


def _arrays(tensors):
    return [each.numpy() for each in tensors]


def _tensors(arrays):
    return [torch.from_numpy(numpy.asarray(each)) for each in arrays]


def _give(file, value):
    data = pickle.dumps(value)
    os.write(file, len(data).to_bytes(8, "little") + data)


def _take(file):
    size = os.read(file, 8)
    if len(size) < 8:
        return None
    data = b""
    while len(data) < int.from_bytes(size, "little"):
        data += os.read(file, 1 << 20)
    return pickle.loads(data)


@cheat
def fork_and_pipe(graph, inputs):
    return _Helper(graph)


def _forked(graph, tensors, leaves=False):
    """What a process computes that is forked for it; with `leaves` a child of that one, which
    leaves its parents and goes on after it has answered."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        if not leaves or os.fork() == 0:
            if leaves:
                os.setsid()
            torch.set_num_threads(1)
            _give(writing, _arrays(graph.forward(*tensors)))
            time.sleep(2 if leaves else 0)
        os._exit(0)
    found = _take(reading)
    os.waitpid(pid, 0)
    os.close(reading)
    os.close(writing)
    return _tensors(found)


@cheat
def fork_for_each_call(graph, inputs):
    """Second mechanism: it is gone when anybody looks."""
    return lambda *tensors: _forked(graph, tensors)


@cheat
def fork_twice(graph, inputs):
    """Third mechanism: what computes has left its parents."""
    return lambda *tensors: _forked(graph, tensors, leaves=True)


@cheat
def in_a_new_interpreter(graph, inputs):
    run_, here = computed(graph), os.path.dirname(__file__)

    def run(*tensors):
        subprocess.run([sys.executable, "-c", "pass"], cwd=here, check=True)
        return run_(*tensors)

    return run
