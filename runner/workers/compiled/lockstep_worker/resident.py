"""A resident worker: warm once, it waits at a socket and forks for whoever starts a worker. What it
forks is a new worker but for the seconds that imports and the warm-up take (engine/warm.h)."""

import contextlib
import json
import os
import selectors
import signal
import socket
import struct
import sys
import time
import traceback
from collections.abc import Callable

from . import greeting, processes
from .cell import die_with

#: A request has the name of a folder and some variables; bytes.
_MOST = 1 << 17
#: Who asks has sent everything when it is heard; seconds.
_PATIENCE = 5
#: Killing what a worker left behind ends after so many rounds: what waits for a driver stays.
_ROUNDS = 1000
#: How a supervisor ends after which there shall be no more.
_LAST = 3

Work = Callable[[list[str]], int]


def main(words: list[str], work: Work) -> int:
    """Serves the socket that standard input is. It ends when it is told to, when no worker has been
    there for so long, or when a file of a module is not what it was. `words`: the folder of
    compilers' caches, seconds, and the file of the socket. `work` is what a worker does with words
    of its own, its exit status the result. Prints an empty line as soon as it waits."""
    cache, idle, file = words
    listener = socket.socket(fileno=os.dup(0))
    ready = os.dup(1)
    os.dup2(2, 1)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    bound = os.stat(file).st_ino
    try:
        greeting.answer({"protocol": greeting.PROTOCOL, "cache": cache})
        from . import warmup  # which needs torch

        warmup.lower()
        listener.listen(64)
        os.write(ready, b"\n")
        os.close(ready)
        _serve(listener, float(idle), work)
    finally:
        with contextlib.suppress(OSError):
            if os.stat(file).st_ino == bound:  # else another one has taken the name
                os.unlink(file)
    return 0


def _serve(listener: socket.socket, idle: float, work: Work) -> None:
    from .trials import remembered  # which needs torch

    files, supervisors = remembered.identity([]), set[int]()
    with processes.told_of_children() as woken, selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        selector.register(woken, selectors.EVENT_READ)
        while heard := selector.select(None if supervisors else idle):
            for pid in list(supervisors):
                ended, status = os.waitpid(pid, os.WNOHANG)
                if ended == pid:
                    supervisors.discard(pid)
                    if os.waitstatus_to_exitcode(status) == _LAST:
                        return
            processes.drain(woken)
            if all(key.fileobj != listener for key, _ in heard):
                continue
            connection, _ = listener.accept()
            pid = os.fork()
            if pid == 0:
                listener.close()
                _supervise_or_die(connection, remembered.identity([]) == files, work)
            supervisors.add(pid)
            connection.close()


def _supervise_or_die(connection: socket.socket, fresh: bool, work: Work) -> None:
    """Never returns, whatever happens: the loop is that of another process."""
    status = 1
    try:
        status = _supervise(connection, fresh, work)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _supervise(connection: socket.socket, fresh: bool, work: Work) -> int:
    """What stands between one worker and who started it: answers, forks the worker, tells how it
    ended, and ends all that came of it when the other side is gone. The exit status."""
    signal.set_wakeup_fd(-1)
    os.setsid()
    processes.adopt_orphans()
    connection.settimeout(_PATIENCE)
    data, descriptors, _, _ = socket.recv_fds(connection, _MOST, 3)
    asked = json.loads(data)
    if _owner_of(connection) != os.getuid() or len(descriptors) != 3:
        return 1
    if asked["end"] or not fresh:
        connection.send(b"y" if asked["end"] else b"n")
        return _LAST
    connection.send(b"y")
    if connection.recv(1) != b"!":
        return 1  # who asked has lost patience, and has a worker of its own
    connection.settimeout(None)
    supervisor = os.getpid()
    with processes.told_of_children() as woken:
        pid = os.fork()
        if pid == 0:
            connection.close()
            _become_worker(asked, descriptors, work, supervisor)
        print(f"worker {pid} in {asked['cwd']}", file=sys.stderr, flush=True)
        for each in descriptors:
            os.close(each)
        _watch(pid, connection, woken)
    _end_all(pid)
    return 0


def _owner_of(connection: socket.socket) -> int:
    """Who is at the other end: the number of a user."""
    size = struct.calcsize("3i")
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    return struct.unpack("3i", data)[1]


def _watch(worker: int, connection: socket.socket, woken: int) -> None:
    """Tells how the worker ended as soon as it has, and returns when the other side is gone."""
    told = False
    with selectors.DefaultSelector() as selector:
        selector.register(connection, selectors.EVENT_READ)
        selector.register(woken, selectors.EVENT_READ)
        while all(key.fileobj != connection for key, _ in selector.select()):
            processes.drain(woken)
            while not told and (
                ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            ):
                if ended.si_pid == worker:
                    exited = ended.si_code == os.CLD_EXITED
                    status = ended.si_status << 8 if exited else ended.si_status
                    connection.send(struct.pack("i", status))
                    told = True
                else:
                    os.waitpid(ended.si_pid, 0)


def _end_all(worker: int) -> None:
    """Kills the worker and what came of it, as a guard does (engine/guard.cpp)."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(worker, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        for _ in range(_ROUNDS):
            for pid in processes.below(os.getpid()):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
            time.sleep(0.001)


def _become_worker(asked: dict, descriptors: list[int], work: Work, supervisor: int) -> None:
    """Has what a process would have that its runner had started, and works. Never returns."""
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        die_with(supervisor)
        for standard, each in enumerate(descriptors):
            os.dup2(each, standard)
            os.close(each)
        before, after = os.getcwd(), asked["cwd"]
        os.chdir(after)
        # Python -m puts the folder where it is started in front.
        sys.path[:] = [after if each == before else each for each in sys.path]
        for text in asked["variables"]:
            name, _, value = text.partition("=")
            os.environ[name] = value
        status = work(asked["words"])
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)
