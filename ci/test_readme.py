"""Every command of README.md and of docs/ does what the page says: each is run as it stands there,
and where its output is shown, that is what comes. A line `...` stands for any lines, `...` in a
line for any text; seconds are not compared. Blocks of the language `text` are of another machine,
and are not run."""

import os
import pathlib
import re
import shlex
import subprocess

import pytest
from own_cache import own_cache

ROOT = pathlib.Path(__file__).resolve().parent.parent
ONE = "bugs/185337-half-round-trip@cpu/inductor"
#: README.md first: it makes the latest run, which other pages read.
PAGES = ["README.md", *sorted(str(page.relative_to(ROOT)) for page in ROOT.glob("docs/**/*.md"))]


def fences(text):
    """(language, the line before, the lines) of each fenced block."""
    lines = text.splitlines()
    starts = [i for i, line in enumerate(lines) if line.lstrip().startswith("```")]
    for start, end in zip(starts[::2], starts[1::2]):
        before = next((line for line in reversed(lines[:start]) if line), "")
        indent = lines[start][: lines[start].index("`")]
        body = [line.removeprefix(indent) for line in lines[start + 1 : end]]
        yield lines[start].strip()[3:], before, body


def commands(text):
    """(command without its comment, the lines that it prints or None) in the order of the page."""

    def plain(line):
        return line.split("  #")[0].rstrip()

    for language, _, lines in fences(text):
        if language == "sh":
            yield from ((plain(line), None) for line in lines if line.strip())
        elif language == "console":
            at = [i for i, line in enumerate(lines) if line.startswith("$ ")] + [len(lines)]
            assert at[0] == 0, lines[0]
            yield from ((plain(lines[i][2:]), lines[i + 1 : end]) for i, end in zip(at, at[1:]))


def files(text):
    """Name → contents of the blocks that a line ending in "`NAME`:" announces."""
    found = {}
    for _, before, lines in fences(text):
        if name := re.search(r"\bthis is `([\w.-]+)`:$", before):
            found[name[1]] = "\n".join(lines) + "\n"
    return found


def prints(shown, output):
    """Whether `output` is what the page shows."""

    def plain(text):
        return re.sub(r"(\d+ h )?(\d+ min )?\d+(\.\d+)? s\b", "N s", text).rstrip()

    pattern = ""
    for line in shown:
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*".join(re.escape(part) for part in plain(line).split("...")) + r"\s*\n"
    return (
        re.fullmatch(pattern + r"\s*", "\n".join(map(plain, output.splitlines())) + "\n")
        is not None
    )


def narrowed(command):
    """What would run a whole level takes one verdict; `.ci/run` runs the level."""
    words = shlex.split(command)
    whole = words == ["lockstep", "run"] or "--level" in words
    return f"{command} {ONE}" if whole else command


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A directory that looks like the repository, in which commands may write."""
    place = tmp_path_factory.mktemp("readme")
    for name in ("cases", "expected", "runner", "reports"):
        (place / name).symlink_to(ROOT / name)
    binary = pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "lockstep"
    python = shlex.quote(os.environ["LOCKSTEP_PYTHON"])
    for name, target in (
        ("bin/lockstep", binary),
        ("ci/lockstep", binary),
        ("bin/python", os.environ["LOCKSTEP_PYTHON"]),
    ):
        (place / name).parent.mkdir(exist_ok=True)
        # As the real launchers do, whatever release is asked for: there is one here.
        (place / name).write_text(
            f"#!/bin/sh\nexport LOCKSTEP_PYTHON={python} LOCKSTEP_COMMAND=lockstep\n"
            f'exec {shlex.quote(str(target))} "$@"\n'
        )
        (place / name).chmod(0o755)
    own_cache(place, ".lockstep")
    for page in PAGES:
        for name, text in files((ROOT / page).read_text()).items():
            (place / name).write_text(text)
    return place


def test_there_is_much_to_run():
    assert sum(len(list(commands((ROOT / page).read_text()))) for page in PAGES) > 40


@pytest.mark.parametrize(
    "page", [page for page in PAGES if list(commands((ROOT / page).read_text()))]
)
def test_every_command_does_what_the_page_says(place, page):
    environment = {
        **os.environ,
        "LOCKSTEP_HOME": str(ROOT),
        "LOCKSTEP_CACHE": str(place / ".lockstep"),
        "COLUMNS": "80",
    }
    # Not in PATH: no resident worker stands in for a process with another one.
    ours = "".join(
        f'{each.name}() {{ {shlex.quote(str(each))} "$@"; }}\n'
        for each in (place / "bin").iterdir()
    )
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "PYTHONPATH"):
        environment.pop(name, None)
    wrong = []
    for command, shown in commands((ROOT / page).read_text()):
        done = subprocess.run(
            ["bash", "-c", ours + narrowed(command)],
            cwd=place,
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
        )
        if done.returncode != 0:
            wrong.append(f"$ {command}\nexit status {done.returncode}\n{done.stdout}{done.stderr}")
        elif shown is not None and not prints(shown, done.stdout):
            wrong.append(f"$ {command}\nprints\n{done.stdout}instead of\n" + "\n".join(shown))
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize(
    "shown, output, same",
    [
        (["a 1.25 s", "...", "z"], "a 3 s\nb\nc\nz\n", True),
        (["a 9.4 s"], "a 3 min 50 s\n", True),
        (["a ... c"], "a b c\n", True),
        (["a"], "a\nb\n", False),
        (["a", "...", "z"], "a\nb\n", False),
        (["3 differ"], "4 differ\n", False),
    ],
)
def test_what_is_not_as_shown_is_seen(shown, output, same):
    assert prints(shown, output) is same
