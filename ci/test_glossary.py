"""The glossary is one table, docs/glossary.md: no word that it replaces is used in the project."""

import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "docs" / "glossary.md").read_text().splitlines()
    if line.startswith("| ") and not line.startswith("| word ")
]
BANNED = {word: row[0] for row in ROWS for word in row[3].split()}
#: Names of others, which have such a word in them.
NAMES_OF_OTHERS = re.compile(
    r"std::promise|\bPromise\b(?=[.(<])|__cause__|root cause|\b[Pp]romises? (of|to) (a )?JavaScript"
)
#: Files whose words are not ours: reports of others, licences, what the table itself says.
NOT_OURS = re.compile(
    r"^(cases/(?!schema/).*\.json|expected/known/|reports/testdata/schemas/|LICENSE"
    r"|runner/python/licenses/|docs/glossary\.md|ci/test_glossary\.py)"
)
TEXT = (
    ".cpp",
    ".h",
    ".py",
    ".js",
    ".css",
    ".html",
    ".md",
    ".sh",
    ".json",
    ".jsonl",
    ".txt",
    ".yml",
)


def words(line: str) -> list[str]:
    """The words of a line in small letters; names are taken apart: `kFirstRung` is k, first,
    rung."""
    plain = NAMES_OF_OTHERS.sub(" ", line)
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", plain)]


def replaced(text: str) -> list[str]:
    """What of a text has another word by now: line, word found, word meant."""
    return [
        f"{number}: `{word}` is `{BANNED[word]}` here"
        for number, line in enumerate(text.splitlines(), 1)
        for word in words(line)
        if word in BANNED
    ]


def files() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout: " + listed.stderr.strip())
    return [
        name
        for name in listed.stdout.splitlines()
        if (name.endswith(TEXT) or name.startswith("ci/")) and not NOT_OURS.match(name)
    ]


def test_every_word_is_defined_once():
    names = [row[0] for row in ROWS]
    assert len(names) == len(set(names)) and len(names) > 20
    assert all(len(row) == 4 and row[1] for row in ROWS), "word, meaning, others say, not"
    assert not set(BANNED) & set(names)


def test_no_word_is_used_that_another_one_replaces():
    found = []
    for name in files():
        path = ROOT / name
        if path.is_symlink() or not path.is_file():
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{name}:{fault}" for fault in replaced(text)]
    assert found == [], "\n".join(found[:50])


def test_a_replaced_word_is_found_in_prose_and_in_names():
    for line in (
        "it departs from eager",
        "int kFirstRung = 1;",
        "first_departing",
        "CAUSES",
        "a promise",
    ):
        assert replaced(line), line
    for line in (
        "because",
        "std::promise<void> done;",
        "error.__cause__",
        "the department",
        "pending",
    ):
        assert replaced(line) == [], line
