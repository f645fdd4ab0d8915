"""How people write here. Documents, READMEs and the help of every command keep a sentence to 30
words, a line to 100 columns, and a word to the glossary. Comments and messages keep a sentence to
30 words, too. A page says first what its reader can do after it. No link is dead. All of Markdown
has at most 35,000 words."""

import ast
import json
import pathlib
import re
import subprocess

import pytest
import readme_urls
from readme_urls import with_urls
from test_glossary import BANNED, words

ROOT = pathlib.Path(__file__).resolve().parent.parent
HELP = ROOT / "runner" / "commands" / "testdata"
#: Written by programs, from what they go by; only these do not count as words.
GENERATED = {
    "expected/FINDINGS.md",
    "cases/bugs/README.md",
    "reports/testdata/sample.summary.md",
    "cases/relations/RESULTS.md",
    "ci/bench/capture/RESULTS.md",
    "ci/bench/explain/RESULTS.md",
    "ci/bench/shrink/RESULTS.md",
    "ci/bench/yardstick/RESULTS.md",
    "ci/mutation/MODELS.md",
}
#: Whose form is not ours to choose: tables made from code, licences, results of benchmarks.
NOT_PROSE = re.compile(
    r"docs/reference/words\.md|reports/testdata/|ci/bench/|/RESULTS\.md|CHANGELOG\.md"
)
#: Tables made from code, whose cells are formulas in words.
MADE = re.compile(r"^\| (?:policy|fill|of|status|feature|`mode`) \|.*?(?=^[^|])", re.M | re.S)
LONGEST, WIDEST, MOST_WORDS = 30, 100, 35_000
#: Columns of a row of a table, which Markdown cannot break.
WIDEST_ROW = 280
FENCE = re.compile(r"^( *)```.*?^\1```$", re.M | re.S)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)|(?:href|src|srcset)=\"([^\"]+)\"")


def pages() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout: " + listed.stderr.strip())
    return [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def read(name: str | pathlib.Path) -> str:
    return (ROOT / name).read_text("utf-8")


def sentences(text: str) -> list[tuple[int, str]]:
    """(line, sentence) of what is prose: paragraphs, points of lists, cells of tables."""
    text = MADE.sub(lambda table: "\n" * table[0].count("\n"), text)
    text = re.sub(r"<[a-z/][^>]*>", "", text)
    text = FENCE.sub(lambda block: "\n" * block[0].count("\n"), text)
    # Where something new begins; a link's target and what is code in the text count one word.
    text = re.sub(r"\]\(\s*[^)]*\)", lambda link: "]" + "\n" * link[0].count("\n"), text)
    text = re.sub(r"`[^`]*`", lambda code: "Code" + "\n" * code[0].count("\n"), text)
    found, line = [], 1
    for block in re.split(r"(\n(?=\s*(?:[-*#|>]|\d+\. ))|\n\s*\n)", text):
        parts = block.split("|") if block.lstrip().startswith("|") else [block]
        for part in parts:
            for sentence in re.split(r"(?<=[.?!:])[\s*\"')]+(?=[\"'(*\[]*[A-Z`\d])|;\s", part):
                found.append((line, " ".join(sentence.split())))
        line += block.count("\n")
    return found


def faults(name: str, text: str) -> list[str]:
    """What of a page is against the rules, each with its place."""
    found = []
    for line, sentence in sentences(text):
        count = len(re.findall(r"\w[\w'’.-]*", sentence))
        if count > LONGEST:
            found.append(f"{name}:{line}: a sentence of {count} words: {sentence[:70]}…")
    return found + wide(name, text)


def wide(name: str, text: str) -> list[str]:
    """Lines that are too long, but for what has no place to break."""
    text = MADE.sub(lambda table: "\n" * table[0].count("\n"), text)
    return [
        f"{name}:{number}: {len(line)} columns"
        for number, line in enumerate(text.splitlines(), 1)
        if len(line) > (WIDEST_ROW if line.lstrip().startswith("|") else WIDEST)
        and not line.lstrip().startswith("<")
        and " " in line.strip()[:WIDEST]
    ]


def anchors(text: str) -> set[str]:
    """What a link may name behind #, as GitHub and MkDocs make it of headings."""
    heads = re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.M)
    plain = [re.sub(r"[^\w\- ]", "", head.lower()) for head in heads]
    return {head.strip().replace(" ", "-") for head in plain}


def dead_links(name: str, text: str) -> list[str]:
    found = []
    text = re.sub(r"\]\(\s+", "](", FENCE.sub("", text))
    for target in map("".join, LINK.findall(text)):
        if re.match(r"\w+:", target):
            continue
        file, _, anchor = target.partition("#")
        place = (ROOT / name).parent / file if file else ROOT / name
        if not place.exists():
            found.append(f"{name}: there is no {target}")
        elif anchor and place.suffix == ".md" and anchor not in anchors(place.read_text("utf-8")):
            found.append(f"{name}: {target}: {file or name} has no such heading")
    return found


def test_documents_are_plain():
    found = [
        fault for name in pages() if name not in GENERATED and not NOT_PROSE.search(name)
        for fault in faults(name, read(name))
    ]  # fmt: skip
    assert found == [], "\n".join(found)


def test_help_fits_the_screen_and_is_plain():
    wide_lines = [
        f"{file.name}:{number}: {len(line)} columns"
        for file in sorted(HELP.glob("help*.txt"))
        for number, line in enumerate(read(file).splitlines(), 1)
        if len(line) > WIDEST
    ]
    assert wide_lines == []
    for file in HELP.glob("help-*.txt"):
        before = read(file).split("\nUsage: ")[0].splitlines()
        examples = [line for line in before if line.startswith("  ")]
        assert len(examples) == (0 if file.stem == "help-serve" else 3), file.name
        assert all("lockstep " + file.stem[5:] in example for example in examples), file.name
    banned = [
        f"{file.name}: {word}"
        for file in sorted(HELP.glob("help*.txt"))
        for word in words(read(file))
        if word in BANNED
    ]
    assert banned == []
    found = []
    for file in HELP.glob("help*.txt"):
        text = re.sub(r"\n {30}", " ", read(file)).replace("\n", "\n\n")
        found += long_sentences(file.name, [(1, text)])
    assert found == []


def comments(name: str, text: str) -> list[tuple[int, str]]:
    """(line, text) of comments and docstrings; lines that are indented in them are tables and
    formulas, and no prose."""
    if name.endswith(".py"):
        kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
        nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]
        found = [(getattr(node, "lineno", 1), ast.get_docstring(node) or "") for node in nodes]
        return [(line, re.sub(r"^(?: {2,}|\|).*$", "", doc, flags=re.M)) for line, doc in found]
    found = []
    for block in re.finditer(r"(?:^ *//.*\n)+", text, re.M):
        plain = re.sub(r"^ *///?<? ?(?: {2,}.*)?", "", block[0], flags=re.M)
        found.append((text.count("\n", 0, block.start()) + 1, plain))
    return found


def messages(text: str) -> list[tuple[int, str]]:
    """(line, text) of the strings of C++ that have several words; what is written one behind the
    other is one string."""
    one = r'"(?:[^"\\\n]|\\.)*"'
    text = re.sub(r"^ *//.*$", "", text, flags=re.M)
    return [
        (
            text.count("\n", 0, match.start()) + 1,
            re.sub(r'"\s*"', "", match[0]).replace("\\n", "\n\n"),
        )
        for match in re.finditer(rf"{one}(?:\s*{one})*", text)
        if len(re.findall(r"[a-z]{2,}", match[0])) >= 5
    ]


def long_sentences(name: str, found: list[tuple[int, str]]) -> list[str]:
    """What says too much at once; names of one letter are formulas, and code counts one word."""
    return [
        f"{name}:{line}: a sentence of {count} words: {sentence.strip()[:70]}…"
        for line, text in found
        for sentence in re.split(
            r"(?<=[.?!:;])\s+|\n\s*\n|\n(?=- )", re.sub(r"`[^`]*`", "Code", text)
        )
        if (count := len(re.findall(r"[^\W\d_]{2,}[\w'’.-]*", sentence))) > LONGEST
    ]


def test_comments_and_messages_are_plain():
    listed = subprocess.run(
        ["git", "ls-files", "*.h", "*.cpp", "*.py"], cwd=ROOT, capture_output=True, text=True
    )
    found = []
    for name in filter(lambda name: (ROOT / name).is_file(), listed.stdout.splitlines()):
        text = read(name)
        found += long_sentences(name, comments(name, text))
        # Lists of operators are no messages.
        if not name.endswith((".py", "_test.cpp")) and name != "reports/families.cpp":
            found += long_sentences(name, messages(text))
    assert found == [], "\n".join(found)


def test_no_link_is_dead():
    found = [fault for name in pages() for fault in dead_links(name, read(name))]
    assert found == [], "\n".join(found)


def test_a_page_says_first_what_it_is_for():
    for name in pages():
        if name.startswith("docs/") and name not in ("docs/reference/words.md", "docs/glossary.md"):
            lead = read(name).split("\n\n")[1]
            assert lead.startswith(("After this page", "Here you find")), name


def test_all_of_it_can_be_read():
    """Every word of every Markdown file counts, also those of code blocks and tables. Not counted
    are the files that are lists written by programs (GENERATED)."""
    texts = [read(name) for name in pages() if name not in GENERATED]
    # What has no letter is no word: bars of tables, arrows, brackets.
    total = sum(len(re.findall(r"\S*\w\S*", text)) for text in texts)
    assert total <= MOST_WORDS, f"{total} words"


def test_the_index_of_packages_gets_whole_addresses():
    text = with_urls(read("README.md"), "https://host/o/r", "v1")
    targets = [match[2] for match in readme_urls.LINK.finditer(text)]
    assert len(targets) > 20 and all(target.startswith("https://") for target in targets)
    assert 'src="https://host/o/r/raw/v1/docs/pictures/run-light.png"' in text
    assert "](https://host/o/r/blob/v1/docs/start/install.md)" in text
    code = "```text\n[a](b.md)\n```\n"
    assert with_urls(code + "[a](#b) [c](https://d)", "h", "v") == code + "[a](#b) [c](https://d)"


def test_figures_are_those_of_today():
    mutation = ROOT / "ci" / "mutation"
    killed = json.loads(read(mutation / "score.json"))["mutants"].values()
    spared = json.loads(read(mutation / "unobservable.json"))["mutants"]
    page = read("docs/design/trust.md")
    for row, number in (
        ("killed by `smoke`", sum(each["level"] == "smoke" for each in killed)),
        ("killed by `core` besides", sum(each["level"] == "core" for each in killed)),
        ("cannot be observed, with the reason", len(spared)),
    ):
        assert f"| {row} | {number} |" in page, (row, number)


def test_faults_are_seen():
    long = " ".join(["so"] * 31) + "."
    assert faults("x", long) and faults("x", f"| a | {long} |") and faults("x", f"- {long}")
    half = " ".join(["so"] * 16)
    assert faults("x", f"A {half}.\nA {half}.") == []
    assert (
        faults("x", f"```\n{long}\n```") == [] and wide("x", "a " * 51) and not wide("x", "a" * 101)
    )
    assert wide("x", "| " + "a " * 140) and not wide("x", "| " + "a " * 60)
    assert long_sentences("x.h", comments("x.h", f"int a;\n/// {long}\n/// b\n"))
    assert long_sentences("x.h", messages(f'return "{half}"\n    " {half}";\n'))
    assert not long_sentences("x.h", comments("x.h", f"/// A {half}.\n///   {long}\n"))
    assert dead_links("README.md", "[a](nowhere.md)") and dead_links("README.md", "[a](#nowhere)")
    assert not dead_links("README.md", "[a](docs/glossary.md#glossary)")
