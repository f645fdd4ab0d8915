"""Backends that refuse, each in another way, and what path files declare of them, through the real
binary."""

import json
import os
import pathlib
import subprocess

import pytest
from bare_suite import make_suite

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = pathlib.Path(__file__).resolve().parent / "testdata" / "refusing"
OWN = {"refuses": [{"error": "Unsupported", "reason": "the refuser has no rule"}]}
WORDS = {
    "refuses": [
        {
            "error": "RuntimeError",
            "match": r"not supported by the \w+",
            "reason": "the refuser has no rule",
        }
    ]
}
DECLARED = "declared: the refuser has no rule"


def unsupported(**entry):
    return {"unsupported": [{**entry, "reason": "the refuser has no rule"}]}


#: (case, backend, what the path declares) → the status, words of the reason, and flags that are
#: true.
EXPECTED = [
    ("computes", "nothing", {}, "conform", "", ()),
    ("computes", "not_implemented", {}, "refused", "NotImplementedError: no rule for relu", ()),
    ("computes", "derived", {}, "refused", "lockstep_refuser.NoRule: no rule for relu", ()),
    ("computes", "torchs_own", {}, "refused", "aten.relu", ()),
    ("computes", "lazy", {}, "refused", "no kernel of ours", ()),
    # What only a vendor knows to be a refusal is a failure, until its path file says so.
    ("computes", "own_class", {}, "internal_error", "Unsupported: relu is not for us", ()),
    ("computes", "own_class", OWN, "unsupported", DECLARED, ("declared",)),
    ("computes", "lazy_class", {}, "spurious_error", "relu is not for us", ()),
    ("computes", "lazy_class", OWN, "unsupported", DECLARED, ("declared",)),
    ("computes", "in_words", {}, "internal_error", "not supported by the refuser", ()),
    ("computes", "in_words", WORDS, "unsupported", DECLARED, ("declared",)),
    ("computes", "fails", WORDS, "internal_error", "broken", ()),
    # A failure says where it is.
    (
        "computes",
        "points",
        {},
        "internal_error",
        "see diagnostics: error: no register for relu",
        (),
    ),
    ("computes", "logs", {}, "internal_error", "check the log: error: no register for relu", ()),
    ("computes", "chained", {}, "internal_error", "core.c:3: error: relu is no function", ()),
    ("computes", "noted", {}, "internal_error", "the refuser failed (while it placed relu)", ()),
    # A program may leave with any status.
    ("computes", "leave_64", {}, "crash", "exited with 64", ()),
    ("computes", "leave_70", {}, "crash", "exited with 70", ()),
    # Declared: judged without an execution, whatever the backend would do.
    (
        "computes",
        "leave_64",
        unsupported(operators=["relu"], dtypes=["float32"]),
        "unsupported",
        DECLARED,
        ("declared",),
    ),
    ("computes", "nothing", unsupported(operators=["relu"], dtypes=["float64"]), "conform", "", ()),
    ("transposed", "contiguous", {}, "metadata_diverges", "strides", ()),
    (
        "transposed",
        "contiguous",
        unsupported(features=["strides"]),
        "conform",
        "which the path's contract leaves out",
        (),
    ),
    # Both raise.
    ("raises", "nothing", {}, "conform", "both raise", ()),
    ("raises", "index_error", {}, "conform", "in other words", ()),
    ("raises", "value_error", {}, "error_diverges", "ValueError: another error", ()),
    ("raises", "not_implemented", {}, "refused", "no rule for relu", ()),
    ("raises", "own_class", OWN, "unsupported", DECLARED, ("declared",)),
    ("lacks", "fails", {}, "unsupported", "eager raises NotImplementedError", ()),
    ("lacks", "nothing", {}, "conform", "both raise", ()),
    # No backend was reached.
    ("traced", "fails", {}, "conform", "both raise", ("front_end",)),
    ("broken", "fails", {}, "refused", "", ("front_end",)),
]


def name_of(number):
    case, backend, declares, *_ = EXPECTED[number]
    return f"{number}-{backend.replace('_', '-')}"


def path_file(folder, number):
    _, backend, declares, *_ = EXPECTED[number]
    file = folder / f"{name_of(number)}.json"
    file.write_text(
        json.dumps(
            {
                "format": 2,
                "name": name_of(number),
                "title": "refuses",
                "contract": "bits",
                "worker": "compiled",
                "devices": ["*"],
                "backend": "lockstep_refuser_" + backend,
                "dynamic": False,
                "may_call": ["*"],
                "import": ["lockstep_refuser"],
                **declares,
            }
        )
    )
    return file


def run(folder, *arguments, **environment):
    binary = pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "lockstep"
    cache = os.environ.get("LOCKSTEP_CACHE") or str(ROOT / ".lockstep")
    return subprocess.run(
        [binary, "run", "-j", "2", *map(str, arguments)],
        env={
            **os.environ,
            "LOCKSTEP_HOME": str(folder / "suite"),
            "LOCKSTEP_CACHE": cache,
            "PYTHONPATH": str(DATA),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=900,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("refusing")
    make_suite(folder / "suite", DATA / "cases")
    return folder


@pytest.fixture(scope="module")
def verdicts(folder):
    """One run of everything: verdicts by the number of what is expected."""
    files = [path_file(folder, number) for number in range(len(EXPECTED))]
    ids = [f"bugs/{expected[0]}@cpu/{name_of(number)}" for number, expected in enumerate(EXPECTED)]
    result = run(
        folder,
        *ids,
        "--out",
        folder / "run",
        *(word for file in files for word in ("--path-file", file)),
    )
    assert result.returncode == 1, result.stdout + result.stderr
    by_path = {
        verdict["path"]: verdict
        for verdict in json.loads((folder / "run" / "run.json").read_text())["verdicts"]
    }
    return [by_path[name_of(number)] for number in range(len(EXPECTED))]


@pytest.mark.parametrize(
    "number", range(len(EXPECTED)), ids=lambda number: "-".join(EXPECTED[number][:2]) + f"-{number}"
)
def test_each_refusal_gets_its_verdict(verdicts, number):
    *_, status, words, flags = EXPECTED[number]
    verdict = verdicts[number]
    assert verdict["status"] == status, verdict
    assert words.lower() in verdict.get("reason", "").lower(), verdict
    seen = {
        "declared": verdict.get("unsupported_by") == "declaration",
        "front_end": verdict.get("front_end"),
    }
    assert {flag for flag, holds in seen.items() if holds} == set(flags), verdict


def test_what_is_declared_is_not_executed(verdicts):
    for expected, verdict in zip(EXPECTED, verdicts):
        declared_before = "unsupported" in expected[2] and expected[3] == "unsupported"
        assert ("stage" not in verdict) == declared_before, verdict


def test_a_refusal_fails_only_what_is_strict_and_a_declaration_nothing(folder, verdicts):
    def strictly(number, *flags):
        return run(
            folder,
            f"bugs/{EXPECTED[number][0]}@cpu/{name_of(number)}",
            "--out",
            folder / f"strict{number}{len(flags)}",
            "--path-file",
            folder / f"{name_of(number)}.json",
            *flags,
        ).returncode

    numbers = {
        (case, backend, bool(declares)): number
        for number, (case, backend, declares, *_) in enumerate(EXPECTED)
    }
    refused, declared = (
        numbers["computes", "not_implemented", False],
        numbers["computes", "own_class", True],
    )
    assert strictly(refused) == 0 and strictly(refused, "--strict") == 1
    assert strictly(declared, "--strict") == 0
    # Dynamo refuses the program before the backend is asked: nothing that the backend did.
    broken = numbers["broken", "fails", False]
    assert verdicts[broken]["standing"] == "waived"
    assert strictly(broken) == 0
    # It fails nothing, and nothing was judged by it.
    assert strictly(broken, "--strict") == 1
    assert strictly(broken, "--strict", "--min-judged", "0") == 0
