"""`kill -9` at any moment, of any process: the log stays readable, the run can be resumed to the
same verdicts, and nothing remains: no process, no directory of tensors. LOCKSTEP_LONG=1 tries many
moments, LOCKSTEP_SEED other ones; test_resume.py tries many more of them, with fake workers."""

import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from test_sabotage import DATA, ROOT, path_file

COUNT = 12  # instances
ROUNDS = 8 if os.environ.get("LOCKSTEP_LONG") else 1
SEED = int(os.environ.get("LOCKSTEP_SEED", "1"))


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    """A small suite, the command that runs it, and the verdicts of an undisturbed run."""
    folder = tmp_path_factory.mktemp("kill")
    suite = folder / "suite"
    (suite / "runner" / "paths").mkdir(parents=True)
    (suite / "runner" / "workers").symlink_to(ROOT / "runner" / "workers")
    (suite / "expected").mkdir()
    (suite / "cases" / "bugs").mkdir(parents=True)
    for i in range(COUNT):
        case = {
            "format": 1,
            "title": f"program {i}",
            "tags": ["silent"],
            "inputs": {
                "x": {
                    "dtype": "float32",
                    "shape": [4, 5],
                    "fill": {"arange": {"start": i, "step": 1, "divide": 7}},
                }
            },
            "steps": [
                {"let": "y", "op": "neg", "args": ["%x"]},
                {"let": "z", "op": "mul.Tensor", "args": ["%y", "%x"]},
            ],
            "outputs": ["z"],
        }
        (suite / "cases" / "bugs" / f"program-{i}.json").write_text(json.dumps(case))
    paths = [path_file(folder, "eager-python"), path_file(folder, "aot-eager", backend="aot_eager")]
    binary = pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "lockstep"

    def command(directory, resume=False):
        return [
            str(binary),
            *"run --level all --path *".split(),
            *(word for file in paths for word in ("--path-file", str(file))),
            "-j",
            "2",
            "--resume" if resume else "--out",
            str(directory),
        ]

    environment = {
        **os.environ,
        "LOCKSTEP_HOME": str(suite),
        "LOCKSTEP_CACHE": os.environ.get("LOCKSTEP_CACHE") or str(ROOT / ".lockstep"),
        "LOCKSTEP_TEST_MARK": str(folder),
    }

    def start(directory, resume=False, preexec_fn=None, **more):
        return subprocess.Popen(
            command(directory, resume),
            env={**environment, **more},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=preexec_fn,
        )

    begin = time.monotonic()
    process = start(folder / "whole")
    said, _ = process.communicate(timeout=600)
    assert process.returncode == 0, said
    return {
        "start": start,
        "folder": folder,
        "mark": str(folder),
        "seconds": time.monotonic() - begin,
        "verdicts": verdicts(folder / "whole"),
    }


def verdicts(directory):
    record = json.loads((directory / "run.json").read_text())
    return {
        verdict["id"]: (verdict["status"], verdict.get("reason")) for verdict in record["verdicts"]
    }


def processes(mark):
    """Every process with our mark in its environment: pid → (parent, command line)."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if f"LOCKSTEP_TEST_MARK={mark}\0".encode() not in (entry / "environ").read_bytes():
                continue
            status = (entry / "stat").read_text().rpartition(")")[2].split()
            if status[0] != "Z":
                found[int(entry.name)] = (
                    int(status[1]),
                    (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(),
                )
        except (OSError, ValueError):
            pass
    return found


def victims(mark, runner, kind):
    """Processes of a kind: the runner, a worker of it (between the two is a guard), or an execution
    (a child of a worker)."""
    alive = processes(mark)
    guards = {pid for pid, (parent, _) in alive.items() if parent == runner}
    workers = {pid: line for pid, (parent, line) in alive.items() if parent in guards}
    if kind == "runner":
        return [runner]
    if kind == "python worker":
        return [pid for pid, line in workers.items() if "lockstep_worker" in line]
    if kind == "eager worker":
        return [pid for pid, line in workers.items() if "lockstep-eager" in line]
    return [pid for pid, (parent, _) in alive.items() if parent in workers]


def wait_for_none(mark, seconds=10):
    end = time.monotonic() + seconds
    while (left := processes(mark)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not left, f"orphans: {left}"


def left_over(runners):
    """Directories of tensors of these runners."""
    return [
        str(entry)
        for base in ("/dev/shm", os.environ.get("TMPDIR", "/tmp"))
        for pid in runners
        for entry in pathlib.Path(base).glob(f"lockstep-{pid}-*")
    ]


@pytest.mark.parametrize("round_", range(ROUNDS))
@pytest.mark.parametrize("kind", ["runner", "python worker", "eager worker", "execution"])
def test_kill(scene, kind, round_):
    dice = random.Random(f"{SEED}/{kind}/{round_}")
    directory = scene["folder"] / f"{kind.replace(' ', '-')}-{round_}"
    process = scene["start"](directory)
    log = directory / "run.jsonl"
    # Either before anything is judged, or after some verdicts.
    wanted = dice.choice([0, 1, 3, COUNT, 2 * COUNT - 4])
    end = time.monotonic() + 300
    while time.monotonic() < end and process.poll() is None:
        lines = log.read_bytes().count(b'"verdict"') if log.exists() else 0
        if lines >= wanted and (found := victims(scene["mark"], process.pid, kind)):
            time.sleep(dice.random() * 0.05)
            try:
                os.kill(dice.choice(found), signal.SIGKILL)
            except ProcessLookupError:
                continue  # an execution that was done meanwhile
            break
        time.sleep(0.005)
    said, _ = process.communicate(timeout=600)
    wait_for_none(scene["mark"])
    runners = [process.pid]
    print(f"seed {SEED}, {kind}, round {round_}: after {wanted} verdicts")

    if kind == "runner":
        assert process.returncode == -signal.SIGKILL
        if log.exists():
            report = subprocess.run(
                [
                    os.path.join(os.environ["LOCKSTEP_BINARY_DIR"], "bin", "lockstep"),
                    "report",
                    str(log),
                    "--out",
                    str(scene["folder"] / "report"),
                ],
                capture_output=True,
                text=True,
                timeout=60,
            )
            assert report.returncode in (0, 1), report.stdout + report.stderr
            again = scene["start"](directory, resume=True)
        else:
            again = scene["start"](directory)
        runners.append(again.pid)
        said, _ = again.communicate(timeout=600)
        assert again.returncode == 0, said
        assert verdicts(directory) == scene["verdicts"]
    else:
        # The run goes on by itself. Lost is at most what an execution was for: an eager one is for
        # both paths. What a worker had under way beside others was run again.
        assert process.returncode in (0, 1), said
        found = verdicts(directory)
        assert found.keys() == scene["verdicts"].keys()
        other = {
            id_: verdict for id_, verdict in found.items() if verdict != scene["verdicts"][id_]
        }
        allowed = {"worker_lost", "crash", "harness", "oom"}
        assert all(status in allowed for status, _ in other.values()), other
        assert len(other) <= (1 if kind == "python worker" else 2), other
    wait_for_none(scene["mark"])
    assert left_over(runners) == []


def test_under_an_inherited_limit_of_memory_the_verdicts_are_the_same(scene):
    limit = 12 << 30  # less than the runner asks for
    process = scene["start"](
        scene["folder"] / "limited",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    said, _ = process.communicate(timeout=600)
    assert process.returncode == 0, said
    assert verdicts(scene["folder"] / "limited") == scene["verdicts"]


def test_a_compiler_of_the_warm_up_dies_with_the_runner(scene):
    compiler = scene["folder"] / "sleeping-compiler"
    compiler.write_text("#!/bin/sh\nexec sleep 600\n")
    compiler.chmod(0o755)
    process = scene["start"](scene["folder"] / "asleep", CXX=str(compiler))
    end = time.monotonic() + 300
    while not any("sleep 600" in line for _, line in processes(scene["mark"]).values()):
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.communicate(timeout=60)
    wait_for_none(scene["mark"], 60)


def test_a_compiler_that_is_killed_while_the_worker_warms_up_is_asked_again(scene):
    """As the kernel kills it where memory runs out; a worker that gave up cost every verdict."""
    tools, killed = scene["folder"] / "tools", scene["folder"] / "killed"
    tools.mkdir()
    (tools / "g++").write_text(
        f"""#!/bin/sh
case "$*" in *header.hpp*) [ -e {killed} ] || {{ touch {killed}; kill -9 $$; }} ;; esac
exec {shutil.which("g++")} "$@"
"""
    )
    (tools / "g++").chmod(0o755)
    path = f"{tools}:{os.environ['PATH']}"
    process = scene["start"](scene["folder"] / "again", CXX="g++", PATH=path)
    said, _ = process.communicate(timeout=600)
    assert killed.exists() and process.returncode == 0, said
    assert verdicts(scene["folder"] / "again") == scene["verdicts"]


@pytest.mark.parametrize("end", ["normal", "time-out", "killed"])
def test_a_daemon_of_an_execution_ends_with_the_run(scene, end):
    folder = scene["folder"] / f"daemon-{end}"
    folder.mkdir()
    path = path_file(folder, "daemon", backend="eager", **{"import": ["lockstep_daemon"]})
    daemons = folder / "daemons"
    environment = {
        **os.environ,
        "LOCKSTEP_HOME": str(scene["folder"] / "suite"),
        "LOCKSTEP_CACHE": os.environ.get("LOCKSTEP_CACHE") or str(ROOT / ".lockstep"),
        "LOCKSTEP_TEST_MARK": str(folder),
        "LOCKSTEP_TEST_DAEMON": str(daemons),
        "PYTHONPATH": str(DATA),
        "LOCKSTEP_TEST_HANG": "" if end == "normal" else "1",
    }
    command = [
        os.path.join(os.environ["LOCKSTEP_BINARY_DIR"], "bin", "lockstep"),
        *"run --level all --path daemon --path-file".split(),
        str(path),
        "-j",
        "2",
        "--out",
        str(folder / "out"),
        "bugs/program-0",
        "bugs/program-1",
        *(["--timeout", "4"] if end == "time-out" else []),
    ]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if end == "killed":
        moment = time.monotonic() + 300
        while not (daemons.exists() and daemons.read_text().count("\n") == 2):
            assert time.monotonic() < moment and process.poll() is None
            time.sleep(0.02)
        process.kill()
    said, _ = process.communicate(timeout=300)
    assert process.returncode == {"normal": 0, "time-out": 1, "killed": -signal.SIGKILL}[end], said
    assert len(daemons.read_text().split()) == 2
    wait_for_none(str(folder))
    if end != "killed":
        statuses = {status for status, _ in verdicts(folder / "out").values()}
        assert statuses == ({"conform"} if end == "normal" else {"timeout"}), said
