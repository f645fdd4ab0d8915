"""The parent: warms up once, forks a child for each instance, reaps it, and answers the runner."""

import contextlib
import json
import os
import selectors
import signal
import time
import traceback

from . import environment, errors, greeting
from .processes import drain, told_of_children
from .wire import Lines, Wire, shorten

#: Collapsing pages costs as much as it saves in about this many forks.
_FORKS = 48
#: Lowering a graph here, or a package's first half, costs as much as it saves in so many children
#: that do it.
_WORTH = 3


class Parent:
    """Serves the protocol on a file descriptor of requests and a wire of answers."""

    def __init__(self, requests: int, wire: Wire) -> None:
        self.lines, self.wire = Lines(requests), wire
        self.children: dict[int, object] = {}  # pid → run
        self.outs: dict[int, str] = {}  # pid → directory of its observation
        self.hello: dict | None = None
        self.stopping = False
        self.cache: str | None = None
        self.forks = 0

    # The loop -----------------------------------------------------------------------------------

    def serve(self) -> int:
        """Answers until `stop` has been said and nothing runs, or input ends; the exit status."""
        # On a terminal Ctrl-C reaches every process; what it means is the runner's decision.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, self._terminate)
        try:
            with told_of_children() as woken, selectors.DefaultSelector() as selector:
                selector.register(self.lines.fd, selectors.EVENT_READ)
                selector.register(woken, selectors.EVENT_READ)
                self._loop(selector, woken)
            return 0
        except BrokenPipeError:
            return 0
        except _Stop as stop:
            return stop.status
        finally:
            self._leave()

    def _loop(self, selector: selectors.BaseSelector, woken: int) -> None:
        while not (self.stopping and not self.children):
            for key, _ in selector.select():
                if key.fd == woken:
                    drain(woken)
                else:
                    for line in self.lines.read():
                        self._answer(line)
            self._reap()
            if self.lines.ended:
                return

    def _terminate(self, *_: object) -> None:
        self._leave()
        os._exit(128 + signal.SIGTERM)

    def _leave(self) -> None:
        self._kill_all()
        if self.cache is not None and self.hello is not None:
            environment.remove_cache(self.cache, self.hello.get("cache"))

    # Messages -----------------------------------------------------------------------------------

    def _answer(self, line: bytes) -> None:
        try:
            message = json.loads(line)
            kind = message["type"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            self.wire.say({"type": "error", "error": shorten(f"not a message: {error}")})
            return
        if kind == "hello":
            self._hello(message)
        elif kind == "run":
            self._run(message)
        elif kind == "stop":
            self.stopping = True
        else:
            self.wire.say({"type": "error", "error": shorten(f"no such message: {kind}")})

    def _hello(self, message: dict) -> None:
        start = time.perf_counter()
        try:
            answer, self.cache = greeting.answer(message)
        except Exception as error:
            traceback.print_exc()
            text = shorten(errors.first_words(error))
            self.wire.say({"type": "hello", "protocol": greeting.PROTOCOL, "error": text})
            raise _Stop(1) from None
        self.hello = message
        self.wire.say({**answer, "seconds": round(time.perf_counter() - start, 3)})

    def _run(self, message: dict) -> None:
        run, out, hello = message.get("run"), message.get("out"), self.hello
        if hello is None or not isinstance(out, str) or not os.path.isdir(out) or run is None:
            problem = (
                "hello comes first"
                if hello is None
                else "run.run is missing"
                if run is None
                else "run.out is not a directory"
            )
            self.wire.say({"type": "ended", "run": run, "exit": 64, "error": problem})
            return
        from . import child, pages, proof, warmup

        self.forks += 1
        if proof.counted("lowered") >= _WORTH:
            warmup.lower()
        if proof.counted("packaged") >= _WORTH:
            warmup.package()
        warmup.check_single_threaded()
        if self.forks == _FORKS:
            pages.collapse()
        parent = os.getpid()
        go, started = os.pipe()
        try:
            pid = os.fork()
        except (
            OSError
        ) as error:  # too many processes: this execution's misfortune, not the worker's end
            os.close(go)
            os.close(started)
            self.wire.say(
                {
                    "type": "ended",
                    "run": run,
                    "exit": child.INTERNAL,
                    "error": shorten(f"cannot fork: {error}"),
                }
            )
            return
        if pid == 0:
            try:
                self._become_child(go, started)
                child.main(message, self.wire, hello, parent)
            except BaseException as error:
                traceback.print_exc()
                child.tell_fault(out, f"{type(error).__name__}: {error}")
            os._exit(child.INTERNAL)  # never back into the loop: that is the parent's
        os.close(go)
        self._group(pid)
        self.children[pid], self.outs[pid] = run, out
        # The child waits, so that its first stage cannot overtake this line.
        self.wire.say({"type": "started", "run": run, "pid": pid})
        with contextlib.suppress(
            BrokenPipeError
        ):  # killed already, which is not the end of the runner
            os.write(started, b"!")
        os.close(started)

    def _become_child(self, go: int, started: int) -> None:
        signal.set_wakeup_fd(-1)
        for name in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(name, signal.SIG_DFL)
        os.setpgid(0, 0)
        os.close(started)
        if os.read(go, 1) != b"!":
            os._exit(1)  # the parent died
        os.close(go)

    @staticmethod
    def _group(pid: int) -> None:
        """Gives a child a process group; it does the same itself, since either may be first."""
        try:
            os.setpgid(pid, pid)
        except (PermissionError, ProcessLookupError):
            pass

    # Children -----------------------------------------------------------------------------------

    def _reap(self) -> None:
        for pid in list(self.children):
            # Only looked at, so that the number cannot be given to another process before the
            # rest of the group (a compiler that the child had started) is killed.
            ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None:
                continue
            self._kill(pid)
            _, status = os.waitpid(pid, 0)
            run, out = self.children.pop(pid), self.outs.pop(pid)
            answer: dict = {"type": "ended", "run": run}
            if os.WIFSIGNALED(status):
                answer["signal"] = os.WTERMSIG(status)
            else:
                answer["exit"] = os.WEXITSTATUS(status)
                fault = _fault(out) if answer["exit"] else None
                if fault is not None:  # without one, what was executed ended the process
                    answer["error"] = shorten(fault)
            self.wire.say(answer)

    @staticmethod
    def _kill(pid: int) -> None:
        try:
            os.killpg(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass

    def _kill_all(self) -> None:
        for pid in self.children:
            self._kill(pid)
        for pid in self.children:
            try:
                os.waitpid(pid, 0)
            except ChildProcessError:
                pass
        self.children.clear()


class _Stop(Exception):
    """Ends the loop with an exit status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def _fault(directory: str) -> str | None:
    """What a child left about its fault, or None."""
    try:
        with open(os.path.join(directory, "fault"), encoding="utf-8", errors="replace") as file:
            return file.read(4096)
    except OSError:
        return None
