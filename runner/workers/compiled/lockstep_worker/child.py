"""What a forked child does: makes the process its own, has one request executed, writes the
observation, and leaves without the parent's exit handlers."""

import contextlib
import json
import logging
import os
import resource
import signal
import sys
import traceback

from .cell import Lost, die_with
from .execute import observe
from .problems import Fault, Malformed
from .wire import Stages, Wire

MALFORMED = 64  # exit status: the request breaks the protocol (EX_USAGE)
INTERNAL = 70  # exit status: this worker is at fault (EX_SOFTWARE)
FAULT = "fault"  # file in `out` with one line about either


def limit(limits: dict, device: str) -> None:
    """Puts `hello.limits` in force, bytes, or the hard limit that this process has inherited, where
    that is less: nobody may raise it. CUDA maps more address space than any limit allows."""

    def lower(kind: int, most: int) -> None:
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))

    lower(resource.RLIMIT_CORE, 0)
    memory, files = int(limits.get("memory_bytes") or 0), int(limits.get("file_bytes") or 0)
    if memory > 0 and device == "cpu":
        lower(resource.RLIMIT_AS, memory)
    if files > 0:
        lower(resource.RLIMIT_FSIZE, files)


def _redirect(directory: str) -> None:
    """Standard input is empty, and whatever is printed goes to `out/stderr`: the parent's own
    streams belong to the protocol and to the runner."""
    null = os.open(os.devnull, os.O_RDONLY)
    log = os.open(os.path.join(directory, "stderr"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(null, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(null)
    os.close(log)


def write_observation(observation: dict, directory: str) -> None:
    """Writes `observation.json` so that it exists only whole."""
    path = os.path.join(directory, "observation.json")
    with open(path + ".part", "w", encoding="utf-8") as file:
        file.write(json.dumps(observation, allow_nan=False))  # not `dump`: that is all Python
    os.rename(path + ".part", path)


def main(request: dict, wire: Wire, hello: dict, parent: int) -> None:
    """Executes `request`, after the runner's `hello`, and never returns. Call it in a forked child
    only."""
    status = INTERNAL
    directory = request["out"]
    try:
        die_with(parent)
        _redirect(directory)
        os.environ["LOCKSTEP_INSTANCE"] = str(request.get("instance") or "")
        limit(hello.get("limits") or {}, str(request.get("device", "cpu")))
        logging.disable(logging.WARNING)  # what a backend logs as its error may be all that it says
        stages = Stages(wire, request["run"])
        observation = observe(request, directory, stages, hello)
        stages("write")
        write_observation(observation, directory)
        status = 0
    except Lost as lost:
        # Whoever ended so has not written one, unless he found the folder.
        with contextlib.suppress(OSError):
            os.remove(os.path.join(directory, "observation.json"))
        status = _as_it_ended(lost.status)
    except Malformed as problem:
        status = MALFORMED
        tell_fault(directory, str(problem))
    except BrokenPipeError:
        pass  # the runner is gone
    except BaseException as error:
        traceback.print_exc()
        tell_fault(
            directory,
            str(error) if isinstance(error, Fault) else f"{type(error).__name__}: {error}",
        )
    finally:
        # No exit handlers: they belong to the parent, and torch's can hang in a child.
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status)


def _as_it_ended(status: int) -> int:
    """Ends this process by the signal that ended the one that executed; else the exit status of
    that."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    return os.WEXITSTATUS(status)


def tell_fault(directory: str, text: str) -> None:
    """Leaves the line by which the parent knows that this worker ended the execution, and not what
    was executed."""
    try:
        with open(os.path.join(directory, FAULT), "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except OSError:
        pass
