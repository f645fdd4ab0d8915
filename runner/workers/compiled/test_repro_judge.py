"""The reproducer's judge against Lockstep's: thousands of generated pairs of values under every
policy.

Needs the core tests' executable (LOCKSTEP_CORE_TESTS, or built by a preset); without it the
agreement is skipped."""

import functools
import itertools
import json
import math
import os
import pathlib
import random
import re
import sys

import pytest
import torch

RUNNER = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(next(RUNNER.glob("judge/**/test_upstream.py")).parent))

from test_upstream import Pairs  # noqa: E402

from lockstep_worker.repro.script import outcomes  # noqa: E402
from lockstep_worker.repro.script.begin import CannotTell  # noqa: E402
from lockstep_worker.repro.script.judge import Execution, Rules, compare_call  # noqa: E402
from lockstep_worker.repro.script.left import judge  # noqa: E402
from lockstep_worker.repro.script.metadata import alias_difference, metadata_difference  # noqa: E402
from lockstep_worker.repro.script.pair import Pair  # noqa: E402
from lockstep_worker.repro.script.policy import check, default_policy, parse_policy  # noqa: E402
from lockstep_worker.repro.script.samples import samples_agree  # noqa: E402
from lockstep_worker.repro.script.view import FLOATS, OPAQUE, PARTS, WORDS, Snapshot, doubles  # noqa: E402
from lockstep_worker.repro.write import _accusing  # noqa: E402

ACCUSING = _accusing(json.loads((RUNNER.parent / "reports" / "words.json").read_text("utf-8")))
PAIRS = 4000 * int(os.environ.get("LOCKSTEP_JUDGE_EFFORT", "1"))
DTYPES = [
    name
    for name in (
        *FLOATS,
        *PARTS,
        *"bool int8 int16 int32 int64 uint8 uint16 uint32 uint64".split(),
        *OPAQUE,
    )
    if hasattr(torch, name)
]
POLICIES = re.split(
    r";\s*",
    """bits; bits_strict; equal; exact; metadata; ulp(0); ulp(1); ulp(4); ulp(9007199254740992);
    close; close(rtol=0.001, atol=1e-05); close(rtol=0, atol=0.01); close(rtol=0.25, atol=0);
    close(k=1024); close(rtol=0.001, atol=0, k=7); same(0.0001); same(0.03); same(0);
    same_upstream(0.0001); same_upstream(0.05); same_upstream(0); no_worse(1); no_worse(4);
    stepwise(1); stepwise(0); any_of(close, no_worse(1)); any_of(bits, ulp(2));
    any_of(close, stepwise(1)); all_of(close, no_worse(1));
    all_of(any_of(equal, ulp(1)), close(k=8)); any_of(no_worse(1), metadata);
    all_of(stepwise(1), bits); contract bits; contract casts; contract values""",
)


class Judged(Pairs):
    """Pairs of the judge's test that remember strides, offsets and lazy bits."""

    def add(self, tensor):
        if tensor is None:
            return None
        at, storage = (
            len(self.bytes),
            torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage()),
        )
        self.bytes += storage.numpy().tobytes() + bytes(-storage.numel() % 8)
        return {
            "dtype": str(tensor.dtype).removeprefix("torch."),
            "shape": list(tensor.shape),
            "strides": list(tensor.stride()),
            "offset": tensor.storage_offset(),
            "conj": tensor.is_conj(),
            "neg": tensor.is_neg(),
            "requires_grad": tensor.requires_grad,
            "at": at,
            "bytes": storage.numel(),
        }


def viewed(tensor):
    return Snapshot().view("y", tensor)


def from_words(numbers, shape, dtype):
    """A tensor of the dtype whose numbers have these bits."""
    number = PARTS.get(dtype, dtype)
    width = getattr(torch, number).itemsize
    data = b"".join((n & (1 << 8 * width) - 1).to_bytes(width, "little") for n in numbers)
    flat = (
        torch.frombuffer(bytearray(data), dtype=torch.uint8).clone()
        if data
        else torch.empty(0, dtype=torch.uint8)
    )
    if dtype != number and "complex" not in dtype:
        whole = from_words(numbers, shape, number)
        return torch._make_per_tensor_quantized_tensor(whole, 0.5, 1)
    strides = [math.prod(max(s, 1) for s in shape[i + 1 :]) for i in range(len(shape))]
    return torch.empty(0, dtype=getattr(torch, dtype)).set_(
        flat.untyped_storage(), 0, shape, strides
    )


def bits_of(value, number):
    """The bits of the nearest number of a floating dtype."""
    if number == "float8_e8m0fnu":
        value = abs(value)
    narrow = torch.tensor([value], dtype=torch.float64)
    wide = narrow if number == "float64" else narrow.to(torch.float32)
    return int(wide.to(getattr(torch, number)).view(WORDS[getattr(torch, number).itemsize]))


@functools.cache
def specials_of(number):
    """Zeros, infinities, NaNs, subnormals and the greatest numbers, as bits."""
    half = 1 << 8 * getattr(torch, number).itemsize - 1
    nan = bits_of(math.nan, number)
    plain = [bits_of(value, number) for value in (0.0, -0.0, math.inf, -math.inf, 1.0)]
    return [*plain, nan, nan | 1, 1, half + 1, half - 1, 2 * half - 1]


def a_number(rng, number, tame):
    """Bits on both sides: equal, neighbours, opposite zeros, specials, anything."""
    width = getattr(torch, number).itemsize
    top = 1 << 8 * width
    if number not in FLOATS:
        x = rng.choice(
            [
                rng.randrange(2) if number == "bool" else rng.randrange(top),
                rng.randrange(100) % top,
                (-rng.randrange(100)) % top if number != "bool" else 1,
            ]
        )
        return x, rng.choice(
            [x] * 4
            + [
                (x + rng.randrange(-3, 4)) % (2 if number == "bool" else top),
                rng.randrange(2 if number == "bool" else top),
            ]
        )
    value = rng.choice([rng.uniform(-2, 2), rng.uniform(-2, 2) * 10.0 ** rng.randrange(-6, 5)])
    specials = specials_of(number)
    x = (
        bits_of(value, number)
        if rng.random() < 0.9 or tame
        else rng.choice([*specials, rng.randrange(top)])
    )
    near = value * (
        1 + rng.uniform(-1.1, 1.1) * rng.choice([1e-7, 1.3e-6, 1e-4, 1e-3, 1.6e-2, 0.25])
    ) + rng.uniform(-1e-5, 1e-5)
    choices = [x] * 5 + [bits_of(near, number)] * 2 + [x ^ 1, x + rng.randrange(-4, 5)]
    if not tame:
        choices += [rng.choice(specials), x ^ 1 << rng.randrange(8 * width)]
    return x, rng.choice(choices)


def a_pair(rng, dtype):
    shape = rng.choice([[], [0], [1], [3], [2, 3], [3, 1, 2], [80], [4, 40]])
    parts = 2 if "complex" in dtype else 1
    tame = rng.random() < 0.6
    equal = rng.random() < 0.5  # but for a few
    numbers = [
        a_number(rng, PARTS.get(dtype, dtype), tame) for _ in range(math.prod(shape) * parts)
    ]
    numbers = [(x, x) if equal and rng.random() < 0.8 else (x, y) for x, y in numbers]
    sides = [from_words([pair[side] for pair in numbers], shape, dtype) for side in (0, 1)]
    if len(shape) > 1 and rng.random() < 0.3:
        sides = [side.transpose(0, -1) for side in sides]
    if len(shape) == 1 and rng.random() < 0.3 and not sides[0].is_quantized:
        sides = [side.expand(70, *shape) for side in sides]
    if len(shape) == 1 and shape[0] > 2 and rng.random() < 0.2:
        sides = [side[1:] for side in sides]
    return sides


def gold_of(tensor):
    """A gold in double with the numbers of a tensor."""
    view = viewed(tensor)
    numbers = doubles(view.words, view.number)
    return (
        torch.view_as_complex(numbers.contiguous()) if view.is_complex else numbers[..., 0]
    ).contiguous()


def answer_of(rule, ref, res):
    eager, compiled = viewed(ref), viewed(res)
    if rule.startswith("contract "):
        policy = default_policy(rule.split()[1], eager.dtype)
    else:
        policy = parse_policy(rule)
    return check(policy, Pair(eager, compiled), lambda *_: None).holds


def test_every_policy_decides_as_lockstep_does(tmp_path):
    rng, pairs, mine = random.Random(3), Judged(), []
    for dtype, policy in itertools.islice(
        itertools.cycle(itertools.product(DTYPES, POLICIES)), PAIRS
    ):
        ref, res = a_pair(rng, dtype)
        mine.append(answer_of(policy, ref, res))
        for gold in (None, ref, res):
            pairs.ask(policy, ref, res, None if gold is None else gold_of(gold))
    answers = pairs.answers(tmp_path)
    wrong = []
    decided: dict = {}
    for at, answer in enumerate(mine):
        question, (bare, by_eager, by_compiled) = (
            pairs.questions[3 * at],
            answers[3 * at : 3 * at + 3],
        )
        rule = question["rule"]
        decided.setdefault(rule, set()).add(answer)
        if answer is not None:
            right = bare == by_eager == by_compiled == answer
        else:  # which gold there is must matter; upstream's rule may well take all three of these
            right = "same_upstream" in rule or by_compiled and not (bare and by_eager)
        if not right:
            wrong.append((rule, question["ref"], answer, (bare, by_eager, by_compiled)))
    assert not wrong, f"{len(wrong)} of {len(mine)}, first: {wrong[:5]}"
    # A rule that never breaks is not tested, nor is a gold that is never missed.
    assert all(
        True in found and (False in found or "metadata" in rule) for rule, found in decided.items()
    ), decided
    with_gold = {rule for rule, found in decided.items() if None in found}
    assert with_gold == {
        rule
        for rule in POLICIES
        if "no_worse" in rule
        or "same" in rule
        or "stepwise" in rule
        or rule in ("contract casts", "contract values")
    } - {"all_of(stepwise(1), bits)", "any_of(no_worse(1), metadata)"}


def test_samples_differ_as_they_do_for_lockstep(tmp_path):
    rng, generator, pairs, mine = random.Random(7), torch.Generator().manual_seed(7), Judged(), []
    for _ in range(400):
        dtype = rng.choice(
            [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.complex64]
        )
        shape = rng.choice([63, 64, 500])
        sides = []
        for side in range(2):
            wide = torch.randn(2, shape, generator=generator, dtype=torch.float64)
            wide = wide * rng.choice([1, 1, 2]) + rng.choice([0, 0, 0.3, 1]) if side else wide
            if rng.random() < 0.3:
                wide[:, : rng.choice([1, 30, shape])] = math.nan
            made = torch.complex(*wide) if dtype.is_complex else wide[0]
            made = made if dtype.is_floating_point or dtype.is_complex else made.nan_to_num() * 10
            sides.append(
                made.to(dtype).expand(rng.choice([1, 3]), shape)[0]
                if rng.random() < 0.7
                else made.to(dtype)[:1].expand(shape)
            )
        rule = rng.choice(
            ["statistical(1e-09)", "statistical(0.5)", "any_of(statistical(0.01), bits)"]
        )
        pairs.ask(rule, *sides)
        mine.append(answer_of(rule, *sides))
    assert None not in mine and pairs.answers(tmp_path) == mine
    assert 0.2 < sum(mine) / len(mine) < 0.8


def test_lazy_bits_mean_what_they_mean_to_lockstep(tmp_path):
    pairs, mine, rng = Judged(), [], random.Random(4)
    for _ in range(200):
        dtype = rng.choice(["complex64", "complex128"])
        x, y = a_pair(rng, dtype)
        lazy = rng.choice(
            [
                lambda t: t.conj(),
                lambda t: t.conj().imag,
                lambda t: t.imag,
                lambda t: torch._neg_view(t),
                lambda t: torch._neg_view(t).conj(),
            ]
        )
        sides = [lazy(x), rng.choice([lazy(y), lazy(x).resolve_conj().resolve_neg()])]
        for rule in ("bits", "close", "ulp(1)"):
            pairs.ask(rule, *sides)
            mine.append(answer_of(rule, *sides))
    assert pairs.answers(tmp_path) == mine
    assert 0.2 < sum(mine) / len(mine) < 0.95


def test_indices_select_what_they_select_for_lockstep(tmp_path):
    rng, pairs, mine = random.Random(5), Judged(), []
    for _ in range(1500):
        dtype = rng.choice(["float16", "float32", "int64", "bool", "complex64"])
        of = [
            torch.tensor([rng.choice([0.0, -0.0, 1.0, math.nan]) for _ in range(12)])
            .nan_to_num(nan=math.nan if dtype.startswith(("f", "c")) else 2)
            .to(getattr(torch, dtype))
            .reshape(3, 4)
        ]
        of.append(
            of[0] if rng.random() < 0.9 else of[0].clone().reshape(rng.choice([[3, 4], [4, 3]]))
        )
        dim = rng.choice([None, 0, 1, -1, 2])
        size = 12 if dim is None else 3 if dim == 0 else 4
        shape = rng.choice([[3], [4], [3, 2], [2, 4], [3, 4]])
        e = torch.randint(0, size, shape, dtype=rng.choice([torch.int64, torch.int32]))
        if rng.random() < 0.4:
            e = torch.arange(math.prod(shape)).reshape(shape) % size
        c = torch.where(
            torch.rand(shape) < rng.choice([0, 0.2, 0.6]),
            torch.randint(-1, size + 1, shape, dtype=e.dtype),
            e,
        )
        if rng.random() < 0.1:
            e, c = e.float(), c.float()
        rule = "index_equivalent(x)" if dim is None else f"index_equivalent(x, dim={dim})"
        pairs.ask(rule, e, c)
        pairs.questions[-1].update(of_eager=pairs.add(of[0]), of_compiled=pairs.add(of[1]))
        views = dict(zip(("eager", "compiled"), map(viewed, of), strict=True))
        mine.append(
            check(
                parse_policy(rule),
                Pair(viewed(e), viewed(c)),
                functools.partial(lambda of, side, name: of[side], views),
            ).holds
        )
    answers = pairs.answers(tmp_path)
    wrong = [(q, a, b) for q, a, b in zip(pairs.questions, mine, answers, strict=True) if a != b]
    assert not wrong, f"{len(wrong)}, first {wrong[0]}"
    assert 0.1 < sum(map(bool, mine)) / len(mine) < 0.9


def test_metadata_differ_as_they_do_for_lockstep(tmp_path):
    rng, pairs, mine = random.Random(6), Judged(), []
    tensors = [
        torch.zeros(2, 3),
        torch.zeros(3, 2).t(),
        torch.zeros(2, 3, requires_grad=True),
        torch.zeros(2, 3).double(),
        torch.zeros(6),
        torch.zeros(1, 3),
        torch.zeros(3, 1).t(),
        torch.zeros(1, 3).expand(2, 3),
        torch.zeros(0, 3),
        torch.zeros(3, 0).t(),
        torch.zeros(7)[1:],
        torch.tensor(1.0),
        torch.zeros(2, 3, dtype=torch.complex64).conj(),
        torch.zeros(2, 3, dtype=torch.complex64),
    ]
    for a, b in itertools.product(tensors, tensors):
        rule = rng.choice(["significant", "exact", "ignore"])
        pairs.ask(f"metadata {rule}", a, b)
        mine.append(not metadata_difference(viewed(a), viewed(b), rule))
    assert pairs.answers(tmp_path) == mine
    assert 0.1 < sum(mine) / len(mine) < 0.5


# What no pair of tensors can show -----------------------------------------------------------------


def called(**values):
    snapshot = Snapshot()
    return {name.replace("__", " "): snapshot.value(name, value) for name, value in values.items()}


def verdict(eager, compiled, contract="bits", before=None, was_compiled=True, **rules):
    """The judge's status on one call, or on several repetitions of it."""

    def execution(side):
        if isinstance(side, str):
            kind, message, *whose = side.split(":")
            return Execution(
                error={"class": kind, "message": message, "kind": (whose or ["error"])[0]}
            )
        return Execution([[call] for call in (side if isinstance(side, list) else [side])])

    return judge(
        execution(eager),
        execution(compiled),
        [before or {}],
        Rules(rules.pop("policies", {}), contract, ACCUSING, **rules),
        was_compiled,
    ).status


def test_who_shares_memory_with_whom():
    base = torch.zeros(4)
    shared, apart = called(input__x=base, y=base[1:]), called(input__x=base, y=base[1:].clone())
    assert alias_difference(shared, shared) == ""
    assert alias_difference(shared, apart) == "y shares memory with input x, compiled does not"
    assert alias_difference(apart, shared) == "y does not share memory with input x, compiled does"
    assert alias_difference(shared, called(input__x=base, y=base[:3])) == (
        "y shares memory with input x at storage offset 1, compiled at 0"
    )
    assert (
        alias_difference(called(a=base[:0], b=base[:0]), called(a=base[:0], b=torch.zeros(0))) != ""
    ), "its storage has bytes"
    nothing = torch.zeros(0)
    assert alias_difference(called(a=nothing, b=nothing), called(a=nothing, b=torch.zeros(0))) == ""
    assert verdict(shared, apart) == "aliasing_diverges"


def test_metadata_hide_no_values():
    wide = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    other = torch.tensor([[1.0, 2.0], [3.0, 5.0]]).t().contiguous().t()
    found = compare_call(called(y=wide), called(y=other), {}, Rules({}, "bits", ACCUSING))
    assert [status for status, _, _ in found] == ["metadata_diverges", "value_diverges"]
    found = compare_call(called(y=wide), called(y=other.double()), {}, Rules({}, "bits", ACCUSING))
    assert [status for status, _, _ in found] == ["metadata_diverges"], "of another dtype"


def test_an_input_that_eager_left_alone_keeps_its_bits():
    one, almost = torch.tensor([1.0]), torch.tensor([1.0000001])
    before, rules = called(input__x=one), {"contract": "values", "policies": {"input x": "close"}}
    assert (
        verdict(called(input__x=one), called(input__x=almost), before=before, **rules)
        == "mutation_diverges"
    )
    assert (
        verdict(
            called(input__x=one), called(input__x=almost), before=called(input__x=one + 1), **rules
        )
        == "conform"
    )
    assert (
        verdict(called(input__x=one), called(input__x=one[None]), before=before)
        == "mutation_diverges"
    ), "metadata, too"


def test_a_contract_means_by_the_dtype_of_the_output():
    almost = torch.tensor([1.0000001])
    assert verdict(called(y=torch.tensor([1.0])), called(y=almost), "values") == "conform"
    assert verdict(called(y=torch.tensor([1.0])), called(y=almost), "bits") == "value_diverges"
    assert (
        verdict(called(y=torch.tensor([1.0])), called(y=torch.tensor([1.5])), "values") == "unknown"
    )
    assert (
        verdict(called(y=torch.tensor([1])), called(y=torch.tensor([2])), "values")
        == "value_diverges"
    ), "no gold of integers"
    assert verdict(called(y=1.0), called(y=1.0 + 1e-12), "casts") == "conform"
    assert verdict(called(y=True), called(y=False), "casts") == "value_diverges"
    assert verdict(called(y=None), called(y=None)) == "conform"
    assert (
        verdict(called(y=None), called(y=0))
        == verdict(called(y=1), called(y=True))
        == "metadata_diverges"
    )
    assert verdict(called(y="a"), called(y="b")) == "value_diverges"
    assert verdict(called(y=math.nan), called(y=math.nan)) == "conform"
    assert verdict(called(y=0.0), called(y=-0.0)) == "value_diverges"
    assert verdict(called(y=torch.tensor([1.0])), called()) == "metadata_diverges"


def test_noise_and_proof_come_after_metadata():
    one, two, wide = (
        called(y=torch.tensor([1.0])),
        called(y=torch.tensor([2.0])),
        called(y=torch.tensor([[1.0]])),
    )
    assert verdict([one, one], [one, two]) == "value_diverges", "the worst repetition counts"
    assert verdict([one, two], [one, one]) == verdict([one, two], [two, two]) == "inconclusive"
    assert verdict([one, two], [wide, wide]) == "metadata_diverges"
    assert verdict(one, one, was_compiled=False) == "not_compiled"
    assert verdict(one, two, was_compiled=False) == "value_diverges"
    noisy = {"policies": {"y": "statistical"}}
    assert verdict([one, two], [two, one], **noisy) == "conform"


@pytest.mark.parametrize(
    "eager, compiled, rule, status",
    [
        ("ValueError:no", "ValueError:other", None, "conform"),
        ("ValueError:no", "RuntimeError:other", None, "error_diverges"),
        ("ValueError:no", "RuntimeError:no:refused", None, "refused"),
        ("NotImplementedError:no", "RuntimeError:no:internal", None, "unsupported"),
        ("NotImplementedError:no", "RuntimeError:no:internal", {}, "conform"),
        (
            "NotImplementedError:no",
            "RuntimeError:no:internal",
            {"class": "NotImplementedError"},
            "internal_error",
        ),
        ("ValueError:no", {}, None, "validation_lost"),
        ("NotImplementedError:no", {}, None, "extension"),
        ("NotImplementedError:no", {}, {}, "validation_lost"),
        ({}, "ValueError:no", None, "spurious_error"),
        ({}, "ValueError:no:refused", None, "refused"),
        ("ValueError:no", "ValueError:no:internal", None, "conform"),
        ("ValueError:no", "KeyError:no:internal", None, "internal_error"),
        ({}, {}, {"class": "ValueError"}, "harness"),
        ("ValueError:no", "ValueError:no", {"class": "RuntimeError"}, "harness"),
        ("ValueError:no", "TypeError:no", {"class": "ValueError"}, "error_diverges"),
        ("ValueError:no 12", "ValueError:no 3", {"class": "", "match": r"no \d+$"}, "conform"),
        ("ValueError:no 12", "ValueError:no more", {"match": r"no \d+"}, "error_diverges"),
    ],
)
def test_outcomes(eager, compiled, rule, status):
    assert verdict(eager, compiled, raises=rule) == status


def test_an_expression_that_python_reads_otherwise_is_not_read():
    assert outcomes.is_found("(?:same dtype|expected .*type|Half)", "expected a type")
    assert (
        outcomes.is_found("^a.c$", "abc")
        and not outcomes.is_found("^a.c$", "abc\n")
        and outcomes.is_found("a.c", "a\rc")
    )
    assert (
        not outcomes.is_found("^a.c$", "a\nc")
        and outcomes.is_found("^.$", "…")
        and not outcomes.is_found(r"a\sc", "a\vc")
    )
    assert outcomes.is_found(r"[^\]a]+\(x\){2}", "zz(x))")
    for pattern in r"[[:alpha:]] [^] \cA (a)\1 (?=a) (?P<n>a) a++ a{,2} (?i)a (".split():
        with pytest.raises(CannotTell):
            outcomes.is_found(pattern, "a")
    assert outcomes.is_found("ab$", "a" * 5000 + "b")


def test_samples_near_the_bound_are_not_told_apart():
    generator = torch.Generator().manual_seed(1)
    a, b = (torch.randn(500, generator=generator, dtype=torch.float64) for _ in range(2))
    assert samples_agree(viewed(a), viewed(b), 1e-9) is True
    assert samples_agree(viewed(a), viewed(b + 5), 1e-9) is False
    assert samples_agree(viewed(a), viewed(b * 5), 1e-9) is False
    low, high = 0.0, 5.0
    for _ in range(60):
        middle = (low + high) / 2
        answer = samples_agree(viewed(a), viewed(b + middle), 1e-9)
        if answer is None:
            break
        low, high = (middle, high) if answer else (low, middle)
    assert answer is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        *"near ulp ulp(x) close(1) close(rtol=1) bits(1) any_of()".split(),
        "same(1, 2)",
        "index_equivalent",
        "close(q=1)",
        "bits bits",
        "any_of(close",
        "all_of(nothing)",
    ],
)
def test_what_is_no_policy_is_refused(text):
    with pytest.raises(ValueError):
        parse_policy(text)


def test_a_tensor_that_lockstep_does_not_compare_is_not_judged():
    for value in (
        torch.zeros(2).to_sparse(),
        torch.empty(2, device="meta"),
        [torch.zeros(1)],
        torch.float32,
        1 << 70,
    ):
        with pytest.raises(CannotTell):
            compare_call(called(y=value), called(y=value), {}, Rules({}, "bits", ACCUSING))


def test_a_zero_tensor_is_compared_as_zeros():
    zero, rules = torch._efficientzerotensor([2]), Rules({}, "bits", ACCUSING)
    assert compare_call(called(y=torch.zeros(2)), called(y=zero), {}, rules) == compare_call(
        called(y=zero), called(y=zero), {}, rules
    )
    assert compare_call(called(y=torch.ones(2)), called(y=zero), {}, rules) != compare_call(
        called(y=zero), called(y=zero), {}, rules
    )
