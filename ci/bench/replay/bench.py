#!/usr/bin/env python3
"""How many packages of AOTInductor does `replay` execute and judge in a second on one core, in
batches and one in each child?

    ci/bench/replay/bench.py [--instances 400] [--rounds 3] [--cache DIR] [--once]

Needs LOCKSTEP_BINARY_DIR (with bin/lockstep) and LOCKSTEP_PYTHON. Packs instances of one small
program that differ in their numbers alone, so that they share a package, which every one loads
anew; then replays them on the first core that this process may use. The seconds are those of the
run in its log, the start of the worker not among them. Beside them stand those of the processor,
which a machine that others use, too, does not stretch as far: what all processes took more than for
a pack of one instance. Ends with 1 where a verdict does not conform, or where batches execute fewer
than --wanted a second by either."""

import argparse
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ratios import tell

ROOT = pathlib.Path(__file__).resolve().parents[3]


def lockstep(cache, *arguments, core=None):
    command = [
        os.path.join(os.environ["LOCKSTEP_BINARY_DIR"], "bin", "lockstep"),
        *map(str, arguments),
    ]
    done = subprocess.run(
        command,
        env={**os.environ, "LOCKSTEP_HOME": str(ROOT), "LOCKSTEP_CACHE": str(cache)},
        capture_output=True,
        text=True,
        preexec_fn=None if core is None else lambda: os.sched_setaffinity(0, {core}),
    )
    if done.returncode != 0:
        sys.exit(done.stdout + done.stderr)


def replay(folder, pack, cache, core, *more):
    """How many instances it were, the seconds by the clock and those of the processor."""

    def spent():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    before = spent()
    lockstep(cache, "replay", folder / pack, "-j", 1, "--out", out, *more, core=core)
    record = json.loads((out / "run.json").read_text())
    if any(verdict["status"] != "conform" for verdict in record["verdicts"]):
        sys.exit("not every verdict conforms")
    return len(record["verdicts"]), record["end"]["seconds"], spent() - before


def rate(folder, cache, core, once, *more):
    """Instances a second of a replay, and a second of the processor."""
    count, seconds, spent = replay(folder, "pack", cache, core, *more)
    one, start = 0, 0.0
    if not once:
        one, _, start = replay(folder, "one", cache, core, *more)
    return count / seconds, (count - one) / (spent - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--instances", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--wanted", type=float, default=200)
    parser.add_argument(
        "--once",
        action="store_true",
        help="without a pack of one, whose seconds are taken off; LOCKSTEP_CACHE is used",
    )
    parser.add_argument(
        "--cache",
        type=pathlib.Path,
        help="a LOCKSTEP_CACHE whose compilations are used (default: a new one)",
    )
    given = parser.parse_args()
    case = {
        "format": 1,
        "title": "small",
        "matrix": {"seed": list(range(given.instances))},
        "inputs": {
            "x": {"dtype": "float32", "shape": [8, 8], "fill": {"normal": {}, "seed": "$seed"}}
        },
        "steps": [
            {"let": "h", "op": "relu", "args": ["%x"]},
            {"let": "y", "op": "add.Tensor", "args": ["%h", 1]},
        ],
        "outputs": ["y"],
    }
    core = min(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        own = os.environ.get("LOCKSTEP_CACHE") if given.once else None
        cache = given.cache or pathlib.Path(own or folder / "cache")
        (folder / "small.json").write_text(json.dumps(case))
        (folder / "one.json").write_text(json.dumps({**case, "matrix": {"seed": [0]}}))
        for pack, of in (("pack", "small"),) if given.once else (("pack", "small"), ("one", "one")):
            words = [folder / pack, folder / f"{of}.json", "--out", folder / f"packing-{pack}"]
            lockstep(cache, "pack", *words, "--quiet")
        best = {"in batches": (0.0, 0.0), "one in a child": (0.0, 0.0)}
        for _ in range(given.rounds):  # side by side, so that both meet the same noise
            for how, more in (("in batches", []), ("one in a child", ["--alone"])):
                best[how] = max(best[how], rate(folder, cache, core, given.once, *more))
        for how, found in best.items():
            print(
                f"{how}: {found[0]:.0f} instances a second, {found[1]:.0f} a second of the "
                "processor"
            )
        times = best["in batches"][0] / best["one in a child"][0]
        tell("replay, batches against one in a child", times, "more")
    return 0 if max(best["in batches"]) >= given.wanted else 1


sys.exit(main())
