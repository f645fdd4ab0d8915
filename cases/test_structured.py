"""The family of operators with structure: its files are what ci/structured_cases.py writes, every
pair of its factors meets, no operator is forgotten, and arguments off their defaults tell."""

import itertools
import json
import os
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
HOME = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(HOME / "ci"))

from structured import covering, dispatcher, family, generate  # noqa: E402
from structured.tensors import placed, tensor  # noqa: E402

PARTS = {part.file: part for part in generate.PARTS}


def schemas():
    dump = Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "schemas.json"
    if not dump.exists():
        pytest.skip("no dump of torch's operators")
    return json.loads(dump.read_text())["operators"]


@pytest.mark.parametrize("file", PARTS)
def test_the_files_are_what_is_generated(file):
    written = generate.FOLDER / f"{file}.json"
    assert written.read_text() == generate.document(PARTS[file]), (
        "run: python ci/structured_cases.py"
    )


def test_there_are_no_other_files():
    assert {file.stem for file in generate.FOLDER.glob("*.json")} == set(PARTS)


def test_every_pair_meets():
    factors = {"a": (1, 2, 3), "b": (1, 2, 3, 4), "c": (1, 2)}
    found = covering.rows(factors, lambda row: True)
    assert len(found) < 24  # of the product
    for one, other in itertools.combinations(factors, 2):
        assert {(row[one], row[other]) for row in found} == set(
            itertools.product(factors[one], factors[other])
        )


def test_what_is_not_allowed_is_in_no_row_and_costs_no_other_pair():
    def allowed(row):
        return not (row.get("a") == 1 and row.get("b") == 1)

    found = covering.rows({"a": (1, 2), "b": (1, 2), "c": (1, 2)}, allowed)
    assert all(map(allowed, found))
    assert {(row["b"], row["c"]) for row in found} == {(1, 1), (1, 2), (2, 1), (2, 2)}


def test_it_goes_back_on_a_choice_that_leads_nowhere():
    def allowed(row):
        return len(row) < 3 or (row["a"], row["b"], row["c"]) == (2, 2, 2)

    assert covering.rows({"a": (1, 2), "b": (1, 2), "c": (1, 2)}, allowed) == [
        {"a": 2, "b": 2, "c": 2}
    ]


def test_no_operator_with_structure_is_forgotten():
    called = {call.op for part in PARTS.values() for group in part.calls for call in group}
    assert dispatcher.unlisted(schemas(), called) == {}, (
        "call it in ci/structured, or excuse it in dispatcher.py"
    )


def test_it_would_see_one_that_is_forgotten():
    assert dispatcher.unlisted(schemas(), {"sum.dim_IntList"})["topk"] == "row"


def test_no_excuse_is_idle():
    found = [name for name, _ in dispatcher.structured(schemas())]
    for glob in dispatcher.EXCUSED:
        assert any(dispatcher.fnmatch.fnmatchcase(name, glob) for name in found), glob


def test_every_call_has_an_instance():
    for part in PARTS.values():
        rows = {row["call"].label for row in family.rows(part)}
        assert {call.label for group in part.calls for call in group} == rows


def test_a_special_number_stands_where_it_should():
    x = tensor([2, 5], layout="transposed", special="nan", place="middle")
    assert x["strides"] == [1, 2] and x["except"] == {"nan": [1 + 2 * 2]}
    assert tensor([2, 3], special="masked")["except"] == {"-inf": [3, 4, 5]}
    assert tensor([4], layout="misaligned", special="infinity", place="last")["except"] == {
        "inf": [4]
    }
    assert placed([2, 3, 4, 4], "channels-last") == ([48, 1, 12, 3], 0)
    assert placed([3, 5], "expanded") == ([0, 1], 0)
    assert placed([5], "expanded") == ([0], 0)


# Arguments off their defaults ---------------------------------------------------------------------


def drawn(spec, seed):
    """An input of a case as a tensor, with numbers of this test's own."""
    generator = torch.Generator().manual_seed(seed)
    dtype = getattr(torch, spec["dtype"])
    if "values" in spec:
        return torch.tensor(spec["values"], dtype=dtype).reshape(
            spec.get("shape", torch.tensor(spec["values"]).shape)
        )
    fill, shape = spec["fill"], spec["shape"]
    n = int(torch.tensor(shape).prod())
    if "constant" in fill:
        return torch.full(shape, fill["constant"], dtype=dtype)
    if "permutation" in fill:
        block = fill["permutation"].get("block") or n
        order = [torch.randperm(block, generator=generator) for _ in range(n // block)]
        return torch.cat(order).reshape(shape) if order else torch.zeros(shape, dtype=dtype)
    if "arange" in fill:
        start, step = fill["arange"]["start"], fill["arange"].get("step", 1)
        return (start + step * torch.arange(n)).to(dtype)
    if "mask" in fill:
        return torch.rand(shape, generator=generator) < 0.5
    if "integers" in fill:
        low, high = fill["integers"]["low"], fill["integers"]["high"]
        return torch.randint(low, high, shape, generator=generator)
    if "uniform" in fill:
        low, high = fill["uniform"].get("low", 0), fill["uniform"].get("high", 1)
        return low + (high - low) * torch.rand(shape, generator=generator, dtype=dtype)
    if "powers_of_two" in fill:
        return torch.randint(0, 2, shape, generator=generator).to(dtype) * 2 - 1
    if "small_integers" in fill or dtype == torch.int64:
        return torch.randint(-2, 3, shape, generator=generator).to(dtype)
    normal = torch.randn(shape, generator=generator, dtype=dtype)
    return normal + fill.get("normal", {}).get("mean", 0)


def with_default(made, position):
    """The instance without an argument that has a default, at a place of the schema; None where
    it is not given, or given as its default."""
    argument = family.overload(made["op"])._schema.arguments[position]
    if not argument.has_default_value():
        return None
    if position < len(made["args"]):
        value = argument.default_value
        if made["args"][position] == value or made["args"][position] in ("float64",):
            return None
        args = [*made["args"]]
        args[position] = value
        return {**made, "args": args}
    if argument.name in made["kwargs"] and made["kwargs"][argument.name] != argument.default_value:
        kwargs = {name: each for name, each in made["kwargs"].items() if name != argument.name}
        return {**made, "kwargs": kwargs}
    return None


def results(made, seed):
    """What eager computes, with the gradients of the inputs that ask for them."""
    drawn_inputs = [drawn(spec, seed + at) for at, spec in enumerate(made["inputs"].values())]
    inputs = dict(zip(made["inputs"], drawn_inputs))
    asking = [
        x for x, spec in zip(drawn_inputs, made["inputs"].values()) if "requires_grad" in spec
    ]
    for x in asking:
        x.requires_grad_()
    found = family.executed(made, inputs)
    if made["backward"]:
        of = found[made["outputs"].index(made["backward"]["of"][0])]
        found += torch.autograd.grad(of, asking, torch.ones_like(of), allow_unused=True)
    return [x.detach() for x in found if x is not None]


def same(one, other):
    return len(one) == len(other) and all(
        a.shape == b.shape and a.dtype == b.dtype and torch.equal(a.nan_to_num(), b.nan_to_num())
        for a, b in zip(one, other)
    )


@pytest.mark.parametrize("file", PARTS)
def test_eager_takes_every_instance(file):
    """What it refuses would be unsupported, and nobody would see."""
    refused = {}
    for row in family.rows(PARTS[file]):
        made = family.choice(PARTS[file], row)
        try:
            results(made, 1)
        except (RuntimeError, IndexError, ValueError) as error:
            refused[made["is"]] = str(error).partition("\n")[0]
    assert refused == {}


@pytest.mark.parametrize("file", PARTS)
def test_each_argument_off_its_default_changes_what_eager_computes(file):
    """In some instance of the call."""
    told, given = set(), set()
    for row in family.rows(PARTS[file]):
        if row["size"] > 2000:
            continue
        made = family.choice(PARTS[file], row)
        for position, argument in enumerate(family.overload(made["op"])._schema.arguments):
            key = (row["call"].label, argument.name)
            other = None if key in told else with_default(made, position)
            if other is None:
                continue
            given.add(key)
            try:
                changed = not same(results(made, 1), results(other, 1))
            except (RuntimeError, IndexError, ValueError):
                changed = True  # eager refuses the default here; that it takes the other is tested
            if changed:
                told.add(key)
    assert given - told == set()
