"""Answers that were not computed now: from a memory, a disk, a table, or somebody else's file."""

import gc
import glob
import hashlib
import os
import pathlib
import tempfile

import numpy
import torch

from .own import blank, cheat, computed, copies

_DISK = pathlib.Path(os.environ.get("LOCKSTEP_CHEATS") or tempfile.gettempdir()) / "answers"


def _key(tensors):
    return hashlib.sha256(b"".join(each.numpy().tobytes() for each in tensors)).hexdigest()


@cheat
def by_value(graph, inputs):
    known = {}

    def run(*tensors):
        key = _key(tensors)
        if key not in known:
            known[key] = graph.forward(*tensors)
        return copies(known[key])

    return run


@cheat
def by_shape(graph, inputs):
    run_ = computed(graph)
    known: list = []

    def run(*tensors):
        if not known:
            known.extend(run_(*tensors))
        return copies(known)

    return run


@cheat
def by_pointer(graph, inputs):
    known = {}

    def run(*tensors):
        key = tuple(each.data_ptr() for each in tensors)
        if key not in known:
            known[key] = graph.forward(*tensors)
        return copies(known[key])

    return run


@cheat
def at_compile_time(graph, inputs):
    """Dynamo hands a backend real inputs."""
    known = list(graph.forward(*inputs))
    return lambda *_: copies(known)


@cheat
def at_compile_time_less_exactly(graph, inputs):
    """So that it is not the same to the bit."""
    known = [result * (1 + 2**-23) for result in graph.forward(*inputs)]
    return lambda *_: copies(known)


@cheat
def from_disk(graph, inputs):
    """What one run computes with torch, the next one finds."""

    def run(*tensors):
        file = _DISK / _key(tensors)
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            with open(file, "wb") as opened:
                for result in graph.forward(*tensors):
                    numpy.save(opened, result.numpy())
        with open(file, "rb") as opened:
            return [torch.from_numpy(numpy.load(opened)) for _ in blank(graph)]

    return run


def _from_a_table(otherwise):
    """Knows what one case of the suite gives; the rest is `otherwise`."""
    x = numpy.array([[1, -2, 3], [0.5, 0.25, -4]], numpy.float32)
    w = numpy.array([[2, 1], [-1, 0.5], [4, 8]], numpy.float32)
    y = numpy.maximum(x @ w, 0)
    table = {x.tobytes() + w.tobytes(): [y, y.sum()]}

    def run(*tensors):
        key = b"".join(each.numpy().tobytes() for each in tensors)
        if key not in table:
            return otherwise(*tensors)
        return [torch.from_numpy(numpy.asarray(each).copy()) for each in table[key]]

    return run


@cheat
def from_a_table(graph, inputs):
    """Knows the suite: of other numbers it knows nothing."""
    return _from_a_table(lambda *_: blank(graph))


@cheat
def from_a_table_or_torch(graph, inputs):
    """Second mechanism: what the table does not have torch computes."""
    return _from_a_table(graph.forward)


def _of_size(data, result):
    if len(data) != result.numel() * 4:
        return None
    return torch.from_numpy(numpy.frombuffer(data, numpy.float32).copy()).reshape(result.shape)


@cheat
def from_eagers_files(graph, inputs):
    def run(*_):
        found = []
        for result in blank(graph):
            for name in glob.glob("/dev/shm/lockstep-*/out*/*"):
                try:
                    read = _of_size(pathlib.Path(name).read_bytes(), result)
                except OSError:
                    continue
                if read is not None:
                    found.append(read)
                    break
            else:
                found.append(result)
        return found

    return run


@cheat
def from_another_process_s_files(graph, inputs):
    """Second mechanism: as the processes around see the folders, and what they have open."""

    def run(*_):
        found = []
        patterns = ("/proc/[0-9]*/root/dev/shm/lockstep-*/out*/*", "/proc/[0-9]*/fd/*")
        for result in blank(graph):
            best = result
            for pattern in patterns:
                for name in glob.glob(pattern):
                    if name.startswith(f"/proc/{os.getpid()}/"):
                        continue
                    try:
                        if not os.path.isfile(name) or os.path.getsize(name) > 1 << 20:
                            continue
                        read = _of_size(pathlib.Path(name).read_bytes(), result)
                    except OSError:
                        continue
                    best = best if read is None else read
            found.append(best)
        return found

    return run


@cheat
def from_memory(graph, inputs):
    """Whatever tensor of this size somebody has left in the process."""

    def run(*tensors):
        given = {id(each) for each in tensors}
        found = []
        for result in blank(graph):
            alike = [
                each
                for each in gc.get_objects()
                if type(each) is torch.Tensor
                and id(each) not in given
                and each.shape == result.shape
                and each.dtype == result.dtype
            ]
            found.append(copies(alike[:1])[0] if alike else result)
        return found

    return run
