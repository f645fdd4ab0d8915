#!/usr/bin/env python3
"""What does a cluster cost, and how well does it share out?

    ci/bench/cluster/bench.py [--select SELECT …] [--path PATH] [-j 4] [--rounds 1] [--cold]
        [--once]
    ci/bench/cluster/bench.py --simulate LOG [--machines 64] [--noise 0.3] [--faster 5]

The first form runs the same here with `-j N` and on N dask workers of this machine, in turn, and
compares seconds: all of them, those from the first verdict to the last, and those of the processor,
which tell more where others use the machine. Each member starts workers of its own, which costs the
same in every run, however long: the last line is without that, what the run costs more than one of
a part of it (`--part`). With `--cold` every run compiles all anew, as a nightly run of a new torch
does; else all that can be compiled once is. It ends with 1 where a verdict differs.

The second form has Dask give the real chunks to 64 dask workers that only sleep: for a verdict as
long as LOG says, more or less by up to `noise`, and all of it so many times `faster`. It compares
with the ideal makespan, the greater one of the sum over all machines and the longest verdict: where
the run knows LOG, and where it knows nothing. The run is that of LOG: level, paths, terms.

Needs LOCKSTEP_BINARY_DIR (with bin/lockstep), LOCKSTEP_PYTHON and LOCKSTEP_DASK."""

import argparse
import asyncio
import json
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ratios import tell

ROOT = pathlib.Path(__file__).resolve().parents[3]
BINARY = pathlib.Path(os.environ.get("LOCKSTEP_BINARY_DIR", "")) / "bin" / "lockstep"


def home_of(folder, bridge):
    """A checkout like this one, but for the bridge, and with the binary that is measured."""
    home = folder / "home"
    (home / "ci").mkdir(parents=True)
    for name in ("cases", "expected", "runner", "reports"):
        (home / name).symlink_to(ROOT / name)
    for name, command in (("lockstep", f"exec {BINARY}"), ("dask", bridge)):
        (home / "ci" / name).write_text(f'#!/bin/sh\n{command} "$@"\n')
        (home / "ci" / name).chmod(0o755)
    return home


def execute(home, out, *words, cold=False):
    """Runs to the end; the seconds of all, from the first verdict to the end, and of the
    processor."""

    def spent():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    before = spent()
    cache = (
        out.with_suffix(".cache")
        if cold
        else os.environ.get("LOCKSTEP_CACHE") or ROOT / ".lockstep"
    )
    environment = {**os.environ, "LOCKSTEP_HOME": str(home), "LOCKSTEP_CACHE": str(cache)}
    begin, first = time.perf_counter(), None
    with open(out.with_suffix(".said"), "w+") as said:
        run = subprocess.Popen(
            [BINARY, "run", *words, "--out", out],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=said,
        )
        while run.poll() is None:
            log = out / "run.jsonl"
            if first is None and log.exists() and b'{"type":"verdict"' in log.read_bytes():
                first = time.perf_counter()
            time.sleep(0.05)
        end = time.perf_counter()
        if run.returncode not in (0, 1):
            said.seek(0)
            sys.exit(said.read())
    return end - begin, end - (first or begin), spent() - before


def verdicts(log):
    return [
        record
        for line in open(log, encoding="utf-8")
        if '"type":"verdict"' in line[:40]
        for record in [json.loads(line)]
    ]


def measure(given, folder):
    home = home_of(folder, f"exec {os.environ['LOCKSTEP_DASK']} {ROOT}/runner/run/dask_bridge.py")
    words = [*given.select, "--path", given.path, "-j", str(given.jobs)]
    on = ["--on", "dask"]
    if not given.once:
        execute(home, folder / "first", *words)  # whatever is compiled only once
        on += ["--durations", str(folder / "first")]
    wrong = False
    for number in range(given.rounds):
        part = [given.part, *words[len(given.select) :]]
        start = [
            0.0
            if given.once
            else execute(home, folder / f"part-{name}-{number}", *part, *more, cold=given.cold)[2]
            for name, more in (("here", []), ("there", on))
        ]
        here = execute(home, folder / f"here-{number}", *words, cold=given.cold)
        there = execute(home, folder / f"there-{number}", *words, *on, cold=given.cold)
        said = [
            {
                v["id"]: (v["status"], v.get("grade"), v["standing"])
                for v in verdicts(folder / f"{name}-{number}" / "run.jsonl")
            }
            for name in ("here", "there")
        ]
        differing = [
            name
            for name in said[0].keys() | said[1].keys()
            if said[0].get(name) != said[1].get(name)
        ]
        wrong = wrong or bool(differing)
        print(
            f"round {number + 1}: {len(said[0])} verdicts, {len(differing)} of which differ "
            f"{sorted(differing)[:3] or ''}"
        )
        rows: list[tuple] = [
            *zip(("in all", "from the first verdict on", "of the processor"), here, there)
        ]
        if not given.once:
            rows += [
                ("of the processor, of the part", *start),
                ("of the processor, of the rest", here[2] - start[0], there[2] - start[1]),
            ]
        for what, one, other in rows:
            print(
                f"  {what}: here {one:.1f} s, on {given.jobs} dask workers {other:.1f} s: "
                f"{100 * (other / one - 1):+.1f} %",
                flush=True,
            )
        tell("cluster, seconds of the processor against here", there[2] / here[2], "less")
    return 1 if wrong else 0


async def pretend(given):
    """The bridge of the simulation."""
    from distributed import Client, LocalCluster

    known = {verdict["index"]: verdict.get("seconds", 0) for verdict in verdicts(given.pretend)}
    dice = random.Random(1)
    took = {
        place: seconds * dice.uniform(1 - given.noise, 1 + given.noise)
        for place, seconds in sorted(known.items())
    }
    left = json.loads(sys.stdin.readline())["run"]["alike"]["run"]["planned"]
    sums, keys = list[float](), list[str]()
    while left > 0:
        order = json.loads(sys.stdin.readline())
        left -= len(order["places"])
        sums.append(sum(took.get(place, 0) for place in order["places"]))
        keys.append(f"lockstep{int(order['seconds']).bit_length()}-{len(keys)}")
    how = {
        "processes": False,
        "threads_per_worker": 1,
        "dashboard_address": None,
        "memory_limit": 0,
    }
    async with (
        LocalCluster(n_workers=given.machines, asynchronous=True, **how) as cluster,
        Client(cluster, asynchronous=True) as client,
    ):
        # Resources as those of the real bridge: with them Dask places at once, and steals later.
        await client.run(take_resource)
        begin = time.perf_counter()
        futures = [
            client.submit(
                asyncio.sleep,
                seconds / given.faster,
                key=keys[number],
                priority=-number,
                resources={"lockstep": 1 / 4096},
            )
            for number, seconds in enumerate(sums)
        ]
        await client.gather(futures)
        makespan = (time.perf_counter() - begin) * given.faster
    found = {"makespan": makespan, "sum": sum(sums), "longest": max(took.values())}
    pathlib.Path(given.result).write_text(json.dumps({**found, "chunks": len(sums)}))
    print(json.dumps({"failed": "nothing was executed", "hint": ""}), flush=True)
    sys.stdin.read()


async def take_resource(dask_worker=None):
    await dask_worker.set_resources(lockstep=1)


def simulate(given, folder):
    log = given.simulate if given.simulate.is_file() else given.simulate / "run.jsonl"
    with open(log, encoding="utf-8") as file:
        arguments = json.loads(file.readline())["arguments"]
    at = arguments.index("--out") if "--out" in arguments else len(arguments)
    words = arguments[1:at] + arguments[at + 2 :]
    result = folder / "result"
    home = home_of(
        folder,
        f"exec {os.environ['LOCKSTEP_DASK']} {pathlib.Path(__file__).resolve()} --pretend "
        f"{log.resolve()} --result {result} --machines {given.machines} --noise {given.noise} "
        f"--faster {given.faster} --",
    )
    far = False
    for name, more in (
        ("its durations are known", ("--durations", str(log))),
        ("nothing is known", ()),
    ):
        subprocess.run(
            [
                BINARY,
                "run",
                *words,
                "--out",
                folder / name.replace(" ", "-"),
                "--on",
                "dask",
                *more,
            ],
            env={**os.environ, "LOCKSTEP_HOME": str(home)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        found = json.loads(result.read_text())
        ideal = max(found["sum"] / given.machines, found["longest"])
        print(
            f"{given.machines} machines, {found['chunks']} chunks, where {name}: "
            f"{found['makespan']:.1f} s, ideal {ideal:.1f} s (all {found['sum']:.0f} s, the "
            f"longest {found['longest']:.1f} s): "
            f"{100 * (found['makespan'] / ideal - 1):+.1f} %"
        )
        tell(f"cluster, makespan in ideals, {name}", found["makespan"] / ideal, "less")
        far = far or (bool(more) and found["makespan"] > 1.1 * ideal)
    return 1 if far else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--select", nargs="+", default=["bugs/*"])
    parser.add_argument("--part", default="bugs/18*")
    parser.add_argument("--path", default="inductor")
    parser.add_argument("-j", "--jobs", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--once", action="store_true", help="without what is taken off, and first")
    parser.add_argument("--simulate", type=pathlib.Path, metavar="LOG")
    parser.add_argument("--machines", type=int, default=64)
    parser.add_argument("--noise", type=float, default=0.3)
    parser.add_argument("--faster", type=float, default=5)
    parser.add_argument("--pretend", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--result", help=argparse.SUPPRESS)
    parser.add_argument("bridge", nargs="*", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.pretend:
        return asyncio.run(pretend(given))
    with tempfile.TemporaryDirectory() as folder:
        return (simulate if given.simulate else measure)(given, pathlib.Path(folder))


sys.exit(main())
