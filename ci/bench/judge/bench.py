#!/usr/bin/env python3
"""Times the judge against what people compare tensors with today, all in one run on the same bytes.

usage: bench.py JUDGE_BENCH [--log2 10,20,26] [--threads 2] [--json FILE]

Two kinds of pairs: "equal" (the same bits) and "ulp" (a quarter of the elements one unit in the
last place off, which every rule but bit equality accepts; integers: equal for the others, because
they would stop or raise). Bandwidth counts the bytes of both tensors.  The targets are those of the
judge's design: 60 % of the bandwidth of a plain read, 20 times assert_close at 2^26 elements, under
20 µs at 2^10."""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy
import torch

DTYPES = ["float32", "float16", "bfloat16", "int64"]


def best(work, seconds):
    """Seconds of the fastest of as many calls as fit into a time, at least two."""
    fastest, spent, calls = float("inf"), 0.0, 0
    while calls < 2 or spent < seconds:
        start = time.perf_counter()
        work()
        took = time.perf_counter() - start
        fastest, spent, calls = min(fastest, took), spent + took, calls + 1
    return fastest


def a_pair(name, elements, kind):
    generator = torch.Generator().manual_seed(1)
    dtype = getattr(torch, name)
    if name == "int64":
        eager = torch.randint(-(2**40), 2**40, (elements,), generator=generator)
        return eager, eager.clone() if kind == "equal" else eager + (
            torch.rand(elements, generator=generator) < 0.25
        )
    eager = torch.randn(elements, generator=generator).to(dtype)
    if kind == "equal":
        return eager, eager.clone()
    bits = torch.int32 if name == "float32" else torch.int16
    step = (torch.rand(elements, generator=generator) < 0.25).to(bits)
    return eager, (eager.view(bits) + step).view(dtype)


def others(eager, compiled, seconds):
    """Seconds of each baseline; None where it has no such dtype."""
    result = {
        "torch.equal": best(lambda: torch.equal(eager, compiled), seconds),
        "assert_close": best(
            lambda: torch.testing.assert_close(compiled, eager, equal_nan=True), seconds
        ),
        "allclose": best(lambda: torch.allclose(eager, compiled, equal_nan=True), seconds),
        "numpy": None,
    }
    if eager.dtype != torch.bfloat16:
        x, y = eager.numpy(), compiled.numpy()
        result["numpy"] = best(
            lambda: numpy.testing.assert_allclose(y, x, rtol=1e-2, atol=1e-5), seconds
        )
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("judge_bench", type=pathlib.Path)
    parser.add_argument("--log2", default="10,20,26")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.5, help="time for each figure")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    rows = []
    head = (
        f"{'dtype':9} {'elements':>9} {'pairs':6} {'judge':>10} {'GB/s':>6} {'read':>6} "
        f"{'of read':>8} {'equal':>9} {'assert_close':>12} {'allclose':>9} {'numpy':>9}"
    )
    print(head)
    memory = "/dev/shm" if pathlib.Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory) as directory:
        for name in DTYPES:
            for log2 in map(int, options.log2.split(",")):
                baselines: dict = {}
                for kind in ("equal", "ulp"):
                    eager, compiled = a_pair(name, 2**log2, kind)
                    files = [pathlib.Path(directory) / side for side in ("eager", "compiled")]
                    for file, tensor in zip(files, (eager, compiled)):
                        tensor.view(torch.uint8).numpy().tofile(file)
                    repeats = max(5, min(20000, int(options.seconds * 1e9 / (2**log2 * 4) / 2)))
                    command = [
                        str(options.judge_bench),
                        *map(str, files),
                        name,
                        str(options.threads),
                        str(repeats),
                    ]
                    judge = json.loads(
                        subprocess.run(command, check=True, capture_output=True, text=True).stdout
                    )
                    if kind == "equal" or name != "int64":
                        timed = others(eager, compiled, options.seconds)
                        if kind == "ulp":  # torch.equal stops at the first difference
                            timed["torch.equal"] = baselines["torch.equal"]
                        baselines = timed
                    size = 2 * eager.numel() * eager.element_size() / 1e9
                    row = {"dtype": name, "elements": 2**log2, "pairs": kind, **judge, **baselines}
                    rows.append(row)
                    times = lambda key, row=row, judge=judge: (
                        f"{row[key] / judge['judge']:.1f}x" if row[key] else "-"
                    )
                    print(
                        f"{name:9} {'2^' + str(log2):>9} {kind:6} {judge['judge'] * 1e6:8.1f}µs "
                        f"{size / judge['judge']:6.2f} {size / judge['read']:6.2f} "
                        f"{judge['read'] / judge['judge']:8.0%} {times('torch.equal'):>9} "
                        f"{times('assert_close'):>12} {times('allclose'):>9} {times('numpy'):>9}",
                        flush=True,
                    )
    if options.json:
        options.json.write_text(
            json.dumps(
                {"torch": torch.__version__, "threads": options.threads, "rows": rows}, indent=1
            )
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
