"""The mutation score does not fall: faulty backends that the suite killed when the score was
recorded are killed still. LOCKSTEP_LONG=1 tries every mutant on every level."""

import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "ci" / "mutation"))

import held_out  # noqa: E402
import inside  # noqa: E402
import score  # noqa: E402
from campaign import Campaign, Probed  # noqa: E402
from lockstep_mutants import interpret, turns  # noqa: E402
from lockstep_mutants.compare import SIGN, difference, sharing  # noqa: E402
from lockstep_mutants.registry import CLASSES, MUTANTS, mutant  # noqa: E402
from lockstep_mutants.turns import Fault, chosen  # noqa: E402

torch = pytest.importorskip("torch")
RECORDED, UNOBSERVABLE = score.read(score.SCORE), score.read(score.UNOBSERVABLE)


def mutants(*arguments, timeout=900):
    """The result and the output of `ci/mutants`."""
    return subprocess.run(
        [ROOT / "ci" / "mutants", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def test_there_are_many_of_each_class():
    assert len(MUTANTS) >= 150
    assert {each.cls for each in MUTANTS.values()} == set(CLASSES)


def test_only_those_that_fall_back_say_that_they_compute_themselves():
    assert {each.cls for each in MUTANTS.values() if not each.may_call} == {"fallback"}


def test_every_mutant_has_a_score_or_a_reason():
    missing = set(MUTANTS) - set(RECORDED) - set(UNOBSERVABLE)
    assert {MUTANTS[name].cls for name in missing} <= set(score.NEW)
    assert set(RECORDED) | set(UNOBSERVABLE) <= set(MUTANTS)
    assert set(RECORDED) & set(UNOBSERVABLE) == set()
    assert all(len(reason) > 20 for reason in UNOBSERVABLE.values())


def test_the_recorded_score_is_on_target():
    seen = [
        each
        for name, mutant in MUTANTS.items()
        if name not in UNOBSERVABLE and mutant.cls not in score.NEW
        for each in [RECORDED.get(name, {"level": None})]
    ]
    for level, target in score.TARGETS.items():
        assert sum(score.killed_by(each, level) for each in seen) >= target * len(seen), level


def test_ten_mutants_are_killed_where_they_were_killed():
    """And the same backend without a fault conforms there: else the exit status would say so."""
    done = mutants("--recorded", "--sample", 10, "--seed", 1)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "10 mutants, 10 killed" in done.stdout


def test_each_class_is_tried_without_the_folder_that_kills_most_of_it():
    recorded = {
        "a": {"class": "errors", "level": "smoke", "by": "kernels/x"},
        "b": {"class": "errors", "level": "smoke", "by": "programs/x"},
        "c": {"class": "errors", "level": "smoke", "by": "programs/y"},
        "d": {"class": "errors", "level": "core", "by": "programs/y"},
        "e": {"class": "random", "level": "smoke", "by": "patterns/x"},
    }
    classes = {name: each["class"] for name, each in recorded.items()} | {"unkilled": "errors"}
    some = next(iter(MUTANTS.values()))
    of = {name: dataclasses.replace(some, cls=cls) for name, cls in classes.items()}
    tried = []

    def whole(mutants, without):
        tried.append((sorted(mutants), without))
        levels = {"a": "smoke"}
        return {"mutants": {name: {"level": levels.get(name)} for name in mutants}}

    campaign: Any = SimpleNamespace(say=lambda text: None)
    rows = held_out.held_out(
        campaign, of, recorded, lambda each: score.killed_by(each, "smoke"), whole
    )
    assert sorted(tried) == [(["a", "b", "c"], ["programs/*"]), (["e"], ["patterns/*"])]
    assert sorted(rows) == [("errors", "programs", 3, 1), ("random", "patterns", 1, 0)]
    assert "1  25.0 %" in score.aligned(held_out.table(rows))


@pytest.mark.skipif(
    not os.environ.get("LOCKSTEP_LONG"),
    reason="takes half an hour and more; LOCKSTEP_LONG=1 does it",
)
def test_the_score_is_no_worse_than_recorded(tmp_path):
    done = mutants(
        "--level", "all", "--json", tmp_path / "result.json", "-j", os.cpu_count(), timeout=4 * 3600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert {
        name
        for name, each in json.loads((tmp_path / "result.json").read_text())["mutants"].items()
        if each["level"] is None and each["class"] not in score.NEW
    } == set(UNOBSERVABLE)


def test_faults_inside_of_a_model_are_killed():
    seen = inside.campaign(Campaign(1), ["vit"], 3)["vit"]
    assert seen.wrong == ""
    assert len(seen.faults) == 3 and len(seen.killed) >= 2, inside.survivors(seen)


@pytest.mark.skipif(
    not os.environ.get("LOCKSTEP_LONG"), reason="takes minutes; LOCKSTEP_LONG=1 does it"
)
def test_faults_inside_of_all_models_are_killed():
    assert inside.problems(inside.campaign(Campaign(os.cpu_count() or 1), inside.models())) == []


def test_the_recorded_faults_inside_of_models_are_on_target():
    rows = re.findall(
        r"^\| (\S+) \|.*\| (\d+) \| (\d+) \| [\d.]+ % \|$", inside.RESULTS.read_text(), re.M
    )
    assert [name for name, *_ in rows] == inside.models()
    for name, faults, killed in rows:
        assert int(killed) >= inside.TARGET * int(faults) > 0, name


def test_the_faults_of_a_graph_are_at_the_first_the_middle_and_the_last_step():
    steps = {
        ("exp", "one-element-errs"): [2, 5, 7, 8],
        ("exp", "fast-exp"): [2, 8],
        ("exp", "slow-exp"): [5],
        ("sin", "one-element-errs"): [3],
    }
    found = [
        Fault("fast-exp", "exp", 2, (1, 2)),
        Fault("fast-exp", "exp", 8, (2, 2)),
        Fault("one-element-errs", "exp", 2, (1, 3)),
        Fault("one-element-errs", "exp", 7, (2, 3)),
        Fault("one-element-errs", "exp", 8, (3, 3)),
        Fault("one-element-errs", "sin", 3, (1, 1)),
    ]
    assert chosen(steps, 6) == found
    assert chosen(steps, 3) == found[::2]


def test_what_no_tolerance_hides_is_a_fault():
    x = torch.tensor([1.0, -200.0, float("-inf")])
    for wrong, seen in ((x + 1, False), (x + 3, True), (x.nan_to_num(0), True), (x[:2], False)):
        assert turns.changes(x, wrong) == seen
    assert turns.changes((x, x), (x * 2, x)) and not turns.changes((x, x), (x, x * 2))
    assert turns.changes(x.isinf(), x.isnan()) and not turns.changes(x.isinf(), None)


def result_of(name, level, **changes):
    each = {
        "class": MUTANTS[name].cls,
        "level": level,
        "by": "bugs/x@cpu",
        "status": "value_diverges",
        "reached": {},
        "differed": {},
        "breaks": [],
    }
    return {"defects": [], "mutants": {name: {**each, **changes}}}


@pytest.mark.parametrize(
    "level, words",
    [("smoke", ""), ("core", "was killed by the level smoke"), (None, "and survives")],
)
def test_a_mutant_that_lives_longer_than_it_did_is_a_problem(level, words):
    recorded = {"fast-tanh": {"class": "numerics", "level": "smoke", "by": "bugs/x@cpu"}}
    assert words in "\n".join(
        score.problems(result_of("fast-tanh", level), recorded, {}, score.LEVELS, False)
    )
    assert bool(words) == bool(
        score.problems(result_of("fast-tanh", level), recorded, {}, score.LEVELS, False)
    )


def test_a_survivor_needs_a_reason_and_what_is_killed_has_none():
    assert score.problems(result_of("fast-tanh", None), {}, {}, score.LEVELS, False)
    assert not score.problems(
        result_of("fast-tanh", None), {}, {"fast-tanh": "because"}, score.LEVELS, False
    )
    assert score.problems(
        result_of("fast-tanh", "core"), {}, {"fast-tanh": "because"}, score.LEVELS, False
    )


def test_a_level_below_its_target_is_a_problem():
    assert "smoke kills 0.0 %" in "\n".join(
        score.problems(result_of("fast-tanh", "core"), {}, {}, score.LEVELS, True)
    )


def test_a_failing_twin_is_a_problem():
    found = {**result_of("fast-tanh", "smoke"), "defects": ["bugs/y@cpu"]}
    assert "faultless twin fails on bugs/y@cpu" in "\n".join(
        score.problems(found, {}, {}, score.LEVELS, False)
    )


def test_names_classes_and_samples_choose():
    def names(*words):
        return list(score.chosen(score.parse(words), RECORDED))

    assert names("fast-tanh") == ["fast-tanh"]
    assert {MUTANTS[name].cls for name in names("--class", "state", "--class", "crash")} == {
        "state",
        "crash",
    }
    assert (
        names("--sample", "10", "--seed", "3")
        == names("--sample", "10", "--seed", "3")
        != names("--sample", "10", "--seed", "4")
    )
    assert len({MUTANTS[name].cls for name in names("--sample", "12")}) == 12
    with pytest.raises(SystemExit, match="no mutant fast-tan;"):
        names("fast-tan")


def test_cases_that_are_left_out_are_neither_probed_nor_tried():
    class Fake(Campaign):
        def __init__(self):
            self.records, self.probed = {}, set()

        def instances(self, level):
            case = ("cases/a.json", ["aten::tanh"])
            return {"structured/norms[of=x]@cpu": case, "bugs/1-tanh@cpu": case}

        def probe(self, instances):
            self.probed |= set(instances)
            return {each: Probed("conform", {"fast-tanh": 1.0}) for each in instances}

        def defects(self, probed):
            return []

        def run(self, pairs, limits=()):
            return dict.fromkeys(pairs, "value_diverges")

        def say(self, text):
            pass

    fake, tried = Fake(), {"fast-tanh": MUTANTS["fast-tanh"]}
    result = score.whole(fake, tried, ("smoke",), {}, lambda result: None, ["structured/*"])
    assert fake.probed == {"bugs/1-tanh@cpu"}
    assert result["mutants"]["fast-tanh"]["by"] == "bugs/1-tanh@cpu"


def test_two_mutants_of_one_name_and_one_without_words_are_refused():
    with pytest.raises(ValueError, match="two mutants fast-tanh"):
        mutant("fast-tanh", "numerics", "op", print, "twice")
    with pytest.raises(ValueError, match="say what goes wrong"):
        mutant("nobody-knows", "numerics", "op", print, "")
    with pytest.raises(ValueError, match="is none of"):
        mutant("no-such-class", "cosmetics", "op", print, "of no class")


@pytest.mark.parametrize(
    "right, wrong, differs",
    [
        ([1.0, float("nan")], [1.0, float("nan")], 0),
        ([1.0, 2.0], [1.0, 2.5], 0.25),
        ([0.0], [-0.0], SIGN),
        ([1.0], [float("inf")], 1),
        ([1, 2], [1, 3], 1),
        ([True], [False], 1),
    ],
)
def test_differences_are_measured(right, wrong, differs):
    assert difference(torch.tensor(right), torch.tensor(wrong)) == pytest.approx(differs, abs=0)


def test_differences_of_metadata_are_gross():
    x = torch.ones(2, 3)
    for other in (
        x.double(),
        x.t().contiguous().t(),
        x[None],
        x.clone().requires_grad_(),
        torch.ones(7)[1:].view(2, 3),
    ):
        assert difference(x, other) == 1
    assert difference(x, x.clone()) == difference([x, 1], [x.clone(), 1]) == 0
    assert difference([x], [x, x]) == difference(1, 1.0) == 1
    assert sharing([x, x[0], torch.ones(1)]) == [(0, 1)]


def functions(x):
    return x.tanh().sum() + x.sin().sum(), x.neg()


def compiled(backend, *tensors):
    torch._dynamo.reset()
    return torch.compile(functions, backend=f"lockstep_mutant_{backend}", fullgraph=True)(*tensors)


def test_a_mutant_changes_what_it_names_and_the_twin_nothing():
    x = torch.linspace(-2, 2, 7)
    total, negative = functions(x)
    for backend, changes in (("faultless", False), ("fast_tanh", True), ("fast_log", False)):
        found = compiled(backend, x)
        assert bool(found[0] != total) == changes, backend
        assert torch.equal(found[1], negative)


def test_a_mutant_of_the_backward_leaves_the_forward_alone():
    grads = []
    for backend in ("faultless", "tanh_differentiated_without_square"):
        x = torch.linspace(-2, 2, 7).requires_grad_()
        total, _ = compiled(backend, x)
        assert torch.equal(total, functions(x)[0])
        total.backward()
        grads.append(x.grad)
    assert not torch.allclose(*grads)


def test_the_twin_tells_what_each_mutant_would_have_made(tmp_path, monkeypatch):
    records = tmp_path / "records.jsonl"
    monkeypatch.setenv(interpret.RECORDS, str(records))
    monkeypatch.setenv(interpret.INSTANCE, "bugs/1@cpu")
    monkeypatch.setattr(interpret, "RECORDED", interpret.Records())
    compiled("faultless", torch.linspace(-2, 2, 7))
    record = json.loads(records.read_text().splitlines()[-1])
    assert record["instance"] == "bugs/1@cpu"
    assert record["mutants"]["fast-tanh"] == pytest.approx(1e-4, rel=0.1)
    assert record["mutants"]["sine-of-a-reduced-argument"] == 0  # reached, and right there
    assert "fast-log" not in record["mutants"]
    assert "tensors" in record["facts"]


def test_a_class_that_is_new_counts_for_no_target():
    new = next(name for name, each in MUTANTS.items() if each.cls in score.NEW)
    assert not score.problems(result_of(new, None), {}, {}, score.LEVELS, True)
    recorded = {new: {"class": MUTANTS[new].cls, "level": "all", "by": "bugs/x@cpu"}}
    assert score.problems(result_of(new, None), recorded, {}, score.LEVELS, True)


def test_faults_of_structure_are_where_they_say():
    """Each on a tensor for which its docstring says so, called as the interpreter calls it."""
    aten = torch.ops.aten
    far, masked = 4096 + torch.randn(3, 50), torch.full((2, 5), float("-inf"))
    nan, cube = torch.tensor([1.0, float("nan"), 3.0]), torch.arange(27.0).view(3, 3, 3)
    image = torch.randn(1, 2, 4, 4).contiguous(memory_format=torch.channels_last)
    calls = {
        "layer-norm-by-squares": (aten.native_layer_norm.default, far, [50], None, None, 1e-5),
        "softmax-of-a-masked-row-is-zero": (aten._softmax.default, masked, 1, False),
        "topk-loses-nan": (aten.topk.default, nan, 2),
        "cube-is-reduced-along-the-last": (aten.sum.dim_IntList, cube, [-2]),
        "negative-places-are-zero": (aten.take.default, nan, torch.tensor([-1])),
        "square-channels-last-is-transposed": (aten.max_pool2d_with_indices.default, image, [2, 2]),
        "cholesky-of-the-other-triangle": (
            aten.linalg_cholesky_ex.default,
            torch.tensor([[4.0, 1.0], [2.0, 5.0]]),
        ),
    }
    for name, (op, *args) in calls.items():
        right, wrong = op(*args), MUTANTS[name].fault(op, *args)
        assert difference(right, wrong) > 0, name
    assert MUTANTS["topk-loses-nan"].fault(aten.topk.default, cube[0, 0], 2) is None
    assert MUTANTS["cube-is-reduced-along-the-last"].fault(aten.amax.default, cube) is None
