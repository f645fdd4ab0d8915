#!/usr/bin/env python3
"""Times the judge against what people compare tensors with today, all in one run on the same bytes.

    ci/bench/judge/bench.py [--small] [--log2 10,20,26] [--threads 1] [--dtypes NAME…]

Needs LOCKSTEP_BINARY_DIR (with bin/judge-bench: cmake --build … --target judge-bench) and a Python
with torch. Two kinds of pairs: "equal" (the same bits) and "ulp" (a quarter of the elements one
unit in the last place off, which every rule but bit equality accepts; integers: equal for the
others, because they would stop or raise). Bandwidth counts the bytes of both tensors; under
`no_worse`, those of the gold, too. The targets: 60 % of the bandwidth of a plain read, 20 % with a
gold, 20 times assert_close at 2^26 elements, under 20 µs at 2^10."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ratios import tell

DTYPES = ["float32", "float16", "bfloat16", "complex64", "int64"]


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
    """Eager, compiled, and a gold that is a little off from both."""
    generator = torch.Generator().manual_seed(1)
    if name == "int64":
        eager = torch.randint(-(2**40), 2**40, (elements,), generator=generator)
        step = torch.rand(elements, generator=generator) < 0.25
        return eager, eager + step if kind == "ulp" else eager.clone(), eager.double()
    parts = elements * (2 if name == "complex64" else 1)
    real = getattr(torch, "float32" if name == "complex64" else name)
    eager = torch.randn(parts, generator=generator).to(real)
    bits = torch.int32 if real == torch.float32 else torch.int16
    step = (torch.rand(parts, generator=generator) < 0.25).to(bits)
    if name == "complex64":
        step.view(-1, 2)[:, 1] = 0  # a quarter of the elements
    compiled = (eager.view(bits) + step).view(real) if kind == "ulp" else eager.clone()
    gold = eager.double() * (1 + torch.finfo(real).eps / 8)
    if name == "complex64":
        return (torch.view_as_complex(each.view(-1, 2)) for each in (eager, compiled, gold))
    return eager, compiled, gold


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


def judge(given, folder, name, log2, tensors):
    """What judge-bench says of two tensors and their gold."""
    files = [folder / side for side in ("eager", "compiled", "gold")]
    for file, tensor in zip(files, tensors):
        tensor.view(torch.uint8).numpy().tofile(file)
    repeats = max(3, min(20000, int(given.seconds * 1e9 / (2**log2 * 4) / 2)))
    binary = pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "judge-bench"
    command = [binary, *files, name, str(given.threads), str(repeats)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def rows(given, folder):
    """A row of figures for each dtype, size and kind of pairs; prints each."""
    for name in given.dtypes:
        for log2 in map(int, given.log2.split(",")):
            baselines: dict = {}
            for kind in ("equal", "ulp"):
                eager, compiled, gold = a_pair(name, 2**log2, kind)
                row = {"dtype": name, "log2": log2, "pairs": kind}
                row |= judge(given, folder, name, log2, (eager, compiled, gold))
                if kind == "equal" or name != "int64":
                    timed = others(eager, compiled, given.seconds)
                    if kind == "ulp":  # torch.equal stops at the first difference
                        timed["torch.equal"] = baselines["torch.equal"]
                    baselines = timed
                row |= baselines
                size = 2 * eager.numel() * eager.element_size() / 1e9
                times = "".join(
                    f"{row[key] / row['judge']:.1f}x".rjust(13) if row[key] else "-".rjust(13)
                    for key in ("torch.equal", "assert_close", "allclose", "numpy")
                )
                print(
                    f"{name:9} {'2^' + str(log2):>5} {kind:6} {row['judge'] * 1e6:9.1f}µs "
                    f"{size / row['judge']:6.2f} {row['read'] / row['judge']:8.0%} "
                    f"{row['read_gold'] / row['no_worse']:8.0%}{times}",
                    flush=True,
                )
                yield row


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--small", action="store_true", help="only that it runs")
    parser.add_argument("--log2", default="10,20,26")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.5, help="time for each figure")
    parser.add_argument("--dtypes", nargs="+", default=DTYPES)
    given = parser.parse_args()
    if given.small:
        given.log2, given.seconds = "12", 0.001
    torch.set_num_threads(given.threads)
    print(
        f"{'dtype':9} {'size':>5} {'pairs':6} {'judge':>11} {'GB/s':>6} {'of read':>8} "
        f"{'golds':>8}{'equal':>13}{'assert_close':>13}{'allclose':>13}{'numpy':>13}"
    )
    memory = "/dev/shm" if pathlib.Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory) as directory:
        for row in rows(given, pathlib.Path(directory)):
            name = f"judge, {row['dtype']} 2^{row['log2']} {row['pairs']}"
            tell(f"{name}, of a read", row["read"] / row["judge"], "more")
            if row["pairs"] == "ulp":
                tell(f"{name}, no_worse of a read", row["read_gold"] / row["no_worse"], "more")
    return 0


if __name__ == "__main__":
    sys.exit(main())
