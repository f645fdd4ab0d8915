"""A part of an execution in a process of its own. Whoever starts it imports nothing that a path
brings and executes nothing: it hands inputs over when they are due, and takes what comes out of the
process through descriptors, never through memory or folders that both see."""

import contextlib
import ctypes
import json
import os
import selectors
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from typing import Any

from . import namespaces
from .compat import exit_handlers
from .problems import Fault, Malformed
from .wire import Lines, Stages, Wire

#: What a part may say that it is at (docs/design/protocol.md).
STAGES = frozenset(
    ("configure", "prepare", "eager", "warm", "trace", "lower", "compile", "run", "write")
)
#: Bytes of the words that a part hands over, as many as an observation may have.
MOST_WORDS = 16 << 20
_ALIGNMENT = 64
_PR_SET_PDEATHSIG = 1
_INTERNAL = 70
#: Seconds that a process may take to exit.
_EXIT = 5


class Lost(Exception):
    """A process that ended without handing over; `status` is as `waitpid` has it."""

    def __init__(self, status: int) -> None:
        super().__init__(f"wait status {status}")
        self.status = status


def die_with(parent: int) -> None:
    """Lets the kernel kill this process when its parent dies."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the call
        os._exit(_INTERNAL)


class Inside:
    """A part's side: where it leaves bytes, says stages, and asks for inputs."""

    def __init__(self, link: int, run: object, files: dict[str, int]) -> None:
        self._wire, self._lines = Wire(link), Lines(link)
        self.stage = Stages(self._wire, run)
        #: Descriptors of memory files: `bytes` takes what is handed over, `inputs` has what was
        #: asked for, `trace` is for the witness.
        self.files = files

    def ask(self, call: int) -> None:
        """Waits until the inputs of a call are in the file `inputs`."""
        self._wire.say({"type": "inputs", "call": call})
        self._hear()

    def called(self, call: int) -> None:
        """Says that a call whose inputs were asked for is over."""
        self._wire.say({"type": "called", "call": call})
        self._hear()

    def leave(self) -> None:
        """Says that everything is handed over, and that the process exits now."""
        with contextlib.suppress(BrokenPipeError):
            self._wire.say({"type": "leaves"})

    def wait(self) -> None:
        """Waits until the part may begin."""
        self._hear()

    def _hear(self) -> None:
        if not self._lines.read():
            raise BrokenPipeError  # whoever started it is gone


class Cell:
    """The starter's side of one part. It is forked at once, so that it has none of the memory of
    parts that are executed before it, and waits for `finish`."""

    def __init__(
        self, body: Callable[[Inside], dict], run: object, hidden: list[str], exits: bool = False
    ) -> None:
        """`body` gives the words that are handed over. `hidden`: folders that the process is not to
        see, where this machine lets that be. `exits`: whether it runs what was registered in it for
        its exit."""
        self.files = {name: os.memfd_create(name) for name in ("words", "bytes", "inputs", "trace")}
        ours, theirs = socket.socketpair()
        self._link = ours
        starter = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                die_with(starter)
                _close_all_but({0, 1, 2, theirs.fileno(), *self.files.values()})
                if hidden:
                    with contextlib.suppress(OSError):  # the environment of the run says so
                        namespaces.hide(hidden, os.environ.get("TORCHINDUCTOR_CACHE_DIR", ""))
                _execute(body, Inside(theirs.fileno(), run, self.files), exits)
            finally:
                os._exit(_INTERNAL)
        theirs.close()
        self._rusage: Any = None
        self._leaves = False
        #: How it ended after it had handed over, where that is not as it should.
        self.at_exit = ""

    def finish(
        self,
        stage: Stages,
        hand_over: Callable[[int, int], None] = lambda *_: None,
        after: Callable[[int], None] = lambda _: None,
    ) -> dict:
        """Lets the part begin, and gives its words when it is over. `stage` is told its stages;
        `hand_over` puts the inputs of a call into a file, and `after` hears that it is over.
        Raises `Lost`, `Malformed` and `Fault`."""
        self._link.sendall(b"go\n")
        self._serve(stage, hand_over, after)
        _, status, self._rusage = os.wait4(self.pid, 0)
        if status != 0:
            if not self._leaves:
                raise Lost(status)
            self.at_exit = _end_of(status)
        return self._words()

    @property
    def peak_memory_bytes(self) -> int:
        """The most memory that the process had, once it has ended."""
        return self._rusage.ru_maxrss * 1024 if self._rusage else 0

    def close(self) -> None:
        """Ends the process, if it has not ended, and lets go of its files."""
        if self._rusage is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self.pid, 0)
        self._link.close()
        for file in self.files.values():
            os.close(file)

    def _serve(self, stage: Stages, hand_over: Callable, after: Callable) -> None:
        """Answers until the process has ended. What it started may hold the link open."""
        ended, lines = os.pidfd_open(self.pid), Lines(self._link.fileno())
        with selectors.DefaultSelector() as selector:
            selector.register(ended, selectors.EVENT_READ)
            selector.register(self._link, selectors.EVENT_READ)
            alive = True
            while alive:
                ready = {key.fd for key, _ in selector.select()}
                alive = ended not in ready
                if self._link.fileno() not in ready:
                    continue
                for line in lines.read():
                    self._answer(json.loads(line), stage, hand_over, after)
                if lines.ended:
                    selector.unregister(self._link)
        os.close(ended)

    def _answer(self, message: dict, stage: Stages, hand_over: Callable, after: Callable) -> None:
        kind = message.get("type")
        if kind == "stage" and message.get("stage") in STAGES:
            stage(message["stage"])
            return
        if kind == "leaves":
            self._leaves = True
            return
        if kind == "inputs" and type(message.get("call")) is int:
            hand_over(self.files["inputs"], message["call"])
        elif kind == "called" and type(message.get("call")) is int:
            after(message["call"])
        else:
            raise Fault(f"the process that executed it said {str(message)[:80]}")
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._link.sendall(b"there\n")

    def _words(self) -> dict:
        size = os.fstat(self.files["words"]).st_size
        if size == 0:
            raise Lost(0)
        if size > MOST_WORDS:
            raise Fault(f"an observation of {size} bytes; at most {MOST_WORDS} are taken")
        try:
            words = json.loads(os.pread(self.files["words"], size, 0))
        except (ValueError, RecursionError) as error:
            raise Fault(f"what the process handed over is no JSON: {error}") from None
        if not isinstance(words, dict):
            raise Fault("what the process handed over is no object")
        if "malformed" in words:
            raise Malformed(str(words["malformed"]))
        if "fault" in words:
            raise Fault(str(words["fault"]))
        return words


def _close_all_but(kept: set[int]) -> None:
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in kept:
            with contextlib.suppress(OSError):
                os.close(int(name))


def _execute(body: Callable[[Inside], dict], inside: Inside, exits: bool) -> None:
    """Executes a part in the process that is its own, and ends it."""
    if exits:
        exit_handlers.forget()
    try:
        inside.wait()
        words = body(inside)
    except BrokenPipeError:
        os._exit(_INTERNAL)
    except Malformed as problem:
        words = {"malformed": str(problem)}
    except BaseException as error:
        with contextlib.suppress(OSError):
            traceback.print_exc()
        words = {"fault": str(error) if isinstance(error, Fault) else _named(error)}
    write_all(inside.files["words"], json.dumps(words, allow_nan=False).encode(), 0)
    # No exit handlers: they belong to the starter, and torch's can hang in a child.
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    if exits:
        inside.leave()
        _exit()
    os._exit(0)


def _exit() -> None:
    """Ends this process as Python and C do; by SIGALRM, where that takes too long."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(_EXIT)
    exit_handlers.leave()


def _end_of(status: int) -> str:
    if not os.WIFSIGNALED(status):
        return f"exited with {os.WEXITSTATUS(status)}"
    if os.WTERMSIG(status) == signal.SIGALRM:
        return f"did not exit within {_EXIT} s"
    return f"was ended by signal {os.WTERMSIG(status)} when it exited"


def _named(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def write_all(file: int, data: Any, at: int) -> None:
    """Writes a buffer of bytes at an offset. Raises `OSError`."""
    left = memoryview(data).cast("B")
    while left:
        count = os.pwrite(file, left, at)
        left, at = left[count:], at + count


def places(sizes: list[int]) -> list[int]:
    """Where storages of these sizes lie in one file."""
    found, at = [], 0
    for size in sizes:
        found.append(at)
        at += (size + _ALIGNMENT - 1) // _ALIGNMENT * _ALIGNMENT
    return found


def copy(source: int, at: int, size: int, target: int, to: int = 0) -> None:
    """Copies bytes between files, from and to an offset. Raises `OSError`, also where the source
    has fewer."""
    os.lseek(target, to, os.SEEK_SET)
    while size:
        count = os.sendfile(target, source, at, size)
        if count == 0:
            raise OSError(None, "the file ends before its storage does")
        at, size = at + count, size - count
