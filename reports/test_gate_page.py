"""Opens the page of a gate in a real browser, and looks at what stands there."""

import copy
import html
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from browser import BROWSER, Opened
from run_page import consistent

HERE = pathlib.Path(__file__).resolve().parent
BINARY = pathlib.Path(os.environ.get("LOCKSTEP_BINARY_DIR", "")) / "bin" / "lockstep"

pytestmark = [
    pytest.mark.skipif(
        not BINARY.is_file(), reason="LOCKSTEP_BINARY_DIR names no build with bin/lockstep"
    ),
    pytest.mark.skipif(
        BROWSER is None, reason="no chromium in PATH: ci/packages-test.txt has its package"
    ),
]


def made(folder, change, *options):
    """The page of a gate from the sample of the reports' tests to what `change` makes of its
    verdicts."""
    before = [
        json.loads(line)
        for line in (HERE / "testdata" / "sample.jsonl").read_text("utf-8").splitlines()
    ]
    after = copy.deepcopy(before)
    change([record for record in after if record["type"] == "verdict"])
    for name, records in (("before", before), ("after", after)):
        (folder / name).mkdir(parents=True)
        (folder / name / "run.jsonl").write_text(
            "".join(json.dumps(consistent(record)) + "\n" for record in records), "utf-8"
        )
    result = subprocess.run(
        [
            BINARY,
            "gate",
            folder / "before",
            folder / "after",
            "--html",
            folder / "gate.html",
            *options,
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode in (0, 1), result.stderr
    return Opened(folder / "gate.html")


def worse(verdicts):
    """Two crash that did not, one conforms that did not."""
    conform = [verdict for verdict in verdicts if verdict["status"] == "conform"]
    for verdict in conform[:2]:
        verdict.update(
            status="crash",
            reason="killed by signal 11 </pre><script>document.title='broken out'</script>",
            grade=None,
        )
        del verdict["grade"]
    differs = next(verdict for verdict in verdicts if verdict["status"] == "value_diverges")
    differs.update(status="conform", grade="bits", standing="new", reason="", outputs=[])
    differs.pop("expectation", None)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return made(tmp_path_factory.mktemp("gate") / "page", worse)


def headings(dom):
    return [re.sub("<[^>]*>", "", heading) for heading in re.findall("<h2>(.*?)</h2>", dom)]


def test_what_is_worse_comes_first(page):
    dom = page.dom()
    assert "<title>Lockstep: the gate is closed</title>" in dom and "The gate is closed" in dom
    assert headings(dom) == ["≠new crash 1", "↑fixed 1"]
    assert dom.index("new crash") < dom.index("What was compared") < dom.index('id="new_crash"')
    assert "document.title=" not in re.sub(
        "&lt;script&gt;.*?&lt;/script&gt;", "", dom
    )  # what a log says stays text
    assert (
        dom.count('class="change kind-failing"') == 1
        and dom.count('class="change kind-fixed"') == 1
    )
    assert "2 verdicts</summary>" in dom  # what happened once is one row
    assert (
        "1 fingerprint in 2 verdicts is worse; 1 is unknown to the suite" in dom
        and "2 from conform to failing" in dom
    )


def test_its_filter_hides_what_has_not_the_words(page):
    dom = page.after("""const filter = document.getElementById("filter");
      const ask = (text) => {
        filter.value = text;
        filter.dispatchEvent(new Event("input"));
        const count = (kind, says) => [...document.querySelectorAll(kind)].filter(says).length;
        const shown = count(".change", (each) => each.checkVisibility());
        const sections = count("section", (each) => !each.hidden);
        asked(`${text}: ${shown}, ${sections}, ${document.getElementById("count").textContent}`);
      };
      ask("SIGNAL");
      ask("-signal");
      ask("no such word");
      ask("");""")
    told = [html.unescape(text) for text in re.findall(r'class="asked">(.*?)</output>', dom)]
    assert told == [
        "SIGNAL: 1, 1, 1 of 2 rows",
        "-signal: 1, 1, 1 of 2 rows",
        "no such word: 0, 0, 0 of 2 rows",
        ": 2, 2, ",
    ]
    assert 'class="change kind-fixed"' in page.dom("#filter=-signal") and "1 of 2 rows" in page.dom(
        "#filter=-signal"
    )


def test_it_is_readable_without_scripts_and_open_where_nothing_changed(page, tmp_path):
    bare = Opened(page.folder / "bare.html")
    bare.file.write_text(
        re.sub(r"<script.*?</script>", "", page.file.read_text("utf-8"), flags=re.S), "utf-8"
    )
    dom = bare.dom()
    assert dom.count('class="change kind-') == 2 and '<p class="filterline" hidden' in dom
    same = made(tmp_path / "same", lambda verdicts: None).dom()
    assert (
        "The gate is open" in same
        and "Every verdict says what it said." in same
        and headings(same) == []
    )


def test_what_is_let_pass_says_by_whom(tmp_path):
    rule = {
        "transition": "new_crash",
        "ids": ["*"],
        "reason": "seen <b>",
        "link": "https://example.org/7",
    }
    (tmp_path / "allow.json").write_text(json.dumps({"format": 1, "allow": [rule]}))
    dom = made(tmp_path / "page", worse, "--allow", tmp_path / "allow.json").dom()
    assert (
        "The gate is open" in dom
        and dom.count("seen &lt;b&gt;") == 1
        and 'href="https://example.org/7"' in dom
    )


@pytest.mark.parametrize("width", (390, 1024, 1920))
def test_nothing_is_wider_than_the_window(page, width):
    sized = Opened(page.file, width)
    assert 'class="asked">0<' in sized.after(
        "asked(Math.max(0, document.documentElement.scrollWidth - innerWidth));"
    )
