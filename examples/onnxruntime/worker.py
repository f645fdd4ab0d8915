"""A worker of Lockstep's that executes programs with ONNX Runtime. It was written from
docs/design/protocol.md alone and imports nothing of Lockstep.

The parent imports torch and ONNX Runtime once and forks a child for each execution; `execution.py`
says what a child does."""

import json
import os
import selectors
import signal
import sys
import time
import traceback

MALFORMED, FAULT = 64, 70  # exit statuses of a child: the request is wrong; this worker is


class Wire:
    """Lines of JSON on a file descriptor that parent and children share: short lines are written
    whole."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def say(self, message: dict) -> None:
        os.write(self.fd, json.dumps(message).encode() + b"\n")


def warm() -> dict:
    """Imports everything and exports something, so that no child has to; `hello`'s
    `environment`."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # threads do not survive a fork
    import execution
    import onnx
    import onnxruntime
    import onnxscript
    import torch

    torch.set_num_threads(1)
    execution.warm()
    return {
        "torch": torch.__version__,
        "onnxruntime": onnxruntime.__version__,
        "onnx": onnx.__version__,
        "onnxscript": onnxscript.__version__,
        "python": sys.version.split()[0],
        "operators_digest": f"onnxruntime-{onnxruntime.__version__}-torch-{torch.__version__}",
    }


def child(request: dict, hello: dict, wire: Wire, go: int) -> int:
    """Executes one request in a forked process; its exit status."""
    import execution

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    os.setpgid(0, 0)
    if os.read(go, 1) != b"!":  # not before the parent has said `started`
        return FAULT
    log = os.open(os.path.join(request["out"], "stderr"), os.O_WRONLY | os.O_CREAT, 0o600)
    for stream in (1, 2):
        os.dup2(log, stream)
    try:
        execution.execute(
            request,
            hello,
            lambda stage: wire.say({"type": "stage", "run": request["run"], "stage": stage}),
        )
        return 0
    except execution.Malformed as problem:
        status, text = MALFORMED, str(problem)
    except Exception as error:
        traceback.print_exc()
        status, text = FAULT, f"{type(error).__name__}: {error}"
    with open(os.path.join(request["out"], "fault"), "w", encoding="utf-8") as file:
        file.write(text)
    return status


class Parent:
    """Answers the runner until it says `stop` or goes away."""

    def __init__(self, requests: int, wire: Wire) -> None:
        self.requests, self.wire, self.rest = requests, wire, b""
        self.hello: dict | None = None
        self.stopping = False
        self.selector = selectors.DefaultSelector()
        self.selector.register(requests, selectors.EVENT_READ)
        self.children: dict[int, tuple[int, dict]] = {}  # pidfd → pid, request

    def serve(self) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # what Ctrl-C means, the runner decides
        while not (self.stopping and not self.children):
            for key, _ in self.selector.select():
                if key.fd != self.requests:
                    self.reap(key.fd)
                    continue
                data = os.read(self.requests, 1 << 20)
                if not data:  # the runner is gone
                    for pid, _ in self.children.values():
                        os.killpg(pid, signal.SIGKILL)
                    return
                *lines, self.rest = (self.rest + data).split(b"\n")
                for line in lines:
                    self.answer(line)

    def answer(self, line: bytes) -> None:
        try:
            message = json.loads(line)
            kind = message["type"]
        except (ValueError, KeyError, TypeError) as error:
            self.wire.say({"type": "error", "error": f"no message: {error!r:.200}"})
            return
        if kind == "hello":
            self.greet(message)
        elif kind == "run":
            self.run(message)
        elif kind == "stop":
            self.stopping = True
        else:
            self.wire.say({"type": "error", "error": f"no such message: {kind!r:.200}"})

    def greet(self, message: dict) -> None:
        start = time.perf_counter()
        try:
            environment = warm()
        except ImportError as error:
            self.wire.say(
                {
                    "type": "hello",
                    "protocol": 2,
                    "error": (
                        f"{error}: pip install -r requirements.txt where this worker's Python is "
                        f"({sys.executable})"
                    ),
                }
            )
            sys.exit(1)
        import tensors

        self.hello = message
        self.wire.say(
            {
                "type": "hello",
                "protocol": 2,
                "worker": "onnxruntime",
                "concurrent": os.cpu_count() or 1,
                "environment": environment,
                "devices": ["cpu"],
                "dtypes": sorted(tensors.ONNX_TYPES),
                "modes": ["plain"],
                "seconds": round(time.perf_counter() - start, 3),
            }
        )

    def run(self, request: dict) -> None:
        number, out = request.get("run"), request.get("out")
        if self.hello is None or not isinstance(out, str) or not os.path.isdir(out):
            problem = (
                "hello comes first" if self.hello is None else "run.out: a directory is expected"
            )
            self.wire.say({"type": "ended", "run": number, "exit": MALFORMED, "error": problem})
            return
        go, started = os.pipe()
        pid = os.fork()
        if pid == 0:
            status = FAULT
            try:
                os.close(started)
                status = child(request, self.hello, self.wire, go)
            finally:
                os._exit(status)  # no exit handlers: they are the parent's
        os.close(go)
        try:
            os.setpgid(pid, pid)  # the child does so, too: either may be first
        except OSError:
            pass
        pidfd = os.pidfd_open(pid)
        self.children[pidfd] = pid, request
        self.selector.register(pidfd, selectors.EVENT_READ)
        self.wire.say({"type": "started", "run": number, "pid": pid})
        os.write(started, b"!")
        os.close(started)

    def reap(self, pidfd: int) -> None:
        self.selector.unregister(pidfd)
        os.close(pidfd)
        pid, request = self.children.pop(pidfd)
        _, status = os.waitpid(pid, 0)
        answer: dict = {"type": "ended", "run": request["run"]}
        if os.WIFSIGNALED(status):
            answer["signal"] = os.WTERMSIG(status)
        else:
            answer["exit"] = os.WEXITSTATUS(status)
            fault = os.path.join(request["out"], "fault")
            if answer["exit"] and os.path.exists(fault):
                with open(fault, encoding="utf-8") as file:
                    answer["error"] = " ".join(file.read(1000).split())
        self.wire.say(answer)


if __name__ == "__main__":
    answers = os.dup(1)
    os.dup2(2, 1)  # what libraries print does not get into the protocol
    Parent(0, Wire(answers)).serve()
