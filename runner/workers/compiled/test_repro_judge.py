"""The reproducer's judge against Lockstep's: thousands of generated pairs of values under every
policy.

Needs the core tests' executable (LOCKSTEP_CORE_TESTS); without it the agreement is skipped."""

import functools
import itertools
import math
import os
import pathlib
import random
import re
import sys
import types
import unittest.mock

import pytest
import torch

RUNNER = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(next(RUNNER.glob("judge/**/test_upstream.py")).parent))

from test_upstream import Pairs  # noqa: E402

from lockstep_worker.repro.execution.golds import Steps  # noqa: E402
from lockstep_worker.repro.rules import contract_rules, rule_text  # noqa: E402
from lockstep_worker.repro.script import judge, policies  # noqa: E402
from lockstep_worker.repro.script import policies as policies_module  # noqa: E402
from lockstep_worker.repro.script.values import (  # noqa: E402
    WORDS,
    CannotTell,
    Lost,
    alias_difference,
    metadata_difference,
    value_of,
)

FLOATS = """float16 bfloat16 float32 float64 float8_e5m2 float8_e4m3fn float8_e5m2fnuz
    float8_e4m3fnuz float8_e8m0fnu""".split()
#: Complex and quantized dtypes → the dtype of the numbers that an element consists of.
PARTS = {
    "complex32": "float16",
    "complex64": "float32",
    "complex128": "float64",
    "qint8": "int8",
    "quint8": "uint8",
    "qint32": "int32",
}
OPAQUE = ["float4_e2m1fn_x2", "bits8", "bits16"]
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
    close(k=1024); close(rtol=0.001, atol=0, k=7); no_worse(1); no_worse(4); no_worse(0.5);
    stepwise(1); stepwise(0); decided; any_of(close, no_worse(1)); any_of(bits, ulp(2));
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
    return value_of("y", tensor)


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


def as_gold(tensor, dtype=torch.float64):
    """The numbers of a tensor, as a gold of that dtype has them; integers stay as they are."""
    if tensor.is_quantized or not (tensor.is_floating_point() or tensor.is_complex()):
        return tensor
    numbers = viewed(tensor).numbers.double()
    wide = torch.view_as_complex(numbers) if tensor.is_complex() else numbers[..., 0]
    return wide.contiguous()


def a_gold(rng, ref, res):
    """A gold near one of the two sides, or beside both."""
    gold = as_gold(rng.choice([ref, res])).clone()
    if gold.dtype in (torch.float64, torch.complex128) and rng.random() < 0.6:
        apart = (as_gold(res) - as_gold(ref)).nan_to_num()
        gold = gold + apart * rng.choice([0.375, -0.4, 1.0, 3.0])
    return gold


def rounded(gold, ref):
    """A stepwise gold, which has the dtype of eager."""
    return gold.to(ref.dtype) if gold.dtype in (torch.float64, torch.complex128) else gold


def samples_for(rng, ref, gold):
    """Eight samples of noise around a gold, in the dtype of eager."""
    if rng.random() < 0.3:
        return []
    if gold.dtype not in (torch.float64, torch.complex128):
        return [rng.choice([ref, gold]) for _ in range(8)]
    size = rng.choice([0.0, 1e-7, 1e-3, 0.05, 0.3])
    made = [gold * (1 + rng.uniform(-size, size)) for _ in range(8)]
    return [sample.to(ref.dtype) for sample in made]


def rule_of(text, floating):
    """The rule of a policy, or of a contract, as a script has it."""
    if text.startswith("contract "):
        floats, _, others = contract_rules(text.split()[1])
        text = floats if floating else others
    else:
        text = rule_text(text)
    return eval(text, vars(policies))


def answer_of(rule, ref, res, gold=None, samples=(), module=policies):
    """Whether a policy holds of two tensors, with such a gold of both kinds."""

    def golds(kind):
        found = list(samples) if kind.endswith("noise") else [gold] * (gold is not None)
        found = [rounded(each, ref) for each in found] if kind == "stepwise" else found
        if not found:
            raise Lost("none was made")
        return [viewed(each) for each in found]

    pair = module.Pair(viewed(ref), viewed(res), golds)
    return not rule_of(rule, pair.floating)(pair)


def questions(rng, count, pairs):
    """Pairs of every dtype under every policy, with golds or without, asked of Lockstep; what the
    script answers."""
    asked = []
    for dtype, policy in itertools.islice(
        itertools.cycle(itertools.product(DTYPES, POLICIES)), count
    ):
        ref, res = a_pair(rng, dtype)
        gold = a_gold(rng, ref, res) if rng.random() < 0.8 and dtype not in OPAQUE else None
        samples = samples_for(rng, ref, gold) if gold is not None else []
        narrow = None if gold is None else pairs.add(rounded(gold, ref))
        added = [pairs.add(each) for each in samples]
        pairs.ask(policy, ref, res, gold, stepwise=narrow, samples=added)
        asked.append((policy, ref, res, gold, samples))
    return asked


def test_every_policy_decides_as_lockstep_does(tmp_path):
    """With golds and samples of their noise, of which each decides somewhere, and without."""
    pairs = Judged()
    asked = questions(random.Random(3), PAIRS, pairs)
    mine, answers = [answer_of(*each) for each in asked], pairs.answers(tmp_path)
    wrong = [
        (each[0], q["ref"], a, b)
        for each, q, a, b in zip(asked, pairs.questions, mine, answers, strict=True)
        if a != b
    ]
    assert not wrong, f"{len(wrong)} of {len(mine)}, first: {wrong[:5]}"
    decided: dict = {}
    for (policy, *_), answer in zip(asked, mine, strict=True):
        decided.setdefault(policy, set()).add(answer)
    # A rule that never breaks is not tested; every default policy is decisive.
    assert all(found == {True, False} or "metadata" in rule for rule, found in decided.items()), (
        decided
    )
    without = [answer_of(*each[:3]) for each in asked]
    unheard = [answer_of(*each[:4]) for each in asked]
    for told, why in ((without, "gold"), (unheard, "noise")):
        matters = {each[0] for each, a, b in zip(asked, mine, told, strict=True) if a != b}
        assert {"no_worse(1)", "stepwise(1)", "contract values"} <= matters, (why, matters)


#: What is changed in the judge, and into what.
MUTANTS = [
    ("apart > most), f", "apart > most + 1), f"),
    ("(1e-3, 1e-5)", "(1e-3, 1e-4)"),
    ("(1.3e-6, 1e-5)", "(2e-6, 1e-5)"),
    ("atol + rtol * size", "atol + rtol * size * 1.1"),
    ("16 * math.sqrt(k)", "8 * math.sqrt(k)"),
    (".to(half).to(wide) > allowed", " > allowed"),
    ("max(mine, 2 * noise)", "max(mine, noise)"),
    ("max(mine, 2 * noise)", "max(2 * mine, 2 * noise)"),
    ("gold.abs() / 8", "gold.abs() / 4"),
    ("min(2 + looked // 8, 8)", "min(3 + looked // 8, 8)"),
    ("(apart > mine + slack), 0", "(apart > mine + 2 * slack), 0"),
    ("2 * ties * pair.times + 2 if", "ties * pair.times + 2 if"),
    ("away > 2 * (most - least)", "away > 3 * (most - least)"),
    ("pair.unequal & pair.finite & ~gold.isfinite()", "pair.special & ~gold.isfinite()"),
    ('* (kind == "fp64")', "* 0"),
    ("torch.full_like(numbers, eps(dtype))", "torch.full_like(numbers, 2 * eps(dtype))"),
    ("-magnitude, magnitude", "magnitude, magnitude"),
    ("self.differing & (self.x != self.y) if self.floating", "self.differing if self.floating"),
    ("~(self.x.isnan() & self.y.isnan())", "~self.x.isnan()"),
    ("self.elements // max(math.prod(self.shape), 1)", "1"),
]


def test_a_mutated_judge_is_caught(tmp_path):
    pairs = Judged()
    asked = questions(random.Random(11), 3 * PAIRS, pairs)
    answers = pairs.answers(tmp_path)
    text, survived = pathlib.Path(policies.__file__).read_text("utf-8"), []
    for before, after in MUTANTS:
        assert text.count(before) >= 1, before
        mutant = types.ModuleType(policies.__name__)
        mutant.__package__ = policies.__package__
        exec(compile(text.replace(before, after), "mutant", "exec"), vars(mutant))

        def differs(each, answer, mutant=mutant):
            rule, ref, res, gold, samples = each
            with unittest.mock.patch.dict(vars(policies), vars(mutant)):
                return answer_of(rule, ref, res, gold, samples, mutant) != answer

        if not any(map(differs, asked, answers)):
            survived.append((before, after))
    assert not survived


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
    names = {name.replace("__", " "): value for name, value in values.items()}
    return {name: value_of(name, value) for name, value in names.items()}


def the_case(contract="bits", policies=None, **rest):
    """A case as a script has it; nobody makes golds for it."""

    def golds(case, repetition, call, name, kind):
        raise Lost("nobody makes golds here")

    given = policies or {}
    rules = {name: rule_of(policy, True) for name, policy in given.items()}
    names = zip(("floats", "gradients", "others"), contract_rules(contract), strict=True)
    return types.SimpleNamespace(
        rules=rules,
        **{name: eval(text, vars(policies_module)) for name, text in names},
        golds=golds,
        errors=judge.judge_errors,
        left=judge.left,
        free=[name for name, policy in given.items() if policy in ("metadata", "statistical")],
        **{"strides": "significant", "raises": None, "reseed": False, "repeat": 1, **rest},
    )


def executed(side):
    """What an execution left behind: calls, or an error such as `ValueError:text:internal`."""
    done = types.SimpleNamespace(runs=[], states=[], overwritten=[], error=None)
    if isinstance(side, str):
        kind, message, *whose = side.split(":")
        done.error = {"class": kind, "message": message, "kind": (whose or ["error"])[0]}
    else:
        done.runs = [[call] for call in (side if isinstance(side, list) else [side])]
    return done


def verdict(eager, compiled, contract="bits", before=None, was_compiled=True, **rest):
    """The judge's status on one call, or on several repetitions of it; `cannot tell: why`."""
    case = the_case(contract, **rest)
    case.proof = lambda: was_compiled
    try:
        found = judge.verdict(case, executed(eager), executed(compiled), [before or {}])
    except CannotTell as why:
        return f"cannot tell: {why}"
    return found[0].status if found else "conform"


def test_who_shares_memory_with_whom():
    base = torch.zeros(4)
    shared, apart = called(input__x=base, y=base[1:]), called(input__x=base, y=base[1:].clone())
    assert alias_difference(shared, shared) == ""
    assert alias_difference(shared, apart) == "y shares memory with input x in eager"
    assert alias_difference(apart, shared) == "y does not share memory with input x in eager"
    assert "another offset" in alias_difference(shared, called(input__x=base, y=base[:3]))
    assert (
        alias_difference(called(a=base[:0], b=base[:0]), called(a=base[:0], b=torch.zeros(0))) != ""
    ), "its storage has bytes"
    nothing = torch.zeros(0)
    assert alias_difference(called(a=nothing, b=nothing), called(a=nothing, b=torch.zeros(0))) == ""
    assert verdict(shared, apart) == "aliasing_diverges"


def compared(eager, compiled):
    """What the judge finds of an output under the policy `bits`."""
    return judge.compare(the_case(), "y", value_of("y", eager), value_of("y", compiled), None, None)


def test_metadata_hide_no_values():
    wide = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    other = torch.tensor([[1.0, 2.0], [3.0, 5.0]]).t().contiguous().t()
    found = compared(wide, other)
    assert [each.status for each in found] == ["metadata_diverges", "value_diverges"]
    found = compared(wide, other.double())
    assert [each.status for each in found] == ["metadata_diverges"], "of another dtype"


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
        verdict(called(y=torch.tensor([1.0])), called(y=torch.tensor([1.5])), "values")
        == "value_diverges"
    ), "without a gold, as for Lockstep"
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
    noise = "cannot tell: eager disagrees with itself: y"
    assert verdict([one, two], [one, one]) == verdict([one, two], [two, two]) == noise
    assert verdict([one, two], [wide, wide]) == "metadata_diverges"
    assert verdict(one, one, was_compiled=False) == "not_compiled"
    assert verdict(one, two, was_compiled=False) == "value_diverges"
    assert verdict([one, two], [two, one], policies={"y": "metadata"}) == "conform"
    assert verdict(one, two, policies={"y": "statistical"}).startswith("cannot tell: only Lockstep")


@pytest.mark.parametrize(
    "eager, compiled, rule, status",
    [
        ("ValueError:no", "ValueError:other", None, "conform"),
        ("ValueError:no", "RuntimeError:other", None, "error_diverges"),
        ("ValueError:no", "RuntimeError:no:refused", None, "cannot tell: the compiler refuses"),
        (
            "NotImplementedError:no",
            "RuntimeError:no:internal",
            None,
            "cannot tell: neither can do it",
        ),
        ("NotImplementedError:no", "RuntimeError:no:internal", {}, "conform"),
        (
            "NotImplementedError:no",
            "RuntimeError:no:internal",
            {"class": "NotImplementedError"},
            "internal_error",
        ),
        ("ValueError:no", {}, None, "validation_lost"),
        ("NotImplementedError:no", {}, None, "cannot tell: compiled can do more"),
        ("NotImplementedError:no", {}, {}, "validation_lost"),
        ({}, "ValueError:no", None, "spurious_error"),
        ({}, "ValueError:no:refused", None, "cannot tell: the compiler refuses"),
        ("ValueError:no", "ValueError:no:internal", None, "conform"),
        ("ValueError:no", "KeyError:no:internal", None, "internal_error"),
        ({}, {}, {"class": "ValueError"}, "cannot tell: the case is about another error"),
        (
            "ValueError:no",
            "ValueError:no",
            {"class": "RuntimeError"},
            "cannot tell: the case is about another error",
        ),
        ("ValueError:no", "TypeError:no", {"class": "ValueError"}, "error_diverges"),
        ("ValueError:no 12", "ValueError:no 3", {"class": "", "match": r"no \d+$"}, "conform"),
        ("ValueError:no 12", "ValueError:no more", {"match": r"no \d+"}, "error_diverges"),
    ],
)
def test_outcomes(eager, compiled, rule, status):
    assert verdict(eager, compiled, raises=rule).startswith(status)


def is_found(pattern, text):
    return judge.is_it({"match": pattern}, {"class": "", "message": text})


def test_an_expression_that_python_reads_otherwise_is_not_read():
    assert is_found("(?:same dtype|expected .*type|Half)", "expected a type")
    assert is_found("^a.c$", "abc") and not is_found("^a.c$", "abc\n") and is_found("a.c", "a\rc")
    assert not is_found("^a.c$", "a\nc") and is_found("^.$", "…") and is_found(r"a\$", "a$b")
    assert is_found(r"[^b]a+\(x\){2}", "zza(x))")
    for pattern in r"[[:alpha:]] [^] \cA (a)\1 (?=a) (?P<n>a) a++ a{,2} (?i)a ( a\sb".split():
        with pytest.raises(CannotTell):
            is_found(pattern, "a")
    assert is_found("ab$", "a" * 5000 + "b")


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
        rule_text(text)


def test_a_tensor_that_lockstep_does_not_compare_is_not_judged():
    for value in (
        torch.zeros(2).to_sparse(),
        torch.empty(2, device="meta"),
        [torch.zeros(1)],
        torch.float32,
        1 << 70,
    ):
        with pytest.raises(CannotTell):
            value_of("y", value)


def test_a_zero_tensor_is_compared_as_zeros():
    zero = torch._efficientzerotensor([2])
    assert not compared(torch.zeros(2), zero) and compared(torch.ones(2), zero)


def test_a_mismatch_says_whether_it_is_the_recorded_one():
    found = judge.Found("value_diverges", "y", "", 3e-4, 40)
    recorded = {"status": "value_diverges", "name": "y", "|Δ|": 2e-4, "ulp": 30}
    assert judge.another(recorded, found).startswith("the recorded divergence: |Δ| 0.0003")
    smaller = judge.another(recorded, found._replace(distance=2.3e-10))
    assert smaller == "another divergence, smaller: |Δ| 2.3e-10, recorded 0.0002"
    greater = judge.another({**recorded, "|Δ|": None}, found._replace(ulp=301))
    assert greater == "another divergence, greater: ulp 301, recorded 30"
    for other in (found._replace(name="z"), found._replace(status="nonfinite_diverges")):
        assert judge.another(recorded, other).startswith("another divergence: recorded was value")


# The golds that a script makes --------------------------------------------------------------------


def run(program, given, kind, sample=0):
    """A program under a gold: what it returns."""
    notes: list = []
    torch.manual_seed(1)
    with Steps("", notes):
        program(**given)
    torch.manual_seed(1)
    steps = Steps(kind, notes, sample)
    inputs = steps.inputs(given)
    before = torch.get_default_dtype()
    try:
        with steps:
            return program(**inputs)
    finally:
        torch.set_default_dtype(before)


def test_fp64_widens_inputs_and_drops_casts():
    x = torch.arange(20, dtype=torch.float32) / 7
    y = run(lambda x: x.to(torch.float16).to(torch.float32) + torch.ones(20), {"x": x}, "fp64")
    assert torch.equal(y, x.double() + 1)
    whole = run(lambda x: x.sum().to(torch.int64), {"x": x}, "fp64")
    assert whole.dtype == torch.int64
    shared = torch.zeros(4)
    seen = Steps("fp64", []).inputs({"a": shared, "b": shared[1:], "n": 3})
    seen["b"].add_(1)
    assert seen["a"].tolist() == [0, 1, 1, 1] and seen["n"] == 3


def test_stepwise_rounds_each_step_as_eager_does():
    x = torch.arange(20, dtype=torch.float32) / 7
    y = run(lambda x: x.half().float(), {"x": x}, "stepwise")
    assert torch.equal(y, x.half().float())
    z = run(lambda x: x.exp().mul_(3), {"x": x.bfloat16()}, "stepwise")
    assert torch.equal(z, (x.bfloat16().double().exp().bfloat16().double() * 3).bfloat16())
    sevenths = run(lambda x: x.add(1.7), {"x": torch.tensor([-1.703125]).bfloat16()}, "stepwise")
    assert sevenths.item() == 0, "the number was rounded first, as eager does"


def test_noise_moves_what_rounds_and_nothing_else():
    x = torch.rand(1000, generator=torch.Generator().manual_seed(1))
    exact = run(lambda x: x[::2].clone() * 2, {"x": x}, "fp64_noise")
    assert torch.equal(exact, x[::2] * 2)
    rounded = [run(lambda x: x * x, {"x": x}, "fp64_noise", sample) for sample in range(2)]
    assert not torch.equal(*rounded)
    unit = policies.unit(x.double().square(), torch.float32)
    assert ((rounded[0].double() - x.double().square()).abs() <= unit).all()
    sums = {run(lambda x: x.sum(), {"x": x}, "fp64_noise", sample).item() for sample in range(8)}
    assert len(sums) > 1 and all(abs(each - x.double().sum()) < 1e-3 for each in sums)


def test_numbers_that_eager_drew_are_the_golds_too():
    x, ones = torch.ones(50), torch.ones(50, requires_grad=True)
    drawn = run(lambda x: torch.rand_like(x), {"x": x}, "fp64")
    torch.manual_seed(1)
    assert drawn.dtype == torch.float64 and torch.equal(drawn, torch.rand(50).double())
    dropped = run(lambda x: torch.nn.functional.dropout(x, 0.5), {"x": ones}, "fp64")
    torch.manual_seed(1)
    assert torch.equal(dropped, torch.nn.functional.dropout(ones, 0.5).double())
    with pytest.raises(Lost, match="other numbers"):
        run(lambda x: torch.poisson(x), {"x": x}, "fp64")


def test_gradients_have_golds():
    def program(x):
        y = torch.nn.functional.gelu(x).sum()
        return torch.autograd.grad(y, x)[0]

    x = torch.randn(20, generator=torch.Generator().manual_seed(2), requires_grad=True)
    assert torch.equal(run(program, {"x": x}, "fp64"), program(x.double()))
    assert run(program, {"x": x}, "stepwise").dtype == torch.float32
