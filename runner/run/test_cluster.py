"""A run on a Dask cluster: the same log as the run here, but for times, whatever becomes of the
machines. With fake workers in the place of torch, and real dask workers: on this machine, or each
in a network namespace of its own where the test may make some (root, `ip`), one of which is then
cut off from the others."""

import contextlib
import itertools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "commands"))

from suites import BINARY, FAKE, Suite, log_of, many, tensors_of, timeless, verdicts, wait_for

DASK = os.environ.get("LOCKSTEP_DASK", "")
BRIDGE = pathlib.Path(__file__).resolve().parent / "dask_bridge.py"
ROWS = 20
SELECT = ("bugs/3-many", "bugs/1-first", "path:conform", "path:slow", "path:flip", "--save-tensors")

pytestmark = pytest.mark.skipif(
    not BINARY.is_file() or not DASK,
    reason="needs LOCKSTEP_BINARY_DIR, a build, and LOCKSTEP_DASK, an interpreter",
)


def same(directory):
    """run.json without what a cluster adds, and the tensors."""
    record = timeless(directory)
    record["environment"].pop("cluster", None)
    record["run"].pop("jobs")
    return record, tensors_of(directory)


def ids(directory):
    return [record["id"] for record in log_of(directory) if record["type"] == "verdict"]


class Scene:
    def __init__(self, root):
        self.suite = Suite(root / "suite", BINARY)
        self.root = self.suite.root
        self.suite.write("cases/bugs/3-many.json", many(ROWS))
        (self.root / "ci").mkdir()
        for name, command in (("lockstep", BINARY), ("dask", f"{DASK} {BRIDGE}")):
            (self.root / "ci" / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
            (self.root / "ci" / name).chmod(0o755)
        assert self.call("run", *SELECT, "-j", "2", "--out", "whole").returncode == 1
        self.whole = same(self.root / "whole")
        assert len(self.whole[0]["verdicts"]) == (ROWS + 1) * 3 and self.whole[1]

    def call(self, *arguments):
        return subprocess.run(
            [BINARY, *arguments],
            env=self.suite.environment(),
            cwd=self.root,
            capture_output=True,
            text=True,
            timeout=180,
        )

    def run(self, *options):
        return self.call("run", *SELECT, *options)


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    return Scene(tmp_path_factory.mktemp("cluster"))


NUMBERS = itertools.count(1)


class Cluster:
    """A scheduler and dask workers of the test's own. `worker` starts one; in a network namespace
    of its own where that can be."""

    def __init__(self, scene, folder, patience="4s"):
        self.scene = scene
        self.folder = folder
        self.folder.mkdir()
        self.file = folder / "scheduler.json"
        self.processes, self.spaces = {}, []
        self.network = (
            os.geteuid() == 0
            and shutil.which("ip") is not None
            and self.attempt("ip", "link", "show")
        )
        self.start(
            "scheduler",
            [
                "scheduler",
                "--scheduler-file",
                str(self.file),
                *"--port 0 --no-dashboard --no-show --host 0.0.0.0".split(),
            ],
            DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL=patience,
        )
        # The file is there before its text is.
        wait_for(lambda: self.file.exists() and self.file.read_text().endswith("}"), 60)
        self.port = json.loads(self.file.read_text())["address"].rpartition(":")[2]

    @staticmethod
    def attempt(*command):
        return subprocess.run(command, capture_output=True).returncode == 0

    def start(self, name, arguments, space=None, **variables):
        inside = ["ip", "netns", "exec", space] if space else []
        environment = self.scene.suite.environment(
            DASK_TEMPORARY_DIRECTORY=str(self.folder), **variables
        )
        with open(self.folder / f"{name}.log", "wb") as log:
            self.processes[name] = subprocess.Popen(
                [*inside, DASK, "-m", "dask", *arguments],
                env=environment,
                cwd=self.folder,
                stdout=log,
                stderr=log,
            )

    def worker(self, name, **variables):
        """Of each space there is one link, whose end here has an address in a network of its own:
        no bridge is needed."""
        number = next(NUMBERS)
        space, here, there = (f"ls{os.getpid() % 10000}{end}{number}" for end in "nht")
        host = "127.0.0.1"
        made = self.network and self.attempt("ip", "netns", "add", space)
        if made:
            self.spaces.append((space, here))
            host = f"10.213.{number}.1"
            for command in (
                ["link", "add", here, "type", "veth", "peer", "name", there, "netns", space],
                ["addr", "add", f"{host}/24", "dev", here],
                ["link", "set", here, "up"],
                ["-n", space, "addr", "add", f"10.213.{number}.2/24", "dev", there],
                ["-n", space, "link", "set", there, "up"],
                ["-n", space, "link", "set", "lo", "up"],
            ):
                assert self.attempt("ip", *command), command
        self.start(
            name,
            [
                "worker",
                f"tcp://{host}:{self.port}",
                *"""
                    --no-nanny --nthreads 1 --no-dashboard --death-timeout 60 --local-directory
                """.split(),
                str(self.folder / name),
            ],
            space if made else None,
            **variables,
        )
        return here if made else None

    def cut_off(self, name, link):
        """Nothing it says arrives any more; it itself goes on where there is a network to cut."""
        if link:
            assert self.attempt("ip", "link", "set", link, "down")
        else:
            os.kill(self.processes[name].pid, signal.SIGSTOP)

    def close(self):
        for process in self.processes.values():
            with contextlib.suppress(OSError):
                os.kill(process.pid, signal.SIGCONT)
            process.kill()
            process.wait()
        for space, _ in self.spaces:
            self.attempt("ip", "netns", "del", space)


@pytest.fixture
def cluster(scene, tmp_path):
    made = Cluster(scene, tmp_path / "dask")
    yield made
    made.close()


def members():
    """The processes of Lockstep that execute parts of a run, by the command line."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if words[:2] == [str(BINARY).encode(), b"serve"]:
                found.append(int(entry.name))
    return found


def test_a_cluster_of_this_machine_gives_the_same_run(scene):
    result = scene.run("--on", "dask", "-j", "2", "--durations", "whole", "--out", "here")
    assert result.returncode == 1, result.stdout + result.stderr
    assert same(scene.root / "here") == scene.whole
    assert len(ids(scene.root / "here")) == len(set(ids(scene.root / "here")))
    environment = json.loads((scene.root / "here" / "run.json").read_text())["environment"][
        "cluster"
    ]
    assert len(environment) == 2 and all(
        text.endswith("1 at a time") for text in environment.values()
    )
    assert not members()


def test_one_is_killed_and_one_cut_off_and_nothing_is_lost(scene, cluster):
    link = cluster.worker("cut-off")
    cluster.worker("killed")
    cluster.worker("stays")
    run = scene.suite.start("run", *SELECT, "--on", f"dask:{cluster.file}", "--out", "hurt")
    log = scene.root / "hurt" / "run.jsonl"
    joined = lambda: [
        record for record in log_of(scene.root / "hurt") if record.get("name") == "cluster"
    ]
    wait_for(
        lambda: (
            log.exists()
            and joined()
            and len(joined()[-1]["values"]) == 3
            and len(ids(scene.root / "hurt")) > 6
        ),
        90,
    )
    assert len(ids(scene.root / "hurt")) < len(scene.whole[0]["verdicts"]) / 2, (
        "it was too fast for this test"
    )
    cluster.processes["killed"].kill()
    cluster.cut_off("cut-off", link)
    output, errors = run.communicate(timeout=180)
    assert run.returncode == 1, output + errors
    assert same(scene.root / "hurt") == scene.whole
    assert len(ids(scene.root / "hurt")) == len(set(ids(scene.root / "hurt"))), (
        "a verdict is there twice"
    )
    # The scheduler may notice it first, or whoever tells the member something.
    assert errors.count(" is lost (") == 2, errors
    cluster.close()
    wait_for(lambda: not members(), 30)


def test_other_torches_are_refused_and_named(scene, cluster):
    other = scene.root / "other-eager"
    other.write_text(
        f'#!/bin/sh\n{sys.executable} {FAKE} "$@" | '
        """sed -u 's/"torch": *"2.13.0"/"torch": "2.99.0"/'\n"""
    )
    other.chmod(0o755)
    cluster.worker("other", LOCKSTEP_EAGER=str(other))
    cluster.worker("good")
    result = scene.run("--on", f"dask:{cluster.file}", "--out", "refused")
    assert result.returncode == 1, result.stdout + result.stderr
    assert 'is left out: it has torch "2.99.0", this machine "2.13.0"' in result.stderr
    assert same(scene.root / "refused") == scene.whole


def test_a_machine_without_lockstep_is_named(scene, cluster):
    cluster.worker("empty", LOCKSTEP_HOME=str(cluster.folder))
    cluster.worker("good")
    result = scene.run("--on", f"dask:{cluster.file}", "--out", "without")
    assert (
        result.returncode == 1 and "is left out: Lockstep cannot be started there" in result.stderr
    ), result.stderr
    assert same(scene.root / "without") == scene.whole


def test_a_lost_scheduler_ends_the_run_which_can_be_gone_on_with(scene, cluster, monkeypatch):
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "3s")
    cluster.worker("only")
    run = scene.suite.start("run", *SELECT, "--on", f"dask:{cluster.file}", "--out", "alone")
    log = scene.root / "alone" / "run.jsonl"
    wait_for(lambda: log.exists() and len(ids(scene.root / "alone")) > 3, 90)
    cluster.processes["scheduler"].kill()
    output, errors = run.communicate(timeout=90)
    assert (
        run.returncode == 3
        and "the cluster cannot be used: its scheduler is lost" in errors
        and "--resume" in errors
    ), errors
    resumed = scene.call("run", "--resume", "alone", "--on", "local")
    assert resumed.returncode == 1 and same(scene.root / "alone") == scene.whole, resumed.stderr


def test_what_kills_its_machine_twice_is_reported(scene):
    """One instance kills the Lockstep that executes it, each time; the others of its chunk are not
    to blame."""
    script = scene.root / "murderer.py"
    script.write_text(f"""import os, subprocess, sys
child = subprocess.Popen([sys.executable, {str(FAKE)!r}, "as=conform"], stdin=subprocess.PIPE)
for line in sys.stdin.buffer:
    if b"3-many[rows=7]" in line and b'"run"' in line:
        pid, serving = os.getpid(), 0
        while pid > 1:
            if b"serve" in open(f"/proc/{{pid}}/cmdline", "rb").read().split(b"\\0"):
                serving = pid  # the last one: those between are its guards
            pid = int(open(f"/proc/{{pid}}/stat").read().rpartition(")")[2].split()[1])
        if serving:
            os.kill(serving, 9)
    child.stdin.write(line)
    child.stdin.flush()
""")
    scene.suite.path("murder", worker=[sys.executable, str(script)])
    try:
        result = scene.call(
            *"""
                run bugs/3-many path:murder path:conform --alone --on dask -j 2 --out murder
            """.split()
        )
    finally:
        (scene.root / "runner/paths/murder.json").unlink()
    assert result.returncode == 1, result.stdout + result.stderr
    found = verdicts(scene.root / "murder")
    assert len(found) == 2 * ROWS == len(ids(scene.root / "murder"))
    lost = [name for name, verdict in found.items() if verdict["status"] == "worker_lost"]
    assert "bugs/3-many[rows=7]@cpu/murder" in lost and len(lost) <= 2, (
        lost
    )  # with it at most the other verdict of its instance
    assert found[lost[-1]]["reason"].startswith(
        "lost twice with the machine that executed it: tcp://"
    )
    assert {verdict["status"] for name, verdict in found.items() if name not in lost} == {"conform"}


def test_ctrl_c_and_resume_there_and_here(scene):
    run = scene.suite.start("run", *SELECT, "--on", "dask", "-j", "2", "--out", "interrupted")
    log = scene.root / "interrupted" / "run.jsonl"
    wait_for(lambda: log.exists() and len(ids(scene.root / "interrupted")) > 3, 90)
    run.send_signal(signal.SIGINT)
    output, errors = run.communicate(timeout=60)
    assert run.returncode == 130 and "--resume" in errors, output + errors
    assert log_of(scene.root / "interrupted")[-1]["interrupted"]
    wait_for(lambda: not members(), 10)
    shutil.copytree(scene.root / "interrupted", scene.root / "gone-on")
    assert 0 < len(ids(scene.root / "gone-on")) < len(scene.whole[0]["verdicts"])
    for name, more in (("interrupted", ()), ("gone-on", ("--on", "local"))):
        resumed = scene.call("run", "--resume", name, *more)
        assert resumed.returncode == 1, resumed.stderr
        assert same(scene.root / name) == scene.whole
        assert len(ids(scene.root / name)) == len(set(ids(scene.root / name)))
        assert ("connecting with the cluster" in resumed.stderr) == (name == "interrupted")


def test_nothing_remains_of_a_run_that_is_killed(scene):
    run = scene.suite.start("run", *SELECT, "--on", "dask", "-j", "2", "--out", "killed")
    wait_for(lambda: members(), 90)
    run.kill()
    run.communicate()
    wait_for(lambda: not members(), 20)


def test_it_stops_after_so_many_failures(scene):
    result = scene.run("--on", "dask", "-j", "2", "--max-fail", "2", "--out", "stopped")
    assert result.returncode == 1 and "stopped after" in result.stdout, (
        result.stdout + result.stderr
    )
    assert (
        sum(
            verdict["status"] == "value_diverges"
            for verdict in verdicts(scene.root / "stopped").values()
        )
        == 2
    )


def test_terms_about_a_log_mean_the_log_of_here(scene):
    result = scene.call(
        "run", "status:failing", "--from", "whole", "--on", "dask", "-j", "2", "--out", "again"
    )
    assert result.returncode == 1, result.stdout + result.stderr
    assert set(verdicts(scene.root / "again")) == {
        v["id"] for v in scene.whole[0]["verdicts"] if v["status"] == "value_diverges"
    }


def test_what_is_no_cluster_is_refused(scene):
    for wrong in (
        "slurm",
        "dask://",
        "dask://host",
        "dask://host:",
        "dask://:1",
        "dask://host:12a",
        "dask:",
    ):
        result = scene.run("--on", wrong, "--out", "none")
        assert (
            result.returncode == 2
            and f"found --on {wrong}, expected dask, dask://HOST:PORT" in result.stderr
        ), result.stderr
    begin = time.monotonic()
    result = scene.run("--on", "dask://127.0.0.1:1", "--out", "nobody")
    assert (
        result.returncode == 3
        and "the cluster cannot be used: no scheduler answers" in result.stderr
    ), result.stderr
    assert time.monotonic() - begin < 60


def test_serve_says_what_it_lacks(scene):
    for said in (
        "",
        "rm -rf /\n",
        "{}\n",
        '{"arguments": ["list"], "directory": "/", "out": "x"}\n',
    ):
        result = subprocess.run(
            [BINARY, "serve"],
            input=said,
            env=scene.suite.environment(),
            cwd=scene.root,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert result.returncode == 2 and "standard input" in result.stderr and not result.stdout, (
            result.stderr
        )


@pytest.mark.parametrize("name", ["/etc/passwd", "../x", "tensors/../../x", "run.jsonl", ""])
def test_members_name_no_file_outside_of_the_tensors(name, tmp_path):
    code = (
        f"import sys; sys.path.insert(0, {str(BRIDGE.parent)!r}); import dask_bridge; "
        f"dask_bridge.keep({str(tmp_path)!r}, {name!r}, b'x')"
    )
    result = subprocess.run([DASK, "-c", code], capture_output=True, text=True)
    assert result.returncode == 1 and "which is none of tensors/" in result.stderr
    assert not list(tmp_path.iterdir())
