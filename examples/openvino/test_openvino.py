"""OpenVINO's backend as a path, and what Lockstep says of it: `ci/test vendor`; skipped where
OpenVINO is not installed."""

import collections
import json
import os
import pathlib
import subprocess
import sys

import pytest
import torch

pytest.importorskip("openvino")
if not torch.__version__.startswith("2.13."):
    pytest.skip("what is known of OpenVINO is of torch 2.13", allow_module_level=True)

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PATH = ("--path-file", HERE / "openvino.json", "--path", "openvino")


class Lockstep:
    """Calls the built binary in `folder`, where results go."""

    def __init__(self, folder):
        self.folder = folder
        self.binary = pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "lockstep"
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in ("CI", "GITHUB_ACTIONS")
        }
        cache = pathlib.Path(os.environ.get("LOCKSTEP_TEST_CACHE") or folder / "inductor").parent
        self.environment = {
            **kept,
            "LOCKSTEP_HOME": str(ROOT),
            "LOCKSTEP_CACHE": str(cache),
            "LOCKSTEP_PYTHON": sys.executable,
        }

    def __call__(self, *words, timeout=900):
        return subprocess.run(
            [self.binary, *words],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=timeout,
            cwd=self.folder,
        )


@pytest.fixture(scope="module")
def lockstep(tmp_path_factory):
    return Lockstep(tmp_path_factory.mktemp("openvino"))


@pytest.fixture(scope="module")
def smoke(lockstep):
    """The run of smoke-1, as `certify` would make it but with what is known; and its verdicts by
    instance."""
    done = lockstep(
        "run",
        "--level",
        "smoke-1",
        *PATH,
        "--known",
        HERE / "known.json",
        *"""
            --min-judged 50 --out smoke --save-tensors --repeat 3 --repeat-percent 10% --repeat-seed
            1 """.split(),
    )
    log = lockstep.folder / "smoke" / "run.json"
    assert log.exists(), done.stdout + done.stderr
    return done, {
        verdict["instance"].partition("@")[0]: verdict
        for verdict in json.loads(log.read_text())["verdicts"]
    }


def whose(verdicts):
    """How many of the verdicts that conform it computed alone, in part, or without anybody
    looking."""
    return collections.Counter(
        "looked at by nobody"
        if verdict.get("execution") != "observed"
        else "in part"
        if verdict.get("foreign_fraction")
        else "alone"
        for verdict in verdicts
        if verdict["status"] == "conform"
    )


def test_a_frozen_level_goes_wrong_only_as_is_known(smoke):
    done, verdicts = smoke
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(verdicts) == 184
    assert not {verdict["status"] for verdict in verdicts.values()} & {
        "crash",
        "timeout",
        "out_of_memory",
    }


def test_how_much_it_computes_itself(smoke):
    verdicts = smoke[1].values()
    assert whose(verdicts)["alone"] >= 10, whose(verdicts)
    others = [verdict for verdict in verdicts if verdict["status"] == "fell_back"]
    assert len(others) >= 10  # which would pass for its own, were nobody to look
    assert all(verdict["foreign_fraction"] == 1 for verdict in others)
    # Its telemetry sends from a process of its own. What has one beside it is not observed.
    unsaid = [verdict["unsaid"] for verdict in others if verdict["execution"] != "observed"]
    assert len(unsaid) < 5 and all("process" in each for each in unsaid), unsaid


def test_what_it_computes_itself_is_told_from_what_it_leaves_to_torch(smoke):
    verdicts = smoke[1]
    found = {
        name: (verdicts[name]["status"], verdicts[name]["standing"])
        for name in (
            "bugs/97968-int8-and-clamp",
            "bugs/113167-variance-without-freedom",
            "bugs/168358-index-reduce-backward",
            "programs/copies-of-inputs",
        )
    }
    assert found == {
        "bugs/97968-int8-and-clamp": ("conform", "new"),
        "bugs/113167-variance-without-freedom": ("fell_back", "known"),
        "bugs/168358-index-reduce-backward": ("unsupported", "new"),
        "programs/copies-of-inputs": ("state_diverges", "known"),
    }
    assert verdicts["bugs/168358-index-reduce-backward"]["unsupported_by"] == "declaration"
    own = verdicts["bugs/97968-int8-and-clamp"]
    assert own["execution"] == "observed" and not own.get("foreign_fraction")


def test_what_nobody_knows_fails_the_run(lockstep):
    done = lockstep("run", "programs/copies-of-inputs", *PATH, "--out", "unknown")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "programs/copies-of-inputs@cpu/openvino" in done.stdout and "overwritten" in done.stdout


def test_it_gets_no_certificate_and_hears_why(lockstep, smoke):
    done = lockstep(
        "certify", "--level", "smoke-1", *PATH, "--run", "smoke", "--out", "openvino.tar"
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert not (lockstep.folder / "openvino.tar").exists()
    assert "openvino does not conform to smoke-1:" in done.stderr
    said = done.stderr.partition("openvino does not conform to smoke-1:")[2]
    assert (
        "fails: bugs/113167-variance-without-freedom@cpu/openvino: fell back" in said
    )  # also what is known
    assert "too little was judged of the level: " in said and "the floor is 90 %" in said
    # Nothing is held against it that is not its own, but that the run of what is declared knew
    # nothing, and this one did.
    for other in (
        "missing",
        "twice",
        "not of the level",
        "executions of",
        "was not executed",
        "another one than the file says",
    ):
        assert other not in said, said


def test_the_version_of_the_compiler_is_recorded(lockstep, smoke):
    lines = [
        json.loads(line)
        for line in (lockstep.folder / "smoke" / "run.jsonl").read_text().splitlines()
    ]
    environment = next(
        line["values"]
        for line in lines
        if line["type"] == "environment" and line["name"] == "compiled"
    )
    assert environment["package openvino"]


@pytest.mark.skipif(
    not os.environ.get("LOCKSTEP_LONG"), reason="ci/test --long: some 7,400 verdicts, 20 minutes"
)
def test_all_of_core_goes_wrong_only_as_is_known(lockstep):
    done = lockstep(
        *"run --level core --alone".split(),
        *PATH,
        "--known",
        HERE / "known.json",
        *"--min-judged 25 --out core".split(),
        timeout=7200,
    )
    assert done.returncode == 0, done.stdout[-20000:]
    verdicts = json.loads((lockstep.folder / "core" / "run.json").read_text())["verdicts"]
    assert whose(verdicts)["alone"] >= 300, whose(verdicts)
