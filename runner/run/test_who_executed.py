"""Who executed it: a backend of each kind, through the real binary. What others computed must not
be green."""

import json
import os
import pathlib
import subprocess

import pytest
from bare_suite import make_suite
from test_sabotage import ROOT, path_file

DATA = pathlib.Path(__file__).resolve().parent / "testdata" / "executed"
#: Kind → status on `bugs/executed`, words of its reason, share, operators of others.
KINDS = {
    "honest": ("conform", "", 0, set()),
    "forward": ("fell_back", "as eager does", 1, {"aten::mm", "aten::relu", "aten::sum"}),
    "partly": ("conform", "", 2 / 3, {"aten::relu", "aten::sum"}),
    "after_an_exception": (
        "fell_back",
        "as eager does",
        1,
        {"aten::mm", "aten::relu", "aten::sum"},
    ),
    "on_a_thread": ("fell_back", "as eager does", 1, {"aten::mm", "aten::relu", "aten::sum"}),
    "while_it_profiles": ("fell_back", "as eager does", 1, {"aten::mm", "aten::relu", "aten::sum"}),
    "inductor": ("fell_back", "as inductor does", 1, {"aten::mm", "inductor/cpp_fused_relu_sum"}),
    "by_value": ("fell_back", "as eager does", 1, {"aten::mm", "aten::relu", "aten::sum"}),
    # `run --strict` asks it other inputs, too: ci/test_cheats.py
    "by_shape": ("state_diverges", "memory: compiled keeps", 0, set()),
    "in_one_place": ("state_diverges", "memory: compiled keeps", 0, set()),
    "elsewhere": ("conform", "", 0, set()),
    "through_aot": ("fell_back", "as eager does", 1, {"aten::mm", "aten::relu", "aten::sum"}),
}
#: Torch's own, and what a path file says: name → (changes of the path file, how it is known who
#: executed).
OTHERS: dict[str, tuple[dict, str | None]] = {
    "eager": ({"backend": "eager"}, None),
    "aot-eager": ({"backend": "aot_eager"}, None),
    "inductor": ({"backend": "inductor"}, "observed"),
    "on-purpose": (
        {"backend": "lockstep_vendor_forward", "may_call": ["aten::mm", "aten::[rs]*"]},
        "observed",
    ),
    "inductor-said": ({"backend": "lockstep_vendor_inductor", "executes": "inductor"}, "observed"),
}


def run(folder, *arguments, files, **environment):
    """Runs the binary; verdicts by case and path."""
    words = [word for file in files for word in ("--path-file", str(file), "--path", file.stem)]
    result = subprocess.run(
        [
            pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "lockstep",
            *"run -j 2 --no-expectations --out".split(),
            str(folder),
            *words,
            *arguments,
        ],
        env={
            **os.environ,
            "LOCKSTEP_CACHE": os.environ.get("LOCKSTEP_CACHE") or str(ROOT / ".lockstep"),
            "PYTHONPATH": str(DATA),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert result.returncode in (0, 1), result.stdout + result.stderr
    return {
        (v["instance"].split("@")[0], v["path"]): v
        for v in json.loads((folder / "run.json").read_text())["verdicts"]
    }


def vendor(folder, name, **changes):
    return path_file(
        folder,
        "vendor-" + name.replace("_", "-"),
        **{
            "backend": "lockstep_vendor_" + name,
            "contract": "values",
            "import": ["lockstep_vendors"],
            **changes,
        },
    )


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("executed")
    suite = make_suite(folder / "suite", DATA / "cases")
    files = [vendor(folder, name) for name in (*KINDS, "refuses")]
    files += [
        path_file(folder, name, **{"contract": "values", "import": ["lockstep_vendors"], **changes})
        for name, (changes, _) in OTHERS.items()
    ]
    return run(folder / "run", "--level", "all", files=files, LOCKSTEP_HOME=str(suite))


@pytest.mark.parametrize("kind", KINDS)
def test_who_executed_it_is_seen(verdicts, kind):
    status, words, share, others = KINDS[kind]
    verdict = verdicts["bugs/executed", "vendor-" + kind.replace("_", "-")]
    assert verdict["status"] == status and words in verdict.get("reason", ""), verdict
    assert (
        verdict.get("foreign_fraction", 0) == pytest.approx(share)
        and set(verdict["proof"]["foreign"]) == others
    ), verdict["proof"]
    assert verdict["execution"] == ("stated" if kind == "elsewhere" else "observed")
    assert verdict.get("through_aot", False) == (kind in ("inductor", "through_aot"))
    assert "Execution Trace Observer" not in verdict.get("stderr_tail", "")


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_declared_is_no_fallback(verdicts, name):
    verdict = verdicts["bugs/executed", name]
    assert verdict["status"] == "conform" and verdict.get("foreign_fraction", 0) == 0, verdict
    assert verdict.get("execution") == OTHERS[name][1]
    assert verdict.get("through_aot", False) == (name in ("aot-eager", "inductor", "inductor-said"))


def test_inductors_calls_of_operators_are_on_purpose(verdicts):
    proof = verdicts["bugs/executed", "inductor"]["proof"]
    assert (
        proof["executed"] == {"aten::mm": 1, "inductor/cpp_fused_relu_sum": 1}
        and proof["foreign"] == {}
    )


def test_who_refuses_everything_conforms_in_nothing(verdicts):
    verdict = verdicts["bugs/executed", "vendor-refuses"]
    assert verdict["status"] == "refused" and "execution" not in verdict


@pytest.mark.parametrize("path", ["vendor-forward", "inductor", "aot-eager"])
def test_where_eager_executes_nothing_the_verdict_is_vacuous(verdicts, path):
    verdict = verdicts["bugs/moved", path]
    assert verdict["status"] == "conform" and verdict["vacuous"] is True, verdict
    assert "vacuous" not in verdicts["bugs/executed", "inductor"]


def test_the_backward_pass_counts(verdicts):
    """Of a fallback that autograd differentiates, and of one that AOT autograd had compiled;
    Inductor's is its own."""
    for path, status in (
        ("vendor-forward", "fell_back"),
        ("vendor-through-aot", "fell_back"),
        ("inductor", "conform"),
    ):
        assert verdicts["bugs/differentiated", path]["status"] == status, verdicts[
            "bugs/differentiated", path
        ]
    assert (
        verdicts["bugs/differentiated", "vendor-forward"]["proof"]["traces"]["eager"]["aten::mul"]
        > 1
    )


def test_a_shared_graph_that_fell_back_is_executed_alone(tmp_path):
    """Only `ceil` is left to torch."""
    found = run(
        tmp_path / "run",
        *(f"sweeps/unary-16[op={name},dtype=float16]@cpu" for name in ("abs", "neg", "ceil")),
        files=[vendor(tmp_path, "partly")],
        LOCKSTEP_HOME=str(ROOT),
    )
    by_operator = {
        instance.split("op=")[1].split(",")[0]: verdict for (instance, _), verdict in found.items()
    }
    assert {name: verdict["status"] for name, verdict in by_operator.items()} == {
        "abs": "conform",
        "neg": "conform",
        "ceil": "fell_back",
    }
    assert all("shared" not in verdict for verdict in by_operator.values())


def test_who_accepts_what_eager_refuses_has_started_nothing(tmp_path):
    """That eager raises is known when the first process waits for inputs; another one gets them."""
    suite = make_suite(tmp_path / "suite", DATA / "cases")
    words = "--level all --fresh-seed 1".split()
    found = run(
        tmp_path / "run", *words, files=[vendor(tmp_path, "accepts")], LOCKSTEP_HOME=str(suite)
    )
    verdict = found["bugs/accepted", "vendor-accepts"]
    assert verdict["status"] == "validation_lost", verdict
    assert verdict["execution"] == "observed" and "unsaid" not in verdict, verdict
