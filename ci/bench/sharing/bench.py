#!/usr/bin/env python3
"""What does sharing compilations save? Runs the same sweep once with it and once with `--alone`,
each with a compilation cache that is new but for the precompiled headers, and compares seconds and
verdicts.

    ci/bench/sharing/bench.py [--select SELECT …] [--path PATH] [-j N] [--rounds 1] [--once]

Needs LOCKSTEP_BINARY_DIR (with bin/lockstep) and LOCKSTEP_PYTHON. Every verdict of the shared run
must be that of the run alone: status, grade and, where it differs, the reason; else it ends with 1.
What conforms in a graph of many is not run again, so a run with many divergences is nearer to one
by one; the ratio of the instances that conform is told apart."""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "ci" / "bench"))
from compilations import forget  # noqa: E402
from ratios import tell  # noqa: E402


def run(given, cache, out, *more):
    """Seconds of a run, and its verdicts by id."""
    shutil.rmtree(out, ignore_errors=True)
    command = [
        pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "lockstep",
        "run",
        *given.select,
        "--path",
        given.path,
        "-j",
        str(given.jobs),
        "--out",
        out,
        "--no-expectations",
        *more,
    ]
    start = time.perf_counter()
    done = subprocess.run(
        command,
        env={**os.environ, "LOCKSTEP_HOME": str(ROOT), "LOCKSTEP_CACHE": str(cache)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    seconds = time.perf_counter() - start
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    return seconds, {
        verdict["id"]: verdict for verdict in json.loads((out / "run.json").read_text())["verdicts"]
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--select", nargs="+", default=["sweeps/unary-16"])
    parser.add_argument("--path", default="inductor")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--once", action="store_true", help="with no run before, which warms up")
    given = parser.parse_args()
    said = ("status", "grade", "reason")
    wrong = False
    with tempfile.TemporaryDirectory() as directory:
        folder = pathlib.Path(directory)
        cache = folder / "cache"
        if not given.once:
            first = {**vars(given), "select": ["bugs/185337-half-round-trip"]}
            run(argparse.Namespace(**first), cache, folder / "first")
        for number in range(given.rounds):
            forget(cache)
            together, shared = run(given, cache, folder / "shared")
            forget(cache)
            apart, alone = run(given, cache, folder / "alone", "--alone")
            judged = [v for v in shared.values() if v["status"] != "unsupported"]
            screened = [v for v in judged if v.get("shared")]
            print(
                f"round {number + 1}: {len(judged)} instances judged, {len(screened)} of them in a "
                "graph with others"
            )
            print(
                f"  shared {together:.1f} s, one by one {apart:.1f} s: {apart / together:.1f} "
                "times faster"
            )
            tell("sharing, one by one in shared runs", apart / together, "more")
            sums = [
                sum(verdict.get("seconds", 0) for verdict in verdicts.values())
                for verdicts in (shared, alone)
            ]
            print(
                f"  executions alone {sums[0]:.1f} s against {sums[1]:.1f} s: "
                f"{sums[1] / sums[0]:.1f} times faster"
            )
            conform = {v["id"] for v in screened}
            cost = (
                sum(shared[i]["seconds"] for i in conform),
                sum(alone[i]["seconds"] for i in conform),
            )
            if conform:
                print(
                    f"  of those that conform: {cost[0] / len(conform):.2f} s each against "
                    f"{cost[1] / len(conform):.2f} s, {cost[1] / cost[0]:.1f} times faster"
                )
            for name in sorted(set(shared) | set(alone)):
                here, there = ([v.get(name, {}).get(key) for key in said] for v in (shared, alone))
                if here != there:
                    wrong = True
                    print(f"  {name}: shared {here}, alone {there}")
    return 1 if wrong else 0


sys.exit(main())
