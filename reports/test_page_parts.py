"""The page of a run that is too long to be read at once: it counts all of it, and loads the other
parts when they are asked for.

Needs the core tests' executable (LOCKSTEP_CORE_TESTS), which writes a page in small parts."""

import html
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from browser import Opened, one
from run_page import NEEDED, Page, sample

CORE_TESTS = pathlib.Path(os.environ.get("LOCKSTEP_CORE_TESTS", ""))

pytestmark = [
    *NEEDED,
    pytest.mark.skipif(not CORE_TESTS.is_file(), reason="LOCKSTEP_CORE_TESTS names no executable"),
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The sample as its page has it, read at once."""
    return Page(sample(), tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="module")
def page(whole):
    """The same in parts of nine verdicts."""
    subprocess.run(
        [CORE_TESTS, "--gtest_filter=Html.WritesThePageInPartsOfThePythonTest"],
        env={**os.environ, "LOCKSTEP_PAGE_OF": str(whole.folder)},
        check=True,
        stdout=subprocess.DEVNULL,
        timeout=60,
    )
    return Opened(whole.folder / "parts.html")


def data_of(page, name):
    begin = f'<script type="application/json" id="{name}">'
    return json.loads(one(f"{begin}(.*?)</script>", page.file.read_text("utf-8")).group(1))


def ids_of(page, part):
    column = data_of(page, part)["columns"]["id"]
    return [column["values"][place] for place in column["places"]]


def count_shown(dom):
    return one(r'<output id="count"[^>]*>([^<]*)</output>', dom).group(1)


def more_of(dom):
    """What the button says that loads more; nothing where it is not there."""
    attributes, text = one(r'<button[^>]*id="more"([^>]*)>([^<]*)<', dom).groups()
    return "" if "hidden" in attributes else text


def rows_of(dom):
    """Ids, paths and statuses in the list, in whichever order."""
    row = r'<div class="row kind-.*?(?=<div class="row kind-|</section>)'
    return sorted(re.findall(row, without_places(dom)))


def without_places(dom):
    """What is the same wherever a row stands."""
    return re.sub(r' (?:data-place|id|aria-rowindex|style|aria-selected)="[^"]*"', "", dom)


def asked(dom):
    return json.loads(html.unescape(one(r'class="asked">(.*?)</output>', dom).group(1)))


def test_what_it_counts_is_of_the_whole_run(page, whole):
    sizes = data_of(page, "data")["parts"]
    assert sum(sizes) == 26 and max(sizes) <= 9
    for address in ("", "#strict=1"):
        dom, expected = page.dom(address), whole.dom(address)
        assert count_shown(dom) == f"{sizes[0]} of 26 loaded"
        assert more_of(dom) == f"Load {26 - sizes[0]} more" and more_of(expected) == ""
        for part in (
            r'<div id="figures".*?<dl id="setting"',  # counts and grades
            r'<div id="rates".*?</div>',
            r'<div id="chips".*?</div>',
            r'<section id="details".*?</section></section>|<section id="details".*?</main>',
        ):
            assert one(part, dom).group(0) == one(part, expected).group(0)


def test_a_button_loads_the_rest(page, whole):
    dom = page.after(
        """document.getElementById("more").click();
        await new Promise((done) => setTimeout(done, 300));"""
    )
    assert count_shown(dom) == "26 verdicts" and more_of(dom) == ""
    assert rows_of(dom) == rows_of(whole.dom())


def test_a_filter_says_of_how_many_it_counts(page, whole):
    dom = page.after(
        """const filter = document.getElementById("filter"), counts = [];
        const count = () => counts.push(document.getElementById("count").textContent);
        filter.value = "path:inductor";
        filter.dispatchEvent(new Event("input"));
        count();
        document.getElementById("more").click();
        await new Promise((done) => setTimeout(done, 300));
        count();
        asked(JSON.stringify(counts));"""
    )
    first = data_of(page, "data")["parts"][0]
    inside = sum(name.endswith("/inductor") for name in ids_of(page, "data"))
    everywhere = sum(record.get("path") == "inductor" for record in sample())
    told = f"{inside} of {first} loaded" if inside < first else f"{first} of 26 loaded"
    assert asked(dom) == [told, f"{everywhere} of 26"]


def test_an_address_leads_to_a_verdict_that_is_not_loaded(page):
    last = len(data_of(page, "data")["parts"]) - 1
    name = ids_of(page, f"part-{last}")[-1]
    verdict = next(record for record in sample() if record.get("id") == name)
    dom = html.unescape(page.dom(f"#id={name}"))
    assert f"<h2>{verdict['title']}</h2>" in dom and verdict["repro"] in dom
    assert count_shown(dom) == "26 verdicts"  # it was in the last part
    # One of the first part needs no other.
    dom = html.unescape(page.dom(f"#id={ids_of(page, 'data')[0]}"))
    assert more_of(dom)


def test_a_filter_that_nothing_loaded_matches_looks_in_the_other_parts(page):
    name = ids_of(page, "part-1")[0].rpartition("/")[0]
    assert name not in [each.rpartition("/")[0] for each in ids_of(page, "data")]
    expected = sum(record.get("instance") == name for record in sample())
    first, second, *_ = data_of(page, "data")["parts"]
    told = f"{expected} of {first + second} loaded"
    assert count_shown(page.dom(f"#q={name}")) == told
    dom = page.after(
        f"""const filter = document.getElementById("filter"), found = [];
        filter.value = {json.dumps(name)};
        filter.dispatchEvent(new Event("input"));
        found.push(document.querySelector(".nothing").textContent);
        filter.dispatchEvent(new KeyboardEvent("keydown", {{ key: "Enter" }}));
        await new Promise((done) => setTimeout(done, 300));
        asked(JSON.stringify(found));"""
    )
    assert asked(dom) == ["Nothing that is loaded matches this filter."]
    assert count_shown(dom) == told
    # Of nothing it says so when it has seen all.
    dom = page.dom("#q=ops/nowhere")
    assert "Nothing matches this filter." in dom and count_shown(dom) == "0 of 26"


def test_shares_by_operator_wait_for_all_verdicts(page, whole):
    grid = r'aria-label="Operators".*?</main>'
    expected, dom = whole.dom("#view=operators"), page.dom("#view=operators")
    assert count_shown(dom) == "26 verdicts"
    assert one(grid, dom).group(0) == one(grid, expected).group(0)


def test_an_instance_is_loaded_on_every_path(page, whole):
    def instances(dom):
        rows = re.findall(r'role="rowheader".*?(?=<div class="row"|</section>)', dom, re.S)
        return {re.sub(r"(</div>|\s)+$", "", without_places(row)) for row in rows}

    loaded = instances(page.dom("#view=matrix"))
    assert loaded and loaded <= instances(whole.dom("#view=matrix"))


def test_what_is_printed_says_what_is_not_loaded(page):
    text = asked(
        page.after(
            """dispatchEvent(new Event('beforeprint'));
            asked(JSON.stringify(document.getElementById('paper').innerText));
            dispatchEvent(new Event('afterprint'));""",
            "#q=path:inductor",
        )
    )
    first = data_of(page, "data")["parts"][0]
    assert f"of {first} verdicts that are loaded: path:inductor" in text
    assert f"{26 - first} verdicts are not loaded" in text
