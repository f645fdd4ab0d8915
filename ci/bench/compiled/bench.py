#!/usr/bin/env python3
"""How much does isolation cost? Times the same small programs in three ways: (1) through Lockstep,
one execution at a time; (2) in a plain Python loop of torch.compile in one
process; (3) with one Python process for each.

    ci/bench/compiled/bench.py [--count 24] [--rounds 3] [--separate 4] [--cold] [--once]
        [--path inductor]

Needs LOCKSTEP_BINARY_DIR (with bin/lockstep) and LOCKSTEP_PYTHON. Lockstep does more for each
program: C++ eager twice, Python eager twice, the compiled callable twice, proof, judging. Rounds
are interleaved and medians reported; cores are not shared out: everything runs with one thread and
one execution at a time, so wall seconds are core seconds. Cold: no compiled program is cached, but
Inductor's precompiled header is."""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "ci" / "bench"))
from compilations import forget  # noqa: E402
from ratios import tell  # noqa: E402

PLAIN = """
import os, sys
for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
import time
import torch
import torch._dynamo, torch._inductor.config
torch.set_num_threads(1)
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import programs
def one(f):
    torch._dynamo.reset()
    x = torch.arange(240.0).reshape(12, 20) / 7
    eager = f(x.clone())
    compiled = torch.compile(f, backend=sys.argv[1], dynamic=False, fullgraph=True)
    for a, b in zip(eager, compiled(x.clone())):
        torch.allclose(a, b, equal_nan=True)
one(lambda x: (x + 1,))  # lazy imports
start = time.perf_counter()
for i in map(int, sys.argv[2:]):
    one(programs.PROGRAMS[i])
print(time.perf_counter() - start)
"""


def programs(count):
    """Steps of a case and the same as Python: chains of everyday operators, no two alike."""
    unary = ["relu", "sigmoid", "tanh", "neg", "exp", "abs", "sin", "cos"]
    for i in range(count):
        first, second = unary[i % 8], unary[(i // 8 + 1 + i) % 8]
        number = i / 4 + 0.5
        yield (
            [
                {"let": "a", "op": first, "args": ["%x"]},
                {"let": "b", "op": "mul.Tensor", "args": ["%a", number]},
                {"let": "c", "op": second, "args": ["%b"]},
                {"let": "d", "op": "add.Tensor", "args": ["%c", "%x"]},
                {"let": "s", "op": "sum.dim_IntList", "args": ["%d", [1]]},
            ],
            f"def program_{i}(x):\n    a = torch.{first}(x)\n    b = a * {number}\n"
            f"    c = torch.{second}(b)\n    d = c + x\n    s = d.sum([1])\n    return d, s\n",
        )


def make(folder, count):
    suite = folder / "suite"
    (suite / "runner").mkdir(parents=True)
    (suite / "expected").mkdir()
    for name in ("paths", "workers"):
        (suite / "runner" / name).symlink_to(ROOT / "runner" / name)
    (suite / "cases" / "ops").mkdir(parents=True)
    texts = ["import torch\n"]
    for i, (steps, text) in enumerate(programs(count)):
        case = {
            "format": 1,
            "title": f"program {i}",
            "tags": ["bench"],
            "inputs": {
                "x": {
                    "dtype": "float32",
                    "shape": [12, 20],
                    "fill": {"arange": {"start": 0, "step": 1, "divide": 7}},
                }
            },
            "steps": steps,
            "outputs": ["d", "s"],
        }
        (suite / "cases" / "ops" / f"program-{i}.json").write_text(json.dumps(case))
        texts.append(text)
    texts.append("PROGRAMS = [" + ", ".join(f"program_{i}" for i in range(count)) + "]\n")
    (folder / "programs.py").write_text("\n\n".join(texts))
    (folder / "plain.py").write_text(PLAIN)
    return suite


class Memory(threading.Thread):
    """Watches the processes below one: peak PSS, MiB, of Python workers and of their children."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.parent, self.child, self.running = pid, 0.0, 0.0, True

    def run(self):
        while self.running:
            parents = {}
            for entry in pathlib.Path("/proc").glob("[0-9]*"):
                try:
                    parents[int(entry.name)] = int(
                        (entry / "stat").read_text().rpartition(")")[2].split()[1]
                    )
                except OSError:
                    pass
            for pid, parent in parents.items():
                try:
                    if b"lockstep_worker" not in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
                        continue
                    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
                except OSError:
                    continue
                value = {
                    line.split(":")[0]: int(line.split()[1]) / 1024
                    for line in text.splitlines()[1:]
                }
                if parent == self.pid:
                    self.parent = max(self.parent, value["Rss"])
                elif parents.get(parent) == self.pid:
                    self.child = max(self.child, value["Private_Dirty"] + value["Private_Clean"])
            time.sleep(0.1)


def lockstep(path, suite, folder, cache, memory=None):
    """Seconds of a whole run, and from the first verdict's execution on (without start and
    warm-up)."""
    binary = pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "lockstep"
    out = folder / "run"
    shutil.rmtree(out, ignore_errors=True)
    start = time.perf_counter()
    process = subprocess.Popen(
        [binary, "run", "--suite", suite, *f"--level all --path {path} -j 1 --out".split(), out],
        env={**os.environ, "LOCKSTEP_CACHE": str(cache)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    if memory is not None:
        memory.append(Memory(process.pid))
        memory[-1].start()
    _, said = process.communicate()
    seconds = time.perf_counter() - start
    if memory:
        memory[-1].running = False
    if process.returncode not in (0, 1):
        sys.exit(said.decode())
    verdicts = json.loads((out / "run.json").read_text())["verdicts"]
    return seconds, sum(verdict["seconds"] for verdict in verdicts)


def plain(path, folder, cache, indices):
    """Seconds of a process, and of its loop alone."""
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(cache)}
    start = time.perf_counter()
    done = subprocess.run(
        [
            *(os.environ["LOCKSTEP_PYTHON"], "-W", "ignore", folder / "plain.py", path),
            *map(str, indices),
        ],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return time.perf_counter() - start, float(done.stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--separate", type=int, default=4, help="programs of (3); its cost is per process"
    )
    parser.add_argument(
        "--cold", action="store_true", help="also without cached programs (minutes)"
    )
    parser.add_argument("--path", default="inductor", help="which torch has as a backend, too")
    parser.add_argument("--once", action="store_true", help="with no round before, which warms up")
    parser.add_argument(
        "--cache",
        type=pathlib.Path,
        help="keeps the caches, with their precompiled headers, between benchmarks",
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        cache = options.cache or folder / "cache"
        suite = make(folder, options.count)
        everything = range(options.count)
        print(
            f"{options.count} programs, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores",
            flush=True,
        )
        memory: list = []
        for kind in ("cold", "warm") if options.cold else ("warm",):
            # Not measured: the precompiled headers; and for `warm` all programs, since a cold round
            # leaves a few behind.
            if not options.once:
                lockstep(options.path, suite, folder, cache / "lockstep")
                plain(options.path, folder, cache / "plain", everything)
            rows = []
            for _ in range(options.rounds):
                if kind == "cold":
                    forget(cache / "lockstep")
                    shutil.rmtree(cache / "plain", ignore_errors=True)
                (whole, executions), (loop_whole, loop) = (
                    lockstep(options.path, suite, folder, cache / "lockstep", memory),
                    plain(options.path, folder, cache / "plain", everything),
                )
                if kind == "cold":
                    shutil.rmtree(cache / "plain")
                separate = [
                    plain(options.path, folder, cache / "plain", [i])[0]
                    for i in range(options.separate)
                ]
                rows.append(
                    [
                        whole / options.count,
                        executions / options.count,
                        loop_whole / options.count,
                        loop / options.count,
                        statistics.mean(separate),
                    ]
                )
                print("  " + kind + "".join(f"{value:9.3f}" for value in rows[-1]), flush=True)
            whole, executions, loop_whole, loop, separate = (
                statistics.median(column) for column in zip(*rows)
            )
            print(
                f"{kind}, seconds a program: Lockstep {whole:.3f} (its compiled executions "
                f"{executions:.3f}), loop {loop_whole:.3f} (without start {loop:.3f}), a process "
                f"each {separate:.3f}"
            )
            print(
                f"{kind}: Lockstep / loop {whole / loop_whole:.2f} (executions / loop without "
                f"start {executions / loop:.2f}), a process each / Lockstep "
                f"{separate / whole:.1f}",
                flush=True,
            )
            tell(f"compiled, {kind}, Lockstep in loops", whole / loop_whole, "less")
            tell(f"compiled, {kind}, a process each in Lockstep", separate / whole, "more")
        print(
            f"memory, MiB: the warmed parent {max(m.parent for m in memory):.0f} resident, "
            f"a child at most {max(m.child for m in memory):.0f} of its own"
        )


if __name__ == "__main__":
    main()
