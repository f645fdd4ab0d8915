"""bugs/README.md is what a run wrote, and it is current: it has every case, and it says what expected/known/ says."""

import fnmatch
import html
import json
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUGS = ROOT / "cases" / "bugs"
#: As it is read: without what escapes in Markdown.
PAGE = re.sub(r"\\([\\`*_\[\]|~#])", r"\1", html.unescape((BUGS / "README.md").read_text()))
WORDS = json.loads((ROOT / "reports" / "words.json").read_text("utf-8"))
LABELS = {status["name"]: status["label"] for status in WORDS["statuses"]}


def rows():
    """Case → (title, tags, {(label, because): paths})."""
    found = {}
    for line in PAGE.splitlines():
        if not line.startswith("| ["):
            continue
        name, title, tags, _, _, findings = (cell.strip() for cell in line.strip("| ").split(" | "))
        name = re.match(r"\[([^\]]*)\]", name)[1]
        departures = {}
        for part in findings.split("; ") if findings != "conforms" else []:
            what, paths = re.fullmatch(r"(.*): ([^:]*)", part).groups()
            label, because = re.fullmatch(r"(.*?)(?: \((\w+)\))?", what).groups()
            departures[label, because] = {path.split(" ")[0] for path in paths.split(", ")}
        found[name] = title, tags.split(), departures
    return found


def holds(torch, condition):
    """Whether the release of the page is in a range such as ">=2.13,<2.14"."""
    release = [int(number) for number in torch.split(".")[:2]]
    for part in filter(None, condition.split(",")):
        operator, number = re.fullmatch(r"([<>=]+)(\d+\.\d+).*", part).groups()
        bound = [int(n) for n in number.split(".")]
        if not {
            ">=": release >= bound,
            "<": release < bound,
            "<=": release <= bound,
            ">": release > bound,
            "==": release == bound,
        }[operator]:
            return False
    return True


def takes(globs, text):
    def plain(glob):
        return glob.replace("[", "[[]")

    excluded = [glob[1:] for glob in globs if glob.startswith("!")]
    asked = [glob for glob in globs if not glob.startswith("!")]
    return (any(fnmatch.fnmatchcase(text, plain(glob)) for glob in asked) or not asked) and not any(
        fnmatch.fnmatchcase(text, plain(glob)) for glob in excluded
    )


@pytest.fixture(scope="module")
def rules():
    torch = re.search(r"with torch ([\d.]+)", PAGE)[1]
    found = []
    for file in sorted((ROOT / "expected" / "known").glob("*.json")):
        found += [
            rule
            for rule in json.loads(file.read_text())["known"]
            if holds(torch, rule.get("torch", ""))
        ]
    return found


def holds_on(rule, path):
    """Whether a rule speaks of a path. Those that compile and are not Dynamo's own `eager` go through AOT autograd."""
    through = rule.get("through") != "aot" or path not in ("eager", "eager-python")
    return through and takes(rule["paths"], path)


def names_case(rule, name):
    """Whether a rule speaks of a case or of some of its instances."""
    return any(
        takes([glob.split("[")[0].split("@")[0]], f"bugs/{name}")
        for glob in rule.get("instances", [])
    )


def expects(rule, label):
    """Whether a rule expects what the page calls so. The page has no causes: a rule about one may mean any status."""
    return "causes" in rule or LABELS[rule["status"]] == label


def test_it_has_every_case_as_it_is():
    found = rows()
    for file in sorted(BUGS.glob("*.json")):
        case = json.loads(file.read_text())
        assert file.stem in found, f"renew the page: {file.name} is new"
        title, tags, _ = found.pop(file.stem)
        assert (title, tags) == (case["title"], case.get("tags", [])), file.name
    assert not found, "renew the page: these cases are gone"


def test_nothing_on_it_is_new_and_every_finding_is_expected(rules):
    for name, (_, _, departures) in rows().items():
        for (label, because), paths in departures.items():
            assert because != "new", (name, label, paths)
            if because is None:  # refused, unsupported and the like need no expectation
                continue
            for path in paths:
                assert any(
                    names_case(rule, name)
                    and holds_on(rule, path)
                    and rule["because"] == because
                    and expects(rule, label)
                    for rule in rules
                ), (name, label, path)


def test_every_expectation_is_on_it(rules):
    found, paths = rows(), re.search(r"on the paths ([^.]*)\.", PAGE)[1].split()
    missing = []
    for rule in rules:
        for name in (name for name in found if names_case(rule, name)):
            there = set().union(
                *(
                    where
                    for (label, because), where in found[name][2].items()
                    if because == rule["because"] and expects(rule, label)
                )
            )
            missing += [
                (name, path, rule) for path in paths if holds_on(rule, path) and path not in there
            ]
    assert missing == []
