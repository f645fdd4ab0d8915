"""The judge's `same_upstream` and `close` against torch's own functions, on thousands of generated
pairs.

Needs torch and the core tests' executable (LOCKSTEP_CORE_TESTS); without either it is skipped."""

import json
import os
import pathlib
import random
import subprocess

import pytest

torch = pytest.importorskip("torch")

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.int64, torch.int32, torch.int8, torch.uint8, torch.bool]
PAIRS = 6000 * int(os.environ.get("LOCKSTEP_JUDGE_EFFORT", "1"))
SPECIALS = [float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 65504.0, 1e-45, 6e-8]


def executable():
    path = pathlib.Path(os.environ.get("LOCKSTEP_CORE_TESTS", ""))
    if not path.is_file():
        pytest.skip("LOCKSTEP_CORE_TESTS names no executable")
    return path


class Pairs:
    """Tensors as bytes in one file, and questions about them."""

    def __init__(self):
        self.bytes = bytearray()
        self.questions = []

    def add(self, tensor):
        if tensor is None:
            return None
        at = len(self.bytes)
        flat = tensor.contiguous().reshape(-1)
        self.bytes += bytes(flat.view(torch.uint8).tolist()) if flat.numel() else b""
        return {
            "dtype": str(tensor.dtype).removeprefix("torch."),
            "shape": list(tensor.shape),
            "at": at,
        }

    def ask(self, rule, ref, res, gold=None, **options):
        self.questions.append(
            {
                "rule": rule,
                "ref": self.add(ref),
                "res": self.add(res),
                "gold": self.add(gold),
                **options,
            }
        )

    def answers(self, directory):
        (directory / "pairs.json").write_text(json.dumps(self.questions))
        (directory / "pairs.bin").write_bytes(self.bytes or b"\0")
        environment = os.environ | {"LOCKSTEP_JUDGE_PAIRS": str(directory)}
        command = [str(executable()), "--gtest_filter=SameUpstream.AnswersThePairsOfThePythonTest"]
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, timeout=300)
        return json.loads((directory / "answers.json").read_text())


def a_shape(rng):
    return rng.choice(
        [(), (0,), (1,), (3,), (7,), (2, 5), (4, 1, 1, 1), (2, 3, 1, 1), (1100,), (1200, 1)]
    )


def a_pair(rng, generator, dtypes):
    """A reference, and a result that is near it by about what the tolerances allow."""
    dtype = rng.choice(dtypes)
    shape = a_shape(rng)
    if not dtype.is_floating_point:
        ref = torch.randint(0, 2 if dtype == torch.bool else 100, shape, generator=generator).to(
            dtype
        )
        if dtype == torch.bool:
            return ref, ref ^ (torch.rand(shape, generator=generator) < rng.choice([0, 0, 0.3]))
        if dtype in (torch.int64, torch.int32):
            ref = ref * rng.choice([1, 1000, 100003])
        change = torch.randint(
            -rng.choice([1, 2, 10]), rng.choice([1, 2, 11]), shape, generator=generator
        )
        return ref, ref + change.to(dtype) * rng.choice([0, 1])
    wide = torch.randn(shape, generator=generator, dtype=torch.float64) * rng.choice(
        [1e-3, 1.0, 100.0]
    )
    noise = torch.rand(shape, generator=generator, dtype=torch.float64) * 2 - 1
    size = rng.choice([0, 1e-7, 1.3e-6, 1e-4, 1e-3, 2e-3, 1.6e-2, 0.1])
    ref = wide.to(dtype)
    res = (ref.double() * (1 + size * noise) + rng.choice([0, 1e-5, 1e-4]) * noise).to(dtype)
    for side in (ref, res):
        if side.numel() and rng.random() < 0.15:
            side.view(-1)[rng.randrange(side.numel())] = rng.choice(SPECIALS)
    return ref, res


def a_gold(rng, generator, ref, res):
    if rng.random() < 0.3:
        return None
    base = rng.choice([ref, res]).double()
    noise = torch.randn(base.shape, generator=generator, dtype=torch.float64)
    gold = base + noise * rng.choice([0, 1e-5, 1e-4, 1e-3, 0.05])
    return gold if rng.random() < 0.9 else gold.float()


def is_near_the_edge(ref, res, gold, tol):
    """The last bit of a mean depends on the order of its sum; no answer may rest on it."""
    if gold is None or gold.dtype != torch.float64 or ref.shape != res.shape:
        return False
    errors = [
        torch.sqrt(torch.mean(torch.square(gold - side.double()))).item() for side in (ref, res)
    ]
    return any(abs(errors[1] - (m * errors[0] + tol / 10)) <= 1e-12 * errors[1] for m in (2, 3))


def test_same_upstream_is_torchs_same(tmp_path):
    from torch._dynamo.utils import same

    rng, generator, pairs = random.Random(1), torch.Generator().manual_seed(1), Pairs()
    expected: list = []
    while len(expected) < PAIRS:
        ref, res = a_pair(rng, generator, FLOATS + INTEGERS)
        if rng.random() < 0.03:
            res = res.to(rng.choice(FLOATS))
        if rng.random() < 0.05:
            res = res.reshape(-1)[: rng.choice([1, 2])]
        gold = a_gold(rng, generator, ref, res)
        tol, equal_nan = rng.choice([0, 1e-4, 1e-3, 1e-2, 5e-2]), rng.random() < 0.5
        try:
            answer = same(ref, res, gold, tol=tol, equal_nan=equal_nan, log_error=lambda *_: None)
            if is_near_the_edge(ref, res, gold, tol):
                continue
        except RuntimeError:
            answer = None  # shapes that do not broadcast
        pairs.ask("same", ref, res, gold, tol=tol, equal_nan=equal_nan)
        expected.append(answer)
    answers = pairs.answers(tmp_path)
    wrong = [
        (q, want, got) for q, want, got in zip(pairs.questions, expected, answers) if want != got
    ]
    assert not wrong, f"{len(wrong)} of {len(expected)}, first: {wrong[0]}"
    assert 0.2 < sum(bool(a) for a in answers) / len(answers) < 0.9  # both answers are asked for


def test_close_is_torchs_assert_close(tmp_path):
    rng, generator, pairs, expected = (
        random.Random(2),
        torch.Generator().manual_seed(2),
        Pairs(),
        [],
    )
    for _ in range(PAIRS):
        ref, res = a_pair(rng, generator, FLOATS + INTEGERS)
        explicit = rng.random() < 0.3 and ref.is_floating_point()
        rtol, atol = rng.choice([0, 1e-3, 1e-2]), rng.choice([0, 1e-5, 1e-2])
        options = {"rtol": rtol, "atol": atol} if explicit else {}
        try:
            torch.testing.assert_close(res, ref, equal_nan=True, **options)
            expected.append(True)
        except AssertionError:
            expected.append(False)
        pairs.ask(f"close(rtol={rtol}, atol={atol})" if explicit else "close", ref, res)
    answers = pairs.answers(tmp_path)
    wrong = [
        (q, want, got) for q, want, got in zip(pairs.questions, expected, answers) if want != got
    ]
    assert not wrong, f"{len(wrong)} of {len(expected)}, first: {wrong[0]}"
    assert 0.2 < sum(answers) / len(answers) < 0.9
