"""A worker for tests: speaks the protocol and does what the name of the path says.  Needs nothing
but Python.

Run as `python3 fake_worker.py [HOW]`. HOW is what it does at `hello`:

  ready         it works (the default; so does "worker", for LOCKSTEP_EAGER)
  refuse, die   it refuses, or dies
  old, garbage  another protocol, or no JSON
  deep, keys    a hello of 200 kB of nested lists, or of 1 MiB of keys
  odd           an environment that is a number
  poor          its toolchain lacks something
  twice         a second hello, of another torch
  crowd         it takes several executions at once, and does them one after the other
  asked         it knows the mode `configure`
  batch=N       it takes N executions in a child, one child at a time
  hasty=N       the same, but it answers the second one of the first batch first
  overrun=N     the same, but the first one of the first batch ends as it is killed, and the second
                one pays
  struck        it is killed
  level=NAME    it says that it computes at this CPU level
  exits=N       it exits with N when it is told to stop, or aborts (`exits=abort`)
  once=FILE     it is killed once: it makes FILE, and lives if FILE is there
  as=NAME       it takes NAME for the name of every path
  cuda          it has two CUDA devices besides the CPU, takes batches of 4 there, and digests
                storages there
  cuda-pinned   the same, and it pins less than others do

A path called `slow` takes 0.2 s, and goes on until the file FAKE_SLOW_UNTIL is there, beside which
it leaves one of its own.
"""

import functools
import itertools
import json
import os
import signal
import subprocess
import sys
import time


def say(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def observation(run, change):
    """Returns every input under the name of each output, after `change` has been at its bytes and
    views."""
    storages, bytes_of = [], []
    for index, storage in enumerate(run["storages"]):
        with open(storage["file"], "rb") as file:
            bytes_of.append(bytearray(file.read()))
        storages.append({"file": str(index), "bytes": storage["bytes"]})
    repetitions = []
    for _ in range(run["repeat"]):
        calls = []
        for call in run["calls"]:
            views = {name: dict(view) for name, view in call["inputs"].items()}
            # The first of its own program, where several are one ("m1_y" is of "m1_x").
            first = {name.split("_")[0]: view for name, view in reversed(views.items())}
            outputs = {
                name: dict(
                    views.get(name) or first.get(name.split("_")[0]) or next(iter(views.values()))
                )
                for name in run["program"]["outputs"]
            }
            calls.append({"outputs": outputs, "inputs": views, "grads": {}})
        repetitions.append({"calls": calls})
    result = {
        "outcome": "returned",
        "runs": repetitions,
        "storages": storages,
        "reference": None,
        "error": None,
        "reason": None,
        "stage": "run",
        "proof": {"graphs": 1},
        "phases": {"run": 0.001},
        "peak_memory_bytes": 1,
    }
    change(result, bytes_of)
    for index, content in enumerate(bytes_of):
        with open(os.path.join(run["out"], str(index)), "wb") as file:
            file.write(content)
    return result


def write(run, result):
    path = os.path.join(run["out"], "observation.json")
    with open(path + ".tmp", "w") as file:
        json.dump(result, file)
    os.rename(path + ".tmp", path)


def each_view(result, change):
    for repetition in result["runs"]:
        for call in repetition["calls"]:
            for view in call["outputs"].values():
                change(view)


def flip_bit(result, bytes_of):
    bytes_of[0][len(bytes_of[0]) // 2] ^= 1


def transpose(result, bytes_of):
    each_view(
        result,
        lambda view: view.update(
            strides=list(reversed(view["strides"])), shape=list(reversed(view["shape"]))
        ),
    )


def copy(result, bytes_of, sign=0):
    """Gives `y` bytes of its own: those of the first storage, where `sign` turns the sign of the
    float32 in the middle."""
    content = bytearray(bytes_of[0])
    content[len(content) // 8 * 4 + 3] ^= sign
    for repetition in result["runs"]:
        for call in repetition["calls"]:
            call["outputs"]["y"]["storage"] = len(bytes_of)
    result["storages"].append({"file": str(len(bytes_of)), "bytes": len(content)})
    bytes_of.append(content)


def negate(result, bytes_of):
    copy(result, bytes_of, 0x80)


def package(run, result, bytes_of):
    """Leaves a file beside the observation, for the part that comes next; nothing was executed yet
    but `run` took its time."""
    with open(os.path.join(run["out"], "package"), "wb") as file:
        file.write(b"p" * run["storages"][0]["bytes"])
    result["proof"] = {"graphs": 7}


def run_package(run, result, bytes_of):
    """Returns what the part before packaged, without proof of its own."""
    with open(os.path.join(run["before"], "package"), "rb") as file:
        bytes_of[0][:] = file.read()
    result["proof"] = None


def escape(result, bytes_of):
    each_view(result, lambda view: view.update(offset=1 << 40))


def raise_error(result, bytes_of):
    result.update(
        outcome="raised",
        error={
            "stage": "run",
            "class": "RuntimeError",
            "message": "made up",
            "wrapped": [],
            "kind": "error",
        },
        runs=[],
    )


def raise_in_tracing(result, bytes_of):
    raise_error(result, bytes_of)
    result["error"].update(stage="trace", kind="internal")
    result["proof"] = {"graphs": 0, "control": result["error"]["class"]}


def leave_behind(mark):
    """A process that nobody waits for, in a session of its own, whose parent is gone: a daemon."""
    if os.fork() == 0:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for fd in range(3):
            os.dup2(null, fd)
        subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(600)", mark], start_new_session=True
        )
        os._exit(0)
    os.wait()


def in_children(runs):
    """Each run in turn, in a child that writes its number to the run's `stderr`; after a death in
    another one.  The parent comes back when all have ended."""
    while runs:
        progress = os.pipe()
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            for run in runs:
                with open(os.path.join(run["out"], "stderr"), "w") as file:
                    file.write(str(os.getpid()))
                yield {**run, "type": "run", "pid": os.getpid()}
                os.write(progress[1], b".")
            os._exit(0)
        os.close(progress[1])
        status = os.waitpid(child, 0)[1]
        ended = len(os.read(progress[0], 1024))
        os.close(progress[0])
        if os.WIFSIGNALED(status) and ended < len(
            runs
        ):  # one that has done all may be killed as it leaves
            say({"type": "ended", "run": runs[ended]["run"], "signal": os.WTERMSIG(status)})
            ended += 1
        runs = runs[ended:]


def overrun(first, second):
    """The child of these is killed at the moment at which it goes from the one to the other."""
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    say({"type": "started", "run": first["run"], "pid": child.pid})
    child.wait()
    write(first, observation(first, lambda result, bytes_of: None))
    say({"type": "ended", "run": first["run"], "exit": 0})
    say({"type": "ended", "run": second["run"], "signal": signal.SIGKILL})


def messages(how):
    """What the runner says, of a batch one run after the other."""
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] != "batch":
            yield message
            continue
        runs = message["runs"]
        if how.startswith("hasty"):
            say({"type": "started", "run": runs[1]["run"]})
        if how.startswith("overrun"):
            how = "batch"
            overrun(*runs[:2])
            runs = runs[2:]
        yield from in_children(runs)


def answer_hello(how):
    """Says what the worker is, or does at once what `how` says."""
    if how == "die":
        sys.exit(5)
    if how == "struck" or how.startswith("once=") and not os.path.exists(how[5:]):
        if how != "struck":
            open(how[5:], "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "garbage":
        print("this is no JSON", flush=True)
        return
    hello: dict = {
        "type": "hello",
        "protocol": 9 if how == "old" else 2,
        "worker": "fake",
        "concurrent": 4 if how == "crowd" else 1,
        "environment": {"torch": "2.13.0"},
        "devices": ["cpu"],
        "dtypes": ["float32"],
        "modes": ["plain", "configure"] if how == "asked" else ["plain"],
    }
    if "=" in how and how.split("=")[0] in ("batch", "hasty", "overrun"):
        hello["batch"] = {"cpu": int(how.split("=")[1])}
    if how.startswith("cuda"):
        hello.update(devices=["cpu", "cuda:0", "cuda:1"], batch={"cuda": 4}, digests=["cuda"])
        hello["environment"]["pin cudnn_tf32"] = how == "cuda-pinned"
    if how == "odd":
        hello["environment"] = 3
    if how.startswith("level="):
        hello["environment"]["cpu_capability"] = how.split("=")[1]
    if how == "poor":
        hello["environment"]["lacks headers"] = "each process makes its own"
    if how in ("deep", "keys"):
        more = (
            '"x": ' + "[" * 200_000
            if how == "deep"
            else ", ".join(f'"{i}": 0' for i in range(80_000))
        )
        sys.stdout.write(json.dumps(hello)[:-1] + ", " + more + "}\n")
        sys.stdout.flush()
        return
    if how == "refuse":
        hello = {"type": "hello", "protocol": 2, "error": "there is no torch here"}
    say(hello)
    if how == "twice":
        say({**hello, "environment": {"torch": "6.6.6"}})


def begin(message, name):
    run = message["run"]
    if name == "die-at-once":
        os.kill(os.getpid(), signal.SIGKILL)
    pids = {
        "first": 1,
        "first-of-64": 2**32 + 1,
        "word": "1",
        "runner": os.getppid(),
        "self": os.getpid(),
    }
    pid = pids.get(name, message.get("pid"))
    say({"type": "started", "run": run, **({"pid": pid} if pid else {})})
    say({"type": "stage", "run": run, "stage": "compile" if name != "eager" else "run"})


def misbehave(message, name):
    """What a worker does while it executes, or instead; it may not come back."""
    run = message["run"]
    if name == "hang":
        time.sleep(600)
    if name == "slow":
        time.sleep(0.2)
        if until := os.environ.get("FAKE_SLOW_UNTIL"):
            open(f"{until}.{os.getpid()}", "w").close()
            while not os.path.exists(until):
                time.sleep(0.05)
    if name == "die-late":  # once another execution is under way
        while run < 3 and not os.path.exists(os.path.join(os.path.dirname(message["out"]), "out3")):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)
    if name == "warm":
        say({"type": "stage", "run": run, "stage": "warm"})
        time.sleep(2)
        say({"type": "stage", "run": run, "stage": "run"})
    if name == "die-held":  # what it leaves behind holds its output, in a session of its own
        subprocess.Popen(["sleep", "60"], start_new_session=True)
        os.kill(os.getpid(), signal.SIGKILL)
    if name == "nest":  # two compilers, one of them in a process group of its own
        subprocess.Popen(["sleep", "600"])
        subprocess.Popen(["sleep", "600"], preexec_fn=os.setpgrp)
        time.sleep(600)
    if name.startswith("daemon"):
        leave_behind(os.path.dirname(message["out"]))
        if name == "daemon-hang":
            time.sleep(600)
        if name == "daemon-die":
            os.kill(os.getpid(), signal.SIGKILL)
    if name == "flood":
        lines = json.dumps({"type": "stage", "run": run, "stage": "run"}).encode() + b"\n"
        while True:
            os.write(1, lines * 1000)
    if name == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if name == "orphan":  # the worker dies, of which this may be a child
        os.kill(os.getppid() if "pid" in message else os.getpid(), signal.SIGKILL)
        time.sleep(600)
    if name == "chatter":
        for _ in range(6000):
            say({"type": "stage", "run": run, "stage": "run"})
    if name == "babble":
        print("not a message", flush=True)


def change_of(message, name):
    """What becomes of the observation's bytes and views."""
    # Of the cases that are used here, each program has one input.
    programs = len(message["program"]["inputs"])
    changes = {
        "flip": flip_bit,
        "transpose": transpose,
        "escape": escape,
        "raise": raise_error,
        "raise-in-tracing": raise_in_tracing,
        "copy": copy,
        "negate": negate,
    }
    if name == "negate-stepwise":
        changes[name] = negate if message["mode"] == "stepwise" else copy
    if name == "flip-crowd" and programs > 1:
        changes[name] = flip_bit
    if name == "package":
        changes[name] = functools.partial(package, message)
    if name == "run-package":
        changes[name] = functools.partial(run_package, message)
    shapes = [view["shape"] for view in message["calls"][0]["inputs"].values()]
    rows = shapes[0][0] if shapes else 0
    if name == "narrow" and programs > 2 or name == "raise-2" and rows == 2:
        changes[name] = raise_error
    return changes.get(name, lambda result, bytes_of: None)


def distort(result, name):
    """What an observation says that is no observation of what was executed."""
    if name.startswith("absent"):
        result.update(
            outcome="unsupported",
            reason="cannot import what it needs",
            runs=[],
            stage="configure" if name == "absent" else "prepare",
        )
    if name in ("same", "made-up"):  # every storage is one that the runner has; or would be
        result["storages"] = [
            {"bytes": each["bytes"], "same": {"held": 0}, "blocks": [] if name == "same" else [5]}
            for each in result["storages"]
        ]
    if name == "uncompiled":
        result["proof"] = {"graphs": 0}
    if name == "list":
        for repetition in result["runs"]:
            for call in repetition["calls"]:
                call["outputs"] = {key: [view, 3] for key, view in call["outputs"].items()}


def leave_observation(message, name, result):
    """Writes it, or a part of it, or nothing."""
    if name == "half":
        with open(os.path.join(message["out"], "observation.json"), "w") as file:
            file.write(json.dumps(result)[:100])
    elif name == "short":
        write(message, result)
        os.truncate(os.path.join(message["out"], "0"), 3)
    elif name != "nothing":
        write(message, result)


def execute(message, name, flaky):
    """One run; `flaky` counts those of the path of that name."""
    begin(message, name)
    misbehave(message, name)
    run = message["run"]
    if name in ("crash", "leave"):
        say({"type": "ended", "run": run, **({"signal": 11} if name == "crash" else {"exit": 3})})
        return
    if message["mode"] == "configure":
        message["calls"] = [{"inputs": {}}]
    result = observation(message, change_of(message, name))
    if name == "flaky" and next(flaky) % 3 == 2:
        result = observation(message, flip_bit)
    distort(result, name)
    if name == "truncate":  # what it has written, once the runner has been told to read it
        large = open(os.path.join(message["out"], "large"), "wb+")
        large.write(b"x" * (4 << 20))
        large.flush()
        result["storages"].append({"file": "large", "bytes": 4 << 20})
    leave_observation(message, name, result)
    say({"type": "ended", "run": run, "exit": 0})
    if name == "stall":  # the next one of its batch is never begun
        time.sleep(600)
    if name == "truncate":
        while os.path.exists(message["out"]):  # until it has been read
            time.sleep(0.01)
        large.truncate(0)


def exit_badly(how):
    if how == "exits=abort":
        os.abort()
    if how.startswith("exits="):
        sys.exit(int(how[6:]))


def main():
    how = sys.argv[1] if len(sys.argv) > 1 else "ready"
    flaky = itertools.count(1)
    for message in messages(how):
        if message["type"] == "hello":
            answer_hello(how)
        elif message["type"] == "stop":
            exit_badly(how)
            return
        elif message["type"] == "run":
            execute(message, how[3:] if how.startswith("as=") else message["path"]["name"], flaky)


main()
