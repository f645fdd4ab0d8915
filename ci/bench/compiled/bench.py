#!/usr/bin/env python3
"""How much does isolation cost? Times the same small programs in three ways: (1) through Lockstep,
one execution at a time; (2) in a plain Python loop of torch.compile in one
process; (3) with one Python process for each.

    ci/bench/compiled/bench.py [--count 24] [--rounds 3] [--separate 4] [--cold] [--new] [--once]
        [--path inductor]

With `--path aoti` the loop makes a package of AOTInductor's for each program, and loads it.

Needs LOCKSTEP_BINARY_DIR (with bin/lockstep) and LOCKSTEP_PYTHON. Lockstep does more for each
program: C++ eager twice, Python eager twice, the compiled callable twice, proof, judging. Rounds
are interleaved and medians reported; cores are not shared out: everything runs with one thread and
one execution at a time, so wall seconds are core seconds. Cold: no compiled program is cached, but
Inductor's precompiled header is. New: nothing is, and there is one program; compilers may use
every core."""

import argparse
import contextlib
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
def compiled_by(backend, f, x):
    if backend != "aoti":
        return torch.compile(f, backend=backend, dynamic=False, fullgraph=True)
    class Program(torch.nn.Module):
        def forward(self, x):
            return f(x)
    file = os.path.join(os.environ["TORCHINDUCTOR_CACHE_DIR"], "program.pt2")
    exported = torch.export.export(Program(), (x,))
    torch._inductor.aoti_compile_and_package(exported, package_path=file)
    return torch._inductor.aoti_load_package(file)
def one(f):
    torch._dynamo.reset()
    x = torch.arange(240.0).reshape(12, 20) / 7
    eager = f(x.clone())
    compiled = compiled_by(sys.argv[1], f, x.clone())
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
                with contextlib.suppress(OSError):
                    after_name = (entry / "stat").read_text().rpartition(")")[2]
                    parents[int(entry.name)] = int(after_name.split()[1])
            workers = {pid for pid in parents if self.is_worker(pid, parents)}
            for pid in workers:
                with contextlib.suppress(OSError):
                    lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
                    value = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in lines}
                    if parents[pid] in workers:
                        own = value["Private_Dirty"] + value["Private_Clean"]
                        self.child = max(self.child, own)
                    else:
                        self.parent = max(self.parent, value["Rss"])
            time.sleep(0.1)

    def is_worker(self, pid, parents):
        above = pid
        while above and above != self.pid:
            above = parents.get(above)
        with contextlib.suppress(OSError):
            said = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
            return bool(above) and b"lockstep_worker" in said
        return False


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


def plain(path, folder, cache, indices, **variables):
    """Seconds of a process, and of its loop alone."""
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(cache), **variables}
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


def in_new_caches(path, folder, rounds):
    """Seconds of one program where neither has a header: through Lockstep, and in a process."""
    one = folder / "one"
    suite = make(one, 1)
    rows = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as new:
            # Inductor keeps its headers where temporary files are.
            rows.append(
                (
                    lockstep(path, suite, one, f"{new}/lockstep")[0],
                    plain(path, one, f"{new}/plain", [0], TMPDIR=new)[0],
                )
            )
        print("  new" + "".join(f"{value:9.3f}" for value in rows[-1]), flush=True)
    return [statistics.median(column) for column in zip(*rows)]


def in_caches(kind, options, suite, folder, memory):
    """Seconds a program: of Lockstep whole and its executions, of the loop whole and without its
    start, of a process each."""
    path, cache, everything = options.path, options.cache, range(options.count)
    # Not measured: the precompiled headers; and for `warm` all programs, since a cold round
    # leaves a few behind.
    if not options.once:
        lockstep(path, suite, folder, cache / "lockstep")
        plain(path, folder, cache / "plain", everything)
    rows = []
    for _ in range(options.rounds):
        if kind == "cold":
            forget(cache / "lockstep")
            shutil.rmtree(cache / "plain", ignore_errors=True)
        (whole, executions), (loop_whole, loop) = (
            lockstep(path, suite, folder, cache / "lockstep", memory),
            plain(path, folder, cache / "plain", everything),
        )
        if kind == "cold":
            shutil.rmtree(cache / "plain")
        separate = [plain(path, folder, cache / "plain", [i])[0] for i in range(options.separate)]
        counted = [each / options.count for each in (whole, executions, loop_whole, loop)]
        rows.append([*counted, statistics.mean(separate)])
        print("  " + kind + "".join(f"{value:9.3f}" for value in rows[-1]), flush=True)
    return [statistics.median(column) for column in zip(*rows)]


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--separate", type=int, default=4, help="programs of (3); its cost is per process"
    )
    parser.add_argument(
        "--cold", action="store_true", help="also without cached programs (minutes)"
    )
    parser.add_argument("--new", action="store_true", help="also in new caches (minutes)")
    parser.add_argument(
        "--path", default="inductor", help="which torch has as a backend, too; or aoti"
    )
    parser.add_argument("--once", action="store_true", help="with no round before, which warms up")
    parser.add_argument(
        "--cache",
        type=pathlib.Path,
        help="keeps the caches, with their precompiled headers, between benchmarks",
    )
    return parser.parse_args()


def main():
    options = arguments()
    named = "compiled, " if options.path == "inductor" else f"compiled, {options.path}, "
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        options.cache = options.cache or folder / "cache"
        suite = make(folder, options.count)
        print(
            f"{options.count} programs, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores",
            flush=True,
        )
        if options.new:
            whole, process = in_new_caches(options.path, folder, options.rounds)
            print(f"new, seconds: Lockstep {whole:.1f}, a process {process:.1f}")
            tell(f"{named}new, Lockstep in processes", whole / process, "less")
        memory: list = []
        for kind in ("cold", "warm") if options.cold else ("warm",):
            whole, executions, loop_whole, loop, separate = in_caches(
                kind, options, suite, folder, memory
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
            tell(f"{named}{kind}, Lockstep in loops", whole / loop_whole, "less")
            tell(f"{named}{kind}, a process each in Lockstep", separate / whole, "more")
        print(
            f"memory, MiB: the warmed parent {max(m.parent for m in memory):.0f} resident, "
            f"a child at most {max(m.child for m in memory):.0f} of its own"
        )


if __name__ == "__main__":
    main()
