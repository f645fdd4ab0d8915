"""The reproducer in the hands of bisectors: those of torch, and of git."""

import os
import subprocess
import sys

import pytest
from reproducers import execute, python, render, request

from conversation import path

long = pytest.mark.skipif(
    not os.environ.get("LOCKSTEP_LONG"),
    reason="many processes that compile anew; LOCKSTEP_LONG=1 runs it",
)


@long
def test_the_bisector_of_torch_finds_the_setting(tmp_path, script_environment):
    """All backends, then the parts of Inductor, until setting emulate_precision_casts mends it:
    eleven processes."""
    pytest.importorskip("torch._inductor.compiler_bisector")
    (tmp_path / "repro.py").write_text(render(request(tmp_path)))
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "torch._inductor.compiler_bisector",
            "run",
            sys.executable,
            "repro.py",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=1800,
        # It empties its cache directory, before and after.
        env={**script_environment, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")},
    )
    if (
        "Invalid command: run" in done.stdout
        or "Usage" in done.stdout
        and "run <cmd>" not in done.stdout
    ):
        pytest.skip("this torch's bisector has no `run`")
    said = done.stdout + done.stderr
    assert "The issue is in the inductor system" in said, said
    assert (
        "Bisection complete: BisectionResult(backend='inductor', "
        "subsystem='inductor_emulate_precision_casts'" in said
    ), said


@long
def test_git_bisect_names_the_commit(tmp_path, script_environment):
    """A module that the path imports sets Inductor's configuration: rightly, not at all in one
    commit, and wrongly at last."""
    repository = tmp_path / "repository"
    repository.mkdir()

    def git(*words):
        done = subprocess.run(
            ["git", "-c", "user.name=n", "-c", "user.email=e", *words],
            cwd=repository,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=900,
            env={
                **script_environment,
                "PYTHONPATH": str(repository),
                "PYTHONDONTWRITEBYTECODE": "1",
                "GIT_CONFIG_GLOBAL": os.devnull,
            },
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    git("init", "-q")
    good, bad = (
        f"import torch._inductor.config as c\nc.emulate_precision_casts = {value}\n"
        for value in (True, False)
    )
    commits = []
    for number, text in enumerate([good, good, good, "import no_such_module\n", good, bad, bad]):
        (repository / "bisected_settings.py").write_text(f"# {number}\n" + text)
        git("add", ".")
        git("commit", "-q", "-m", f"change {number}")
        commits.append(git("rev-parse", "HEAD").strip())
    script = tmp_path / "repro.py"
    script.write_text(
        render(request(tmp_path, path_=path("inductor", **{"import": ["bisected_settings"]})))
    )
    git("bisect", "start", commits[6], commits[0])
    said = git("bisect", "run", sys.executable, str(script))
    assert "cannot run: ModuleNotFoundError: No module named 'no_such_module'" in said, said  # 125
    assert f"{commits[5]} is the first bad commit" in said, said


def test_test_fn_is_there_and_git_bisect_can_skip(tmp_path, script_environment):
    text = render(request(tmp_path, path_=path("inductor", backend="aot_eager")))
    (tmp_path / "repro.py").write_text(text)
    code = "import repro; assert repro.test_fn() is True"
    done = python(tmp_path, script_environment, "-c", code)
    assert done.returncode == 0, done.stdout + done.stderr
    for lacking in (
        {"config": {"torch._inductor.config.no_such_thing": 1}},
        {"import": ["no_such_module"]},
        {"backend": "no_such_backend"},
    ):
        done = execute(
            render(request(tmp_path, path_=path("inductor", **lacking))),
            tmp_path,
            script_environment,
        )
        assert done.returncode == 125 and "cannot " in done.stderr and "no_such" in done.stderr, (
            done.stdout + done.stderr
        )
