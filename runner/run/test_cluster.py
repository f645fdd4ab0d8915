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
        self.suite.path(
            "conform", default=True, worker=[self.torch("compiled", FAKE, "as=conform")]
        )
        # It takes its time, in which others run.
        self.nobody = self.suite.start("run", "--on", "dask://127.0.0.1:1", "--out", "nobody")
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

    def torch(self, name, *command):
        """A script that is a worker of the torch that a variable names."""
        script = self.root / name
        words = " ".join(map(str, command))
        script.write_text(
            f'#!/bin/sh\n{sys.executable} {words} "$@" | '
            'sed -u "s/\\"torch\\": *\\"2.13.0\\"/\\"torch\\": \\"${TORCH_OF_%s:-2.13.0}\\"/"\n'
            % name
        )
        script.chmod(0o755)
        return str(script)

    def run(self, *options):
        return self.call("run", *SELECT, *options)

    def judged(self, name):
        return ids(self.root / name) if (self.root / name / "run.jsonl").exists() else []

    def members(self):
        """The processes of Lockstep that execute parts of its runs, by the command line and the
        environment: other tests have some, too."""
        found, home = [], f"LOCKSTEP_HOME={self.root}".encode()
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes().split(b"\0")
                if words[:2] == [str(BINARY).encode(), b"serve"]:
                    if home in (entry / "environ").read_bytes().split(b"\0"):
                        found.append(int(entry.name))
        return found

    def check_same(self, name, machines=None):
        """It is the run of here, with each verdict once, of so many machines."""
        assert same(self.root / name) == self.whole
        assert len(self.judged(name)) == len(set(self.judged(name)))
        record = json.loads((self.root / name / "run.json").read_text())
        assert machines in (None, len(record["environment"]["cluster"])), record["environment"]


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    return Scene(tmp_path_factory.mktemp("cluster"))


NUMBERS = itertools.count(1)


class Cluster:
    """A scheduler and dask workers of the test's own. `worker` starts one; in a network namespace
    of its own where that can be."""

    def __init__(self, scene, folder):
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
            DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL="4s",
            DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0",
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
            DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP="11s",
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


def test_a_cluster_of_this_machine_gives_the_same_run(scene, tmp_path, monkeypatch):
    # Nobody executes all of it while the other one still starts.
    monkeypatch.setenv("FAKE_SLOW_UNTIL", str(tmp_path / "both"))
    on = ("--on", "dask", "-j", "2", "--durations", "whole")
    run = scene.suite.start("run", *SELECT, *on, "--out", "here")
    wait_for(lambda: len(list(tmp_path.glob("both.*"))) == 2, 90)
    (tmp_path / "both").touch()
    output, errors = run.communicate(timeout=180)
    assert run.returncode == 1, output + errors
    scene.check_same("here", machines=2)
    assert not scene.members()


#: It lets the path `slow` go on once three dask workers have something to do.
ADAPTIVE = """
import asyncio, os, pathlib
from distributed import LocalCluster
async def main():
    how = {"threads_per_worker": 1, "memory_limit": 0, "dashboard_address": None}
    async with LocalCluster(n_workers=0, asynchronous=True, **how) as cluster:
        cluster.adapt(minimum=0, maximum=3, interval="200ms")
        print(cluster.scheduler_address, flush=True)
        while sum(bool(each.processing) for each in cluster.scheduler.workers.values()) < 3:
            await asyncio.sleep(0.1)
        pathlib.Path(os.environ["FAKE_SLOW_UNTIL"]).touch()
        await asyncio.sleep(300)
if __name__ == "__main__":
    asyncio.run(main())
"""


def test_an_adaptive_cluster_grows(scene, tmp_path):
    """From no dask worker at all: tasks wait."""
    (tmp_path / "adaptive.py").write_text(ADAPTIVE)
    environment = scene.suite.environment(
        DASK_TEMPORARY_DIRECTORY=str(tmp_path), FAKE_SLOW_UNTIL=str(tmp_path / "three")
    )
    with subprocess.Popen(
        [DASK, tmp_path / "adaptive.py"], env=environment, stdout=subprocess.PIPE, text=True
    ) as adaptive:
        assert adaptive.stdout
        address = adaptive.stdout.readline().strip().replace("tcp://", "dask://")
        result = scene.run("--on", address, "--out", "grown")
        adaptive.terminate()
    assert result.returncode == 1, result.stdout + result.stderr
    scene.check_same("grown", machines=3)


def test_one_is_killed_and_one_cut_off_and_nothing_is_lost(scene, cluster):
    """Dask would give up at the first loss what only waited on a machine; the run does not."""
    link = cluster.worker("cut-off")
    cluster.worker("killed")
    cluster.worker("stays")
    run = scene.suite.start("run", *SELECT, "--on", f"dask:{cluster.file}", "--out", "hurt")
    records = lambda: (
        log_of(scene.root / "hurt") if (scene.root / "hurt/run.jsonl").exists() else []
    )
    joined = lambda: [each["values"] for each in records() if each.get("name") == "cluster"]
    wait_for(lambda: joined() and len(joined()[-1]) == 3, 90)
    assert run.poll() is None and scene.members(), "it was too fast for this test"
    cluster.processes["killed"].kill()
    cluster.cut_off("cut-off", link)
    output, errors = run.communicate(timeout=180)
    assert run.returncode == 1, output + errors
    scene.check_same("hurt", machines=3)
    assert errors.count("(it left the cluster) is lost") == 2, errors
    wait_for(lambda: not scene.members() or not link, 60)  # nor where nobody can tell it


def test_machines_that_are_not_alike_are_named(scene, cluster):
    eager = scene.torch("eager_of_other", FAKE)
    cluster.worker("other", LOCKSTEP_EAGER=eager, TORCH_OF_eager_of_other="2.99.0")
    cluster.worker("empty", LOCKSTEP_HOME=str(cluster.folder))
    run = scene.suite.start("run", *SELECT, "--on", f"dask:{cluster.file}", "--out", "unlike")
    said = scene.root / "unlike" / "worker-cluster.log"
    wait_for(said.exists, 60)
    time.sleep(3)  # what no machine could take goes to one that comes
    cluster.worker("good")
    cluster.worker("odd", TORCH_OF_compiled="2.99.0")  # or the good one, if it is the second
    output, errors = run.communicate(timeout=180)
    assert run.returncode == 1, output + errors
    assert 'is left out: its conform worker has torch "2.' in errors, errors
    assert 'is left out: it has torch "2.99.0", the machine of the run "2.13.0"' in errors
    assert "is left out: Lockstep cannot be started there" in errors, errors
    assert verdicts(scene.root / "unlike").keys() == verdicts(scene.root / "whole").keys()


def test_a_lost_scheduler_ends_the_run_which_can_be_gone_on_with(scene, cluster, monkeypatch):
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "3s")
    cluster.worker("only")
    run = scene.suite.start("run", *SELECT, "--on", f"dask:{cluster.file}", "--out", "alone")
    wait_for(lambda: len(scene.judged("alone")) > 3, 90)
    cluster.processes["scheduler"].kill()
    output, errors = run.communicate(timeout=90)
    assert run.returncode == 3 and "--resume" in errors, output + errors
    assert "the cluster cannot be used: its scheduler is lost" in errors
    resumed = scene.call("run", "--resume", "alone", "--on", "local")
    assert resumed.returncode == 1, resumed.stderr
    scene.check_same("alone", machines=1)


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
    words = "run bugs/3-many path:murder path:conform --alone --on dask -j 2 --out murder"
    try:
        result = scene.call(*words.split())
    finally:
        (scene.root / "runner/paths/murder.json").unlink()
    assert result.returncode == 1, result.stdout + result.stderr
    found = verdicts(scene.root / "murder")
    assert len(found) == 2 * ROWS == len(scene.judged("murder"))
    lost = [name for name, verdict in found.items() if verdict["status"] == "worker_lost"]
    # With it at most the other verdict of its instance.
    assert "bugs/3-many[rows=7]@cpu/murder" in lost and len(lost) <= 2, lost
    reason = found[lost[-1]]["reason"]
    assert reason.startswith("lost twice with the machine that executed it: tcp://")
    assert reason.count("its Lockstep ended with -9") == 2, reason
    assert {verdict["status"] for name, verdict in found.items() if name not in lost} == {"conform"}


def test_ctrl_c_and_resume(scene):
    run = scene.suite.start("run", *SELECT, "--on", "dask", "-j", "2", "--out", "interrupted")
    wait_for(lambda: len(scene.judged("interrupted")) > 3, 90)
    run.send_signal(signal.SIGINT)
    output, errors = run.communicate(timeout=60)
    assert run.returncode == 130 and "--resume" in errors, output + errors
    assert log_of(scene.root / "interrupted")[-1]["interrupted"]
    wait_for(lambda: not scene.members(), 10)
    assert len(scene.judged("interrupted")) < len(scene.whole[0]["verdicts"])
    resumed = scene.call("run", "--resume", "interrupted")
    assert resumed.returncode == 1, resumed.stderr
    assert "connecting with the cluster" in resumed.stderr
    scene.check_same("interrupted")


def test_nothing_remains_of_a_run_that_is_killed(scene, cluster):
    cluster.worker("only")
    run = scene.suite.start("run", *SELECT, "--on", f"dask:{cluster.file}", "--out", "killed")
    wait_for(scene.members, 90)
    run.kill()
    run.communicate()
    wait_for(lambda: not scene.members(), 20)


def test_it_stops_after_so_many_failures_of_what_failed_here(scene):
    terms = ["status:failing", "--from", "whole", "--max-fail", "2"]
    result = scene.call("run", *terms, "--on", "dask", "-j", "2", "--out", "stopped")
    assert result.returncode == 1, result.stdout + result.stderr
    assert "stopped after" in result.stdout
    found = verdicts(scene.root / "stopped").values()
    assert [verdict["status"] for verdict in found] == ["value_diverges"] * 2


def test_what_is_no_cluster_is_refused(scene):
    wrong = (
        "slurm",
        "dask://",
        "dask://host",
        "dask://host:",
        "dask://:1",
        "dask://a:12a",
        "dask:",
    )
    for on in wrong:
        result = scene.run("--on", on, "--out", "none")
        assert result.returncode == 2, result.stderr
        assert f"found --on {on}, expected dask, dask://HOST:PORT" in result.stderr
    output, errors = scene.nobody.communicate(timeout=60)
    assert scene.nobody.returncode == 3, output + errors
    assert "the cluster cannot be used: no scheduler answers" in errors


def test_serve_says_what_it_lacks(scene):
    wrong = '{"arguments": ["list"], "directory": "/", "out": "x"}\n'
    for said in ("", "rm -rf /\n", "{}\n", wrong):
        result = subprocess.run(
            [BINARY, "serve"],
            input=said,
            env=scene.suite.environment(),
            cwd=scene.root,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert result.returncode == 2 and not result.stdout, result.stderr
        assert "standard input" in result.stderr


def test_members_name_no_file_outside_of_the_tensors(tmp_path):
    code = f"import sys; sys.path.insert(0, {str(BRIDGE.parent)!r}); import dask_bridge"
    for name in ("/etc/passwd", "../x", "tensors/../../x", "run.jsonl", "tensors", ""):
        code += f"""
try:
    dask_bridge.keep({str(tmp_path)!r}, {name!r}, b'x')
    print("kept", {name!r})
except ValueError as error:
    assert "which is none of tensors/" in str(error)"""
    result = subprocess.run([DASK, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0 and not result.stdout, result.stdout + result.stderr
    assert not list(tmp_path.iterdir())
