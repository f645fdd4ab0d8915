"""What shells complete, asked of the shells themselves, and the manual page."""

import re
import shutil
import subprocess

import pytest
from suites import case

ASK = """
eval "$("$LOCKSTEP" completion bash)"
COMP_LINE=$1 COMP_POINT=${#1}
# As readline cuts it.
mapfile -t COMP_WORDS < <(sed -E 's/([@:=])/\\n\\1\\n/g; s/ /\\n/g' <<<"$1")
[[ $1 != *" " ]] || COMP_WORDS+=("")
COMP_WORDS[0]=$LOCKSTEP
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_lockstep
printf '%s\\n' "${COMPREPLY[@]}"
""".replace("\\\\", "\\")


@pytest.fixture
def complete(suite):
    def ask(line):
        done = subprocess.run(
            ["bash", "-c", ASK, "bash", line],
            capture_output=True,
            text=True,
            timeout=60,
            cwd=suite.root,
            env={**suite.environment(), "LOCKSTEP": str(suite.binary)},
        )
        assert not done.stderr, done.stderr
        return done.stdout.split()

    return ask


def test_bash_completes_commands_options_and_names(complete, suite):
    assert complete("ci/lockstep re") == ["replay", "repro", "report"]
    assert "--help" in complete("lockstep --")
    assert complete("lockstep run --thr") == ["--threads"] and complete("lockstep list --thr") == []
    assert complete("lockstep --suite x run --path fl") == ["flaky", "flip"]
    assert complete("lockstep list --level s") == ["smoke"]
    assert complete("lockstep run --color a") == ["auto", "always"] and complete(
        "lockstep completion f"
    ) == ["fish"]
    assert complete("lockstep run bugs/1") == ["bugs/1-first@cpu"]
    assert complete("lockstep new 5 --like ops/") == ["ops/clone@cpu"]
    assert (
        complete("lockstep check --path-file ca") == ["cases"]
        and complete("lockstep run --threads 1") == []
    )


def test_bash_takes_the_words_that_it_cuts(complete):
    """It breaks words at `=`, `:` and `@`, so that only what comes behind is completed."""
    assert complete("lockstep run bugs/1-first@") == ["cpu"]
    assert complete("lockstep run bugs/2-second\\[rows=") == ["1\\]@cpu", "2\\]@cpu"]


def test_a_name_of_a_stranger_is_never_run(complete, suite):
    suite.write(
        "cases/ops/evil.json",
        case(
            "evil",
            matrix={"x": ["$(touch${IFS}evil)", "`touch${IFS}evil`", "a;touch${IFS}evil"]},
            inputs={"x": {"dtype": "float32", "shape": [2], "fill": {"arange": {}}}},
            tags=["$x"],
        ),
    )
    listed = suite("list", "--level", "all")
    assert "evil" in listed.stdout, listed.stdout + listed.stderr
    said = complete("lockstep run ops/evil")
    assert len(said) >= 2 and not (suite.root / "evil").exists()
    # What is put into the line is one word, which means the id.
    done = subprocess.run(
        ["bash", "-c", "printf '%s\\n' " + " ".join(said)],
        capture_output=True,
        text=True,
        cwd=suite.root,
        timeout=10,
    )
    assert not (suite.root / "evil").exists()
    ids = listed.stdout.splitlines()
    assert all(any(line.endswith(word) for line in ids) for word in done.stdout.splitlines()), (
        done.stdout
    )


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shells_can_read_them(suite, shell):
    if not shutil.which(shell):
        pytest.skip(f"there is no {shell}")
    script = suite("completion", shell).stdout
    done = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and not done.stderr, done.stderr
    for word in ("findings", "min-judged", "list --level all"):
        assert word in script
    assert (
        subprocess.run(
            [shell, "-n"], input=script + "\nif\n(", capture_output=True, text=True, timeout=60
        ).returncode
        != 0
    )


def test_fish_completes(suite):
    if not shutil.which("fish"):
        pytest.skip("there is no fish")
    script = suite("completion", "fish").stdout
    ask = script + "\ncomplete -C'lockstep run --thr'\ncomplete -C'lockstep run bugs/1'\n"
    folder = suite.root / "path"
    folder.mkdir()
    (folder / "lockstep").symlink_to(suite.binary)
    environment = suite.environment()
    done = subprocess.run(
        ["fish", "--no-config"],
        input=ask,
        capture_output=True,
        text=True,
        timeout=60,
        env={**environment, "PATH": f"{folder}:{environment['PATH']}"},
    )
    assert "--threads" in done.stdout and "bugs/1-first@cpu" in done.stdout, (
        done.stdout + done.stderr
    )


def test_another_shell_is_an_error(suite):
    done = suite("completion", "csh")
    assert done.returncode == 2 and "bash" in done.stderr


def test_the_manual_page(suite):
    """groff has nothing to complain of, and every option of every command is there."""
    page = suite("man").stdout
    if shutil.which("groff"):
        done = subprocess.run(
            ["groff", "-man", "-ww", "-Tascii"],
            input=page,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0 and not done.stderr, done.stderr
    plain = page.replace("\\-", "-")
    for command in ("run", "list", "report", "new"):
        for option in re.findall(
            r"^  (?:-\w, )?(--[a-z-]+)", suite(command, "--help").stdout, flags=re.M
        ):
            assert option in plain, f"{command} {option}"
    assert "LOCKSTEP_PYTHON" in plain and "130 interrupted" in plain
