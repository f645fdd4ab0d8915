"""Opens the HTML report in a real browser, headless, and looks at what stands there."""

import base64
import gzip
import html
import json
import pathlib
import re
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from browser import Opened, one
from run_page import HERE, NASTY, NEEDED, STATUSES, Page, rows, sample

pytestmark = NEEDED


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return Page(sample(), tmp_path_factory.mktemp("page"))


def count_shown(dom):
    return one(r'<output id="count"[^>]*>([^<]*)</output>', dom).group(1)


def test_it_shows_the_verdicts(page):
    dom = page.dom()
    assert count_shown(dom) == "26 verdicts"
    assert rows(dom) >= 10  # those in view
    assert '<div id="app" hidden' not in dom


def test_its_filter_says_of_the_shared_expressions_what_the_command_line_says(tmp_path):
    """plan/filter_test.cpp reads the same file."""
    data = json.loads(
        (HERE.parent / "runner" / "plan" / "testdata" / "filters.json").read_text("utf-8")
    )
    run, *rest = sample()
    model = next(record for record in rest if record.get("status") == "crash")
    records = []
    for index, verdict in enumerate(data["verdicts"]):
        said = verdict["said"]
        record = {
            key: value
            for key, value in model.items()
            if key not in ("reason", "title", "shared", "expectation")
        }
        record.update(
            {
                key: verdict[key]
                for key in ("instance", "path", "device", "tags", "dtypes", "operators")
            },
            index=index,
            title="",
            id=f"{verdict['instance']}/{verdict['path']}",
            status=said["status"][0],
            standing="new",
            **({"reason": said["reason"][0]} if "reason" in said else {}),
        )
        records.append(record)
    page = Page([{**run, "planned": len(records)}, *records], tmp_path / "page")
    expressions = json.dumps([expression["filter"] for expression in data["expressions"]])
    dom = page.after(f"""const filter = document.getElementById("filter");
      const fault = document.getElementById("fault");
      const rows = () => [...document.querySelectorAll(".space .row")];
      const found = [];
      for (const text of {expressions}) {{
        filter.value = text;
        filter.dispatchEvent(new Event("input"));
        found.push(fault.hidden ? rows().map((row) => row.textContent) : fault.textContent);
        const marked = filter.getAttribute("aria-invalid") === "true";
        if (marked === fault.hidden) found.push("not marked");
      }}
      asked(JSON.stringify(found));""")
    found = json.loads(html.unescape(one(r'class="asked">(.*?)</output>', dom).group(1)))
    assert len(found) == len(data["expressions"]) > 40
    for expression, what in zip(data["expressions"], found, strict=True):
        if "refused" in expression:
            assert isinstance(what, str) and expression["refused"] in what, expression
        else:

            def is_row(place, row):
                verdict = data["verdicts"][place]
                return verdict["instance"] in row and verdict["path"] in row

            assert isinstance(what, list) and len(what) == len(expression["matches"]), (
                expression,
                what,
            )
            assert all(
                any(is_row(place, row) for row in what) for place in expression["matches"]
            ), (expression, what)


def test_a_chip_narrows_a_filter_of_any_form(page):
    for before, after in (
        ("", "status:crash"),
        ("status:timeout", "status:timeout status:crash"),
        ("status:crash op:add", "op:add"),
        ("op:add or op:mul", "(op:add or op:mul) status:crash"),
        ("(op:add or op:mul) status:crash", "(op:add or op:mul)"),
    ):
        dom = page.after(
            "document.querySelector('[data-term=\"status:crash\"]').click(); "
            "asked(document.getElementById('filter').value);",
            f"#q={before}",
        )
        assert html.unescape(one(r'class="asked">(.*?)</output>', dom).group(1)) == after


@pytest.mark.parametrize(
    "query, expected",
    [
        ("status:crash", 1),
        ("tag:silent", 4),
        ("op:to", 4),
        ("op:to.dtype", 4),
        ("op:add", 0),
        ("dtype:float32", 4),
        ("!tag:precision-cast", 22),
        ("fingerprint:to:value", 2),
        ("fingerprint:*:crash-in-*", 1),
    ],
)
def test_its_filter_is_that_of_the_command_line(page, query, expected):
    assert count_shown(page.dom(f"#q={query}")) == (
        "26 verdicts" if expected == 26 else f"{expected} of 26"
    )


def test_it_says_what_conforms_by_grade_and_what_was_tolerated(page):
    dom = html.unescape(page.dom())
    grades = one(r'<div id="grades".*?</div>', dom).group(0)
    assert re.findall(r'data-term="([^"]*)".*?<b>(\d+)</b>', grades) == [
        ("grade:bits", "1"),
        ("grade:close", "1"),
        ("is:tolerated", "1"),
        ("is:weak", "1"),
    ]
    verdict = next(record for record in sample() if record.get("weak"))
    for term in ("is:tolerated", "is:weak", "is:conform !grade:bits"):
        dom = html.unescape(page.dom(f"#q={term}"))
        assert count_shown(dom) == "1 of 26"
        assert (
            "y: 12 of 4,096 elements differ, by up to 1.2e-8, relative 0.091, 21 ulp; let pass by "
            "close" in dom
        )
    assert f"Weak: {verdict['weak']}." in html.unescape(page.dom(f"#id={verdict['id']}"))


def test_the_coverage_is_there_where_somebody_counted(page, tmp_path):
    assert 'class="part coverage"' not in page.dom()
    records = sample()
    end = next(record for record in records if record["type"] == "end")
    end["coverage"] = [
        {
            "of": "core",
            "judged": 187,
            "all": 193,
            "gaps": [{"why": NASTY, "count": 6, "names": ["aten::rand.default", NASTY]}],
        },
        {
            "of": "functional",
            "judged": 0,
            "all": 1000,
            "gaps": [{"why": "no case of this run calls it", "count": 1000}],
        },
        {"of": "core", "path": NASTY, "judged": 1, "all": 193},
        {"of": "functional", "path": NASTY, "judged": 0, "all": 0},
    ]
    section = one(
        r'<details class="part coverage">.*?</details>', Page(records, tmp_path / "page").dom()
    ).group(0)
    assert "Coverage: 187 of 193 (96.8 %) core overloads" in section
    assert ">0 of 1,000 (0.0 %)<" in section and ">0 of 0<" in section
    assert "rand.default, " in section and "1,000: no case of this run calls it" in section
    assert section.count("&lt;/script&gt;") == 6 and "<img" not in section


def test_a_run_that_did_not_end_or_judged_too_little_says_so(page, tmp_path):
    assert re.search(r'id="alert"[^>]* hidden', page.dom())
    run, *rest = sample()
    newer = {
        **run,
        "format": 3,
        "digests": {"judge": "0123"},
        "min_judged": 99,
        "absent_paths": [{"name": "later", "reason": "no such setting"}],
        "paths": [{**path, "digest": "", "declared": {}} for path in run["paths"]],
    }
    # A reader asks of a verdict what it rests on.
    verdicts = {
        record["status"]: record
        for record in rest
        if record["type"] == "verdict" and record["standing"] == "new"
    }
    told = [
        {**verdicts[status], "differences": [{"status": status, "reason": "why"}]}
        for status in ("crash", "timeout", "refused")
    ]
    dom = Page([newer, *told], tmp_path / "page").dom()
    assert (
        "The run was killed, or is not over, after 3 of 26 verdicts. Lockstep judged 2 of 3 "
        "verdicts that could be" in dom
    )
    assert "no such setting; not run" in dom and "0123" in dom and "2 of 3 that could be" in dom


def test_the_run_shows_fingerprints_first_and_a_verdict_its_own(page):
    text = page.dom()
    listed = one(r'<ol class="fingerprints">(.*?)</ol>', text).group(1)
    assert listed.count("<li>") == 21 and text.index("Fingerprints: 21") < text.index("By path")
    first = html.unescape(re.sub(r"<[^>]*>", " ", listed.split("</li>")[0]))
    assert re.match(r"\s*to:value\s+1 failing\s+1 known", first), (
        first
    )  # what fails comes first, of it what has most verdicts
    dom = page.dom("#id=ops/softmax/last-dim[dtype=bfloat16]@cpu/inductor")
    assert "to:value" in one(r'<p class="names">(.*?)</p>', dom).group(1)


def test_the_first_screen_says_what_was_judged_and_how_much_conforms(page, tmp_path):
    def told(dom):
        setting = one(r'<dl id="setting".*?</dl>', dom).group(0)
        rates = one(r'<div id="rates".*?</div>', dom).group(0)
        return (
            dict(re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", setting)),
            dict(re.findall(r'data-term="path:([^"]*)".*?<b>([^<]*)</b>', rates)),
        )

    verdicts = [record for record in sample() if record["type"] == "verdict"]
    dom = page.dom()
    setting, rates = told(dom)
    assert setting == {"torch": "2.13.0+cpu", "CPU": "AVX512", "suite": "5f1c9a0b"}
    # The paths judged other instances: compared over those of both, and said.
    assert rates == {"aot_eager": "100.0 %", "inductor": "0.0 %"}
    assert 'data-label="conform by path, of the 2 instances that every path judged"' in dom
    assert "inductor: 6.2 % of 16 judged conform; its verdicts" in dom
    # Two workers that differ are both told; what is skipped counts for nothing; one of many that
    # diverges is seen.
    run, *rest = sample()
    next(record for record in rest if record.get("name") == "compiled")["values"]["torch"] = (
        "2.15.0"
    )
    good = next(record for record in verdicts if record["status"] == "conform")
    bad = next(
        record for record in verdicts if record["status"] == "crash" and record["standing"] == "new"
    )
    skipped = next(
        record
        for record in verdicts
        if record["status"] == "unsupported" and record["standing"] == "new"
    )
    some = [
        {
            **(bad if i == 0 else skipped if i == 1 else good),
            "index": i,
            "instance": f"ops/{i}@cpu",
            "path": "inductor",
            "id": f"ops/{i}@cpu/inductor",
        }
        for i in range(3002)
    ]
    others = [record for record in rest if record["type"] == "environment"]
    setting, rates = told(
        Page(
            [{**run, "level": "core", "planned": len(some)}, *others, *some], tmp_path / "page"
        ).dom()
    )
    assert setting["torch"] == "eager 2.13.0+cpu, compiled 2.15.0" and setting["level"] == "core"
    assert rates == {"inductor": "99.9 %"}


def test_a_fingerprint_has_its_counts_operators_dtypes_and_an_example_that_opens(page):
    listed = one(r'<ol class="fingerprints">(.*?)</ol>', page.dom()).group(1).split("</li>")
    known = next(html.unescape(item) for item in listed if re.search(r">\d+ known<", item))
    operators = next(html.unescape(item) for item in listed if "to:value" in item)
    assert "to.dtype" in operators and "float32" in operators
    assert 'class="ink-known"' in known
    verdict = next(
        record
        for record in sample()
        if record.get("id") == one(r'class="text">([^<]*)<', known).group(1)
    )
    opened = page.after(
        "[...document.querySelectorAll('.fingerprints li')]"
        ".find((item) => /[0-9] known/.test(item.textContent)).querySelector('.text').click();"
    )
    assert f"<h2>{verdict['title']}</h2>" in html.unescape(opened)


def asked(dom):
    return json.loads(html.unescape(one(r'class="asked">(.*?)</output>', dom).group(1)))


def long_ids():
    """The sample with ids of every length: alike but for their matrices, and longer than any
    column."""
    run, *rest = sample()
    model = next(
        record
        for record in rest
        if record.get("status") == "value_diverges" and record["standing"] == "new"
    )
    records = []
    for index in range(60):
        dtype = "float16" if index % 2 else "bfloat16"
        name = f"ops/{'very-' * (index % 7)}long-name"
        name += f"[dtype={dtype},{'x' * (index * 5)}dim={index}]@cpu"
        records.append(
            {
                **model,
                "index": index,
                "instance": name,
                "id": f"{name}/{model['path']}",
                "status": "nonfinite_diverges",
                "standing": "known",
                "reason": f"reason {index % 9}",
                "operators": [
                    f"aten::an_operator_with_a_name_{'of_some_length_' * (index % 4)}{index}"
                ],
            }
        )
    return [{**run, "planned": 60}, *records]


@pytest.mark.parametrize("width", [390, 1024, 1400, 1920])
@pytest.mark.parametrize("view", ["list", "matrix", "operators"])
def test_nothing_of_an_id_is_cut_and_nothing_overlaps(tmp_path, view, width):
    page = Page(long_ids(), tmp_path / "page")
    page.width = width
    found = asked(
        page.after(
            """
      // A row that came into view is measured a moment later, and placed by that: until they rest.
      const places = () => JSON.stringify([...document.querySelectorAll(".space .row")]
        .map((row) => row.getBoundingClientRect().top));
      for (let before = "", i = 0; i < 20 && before !== places(); ++i) {
        before = places();
        await new Promise((next) => setTimeout(next, 600));
      }
      const rows = [...document.querySelectorAll(".space .row")].map((row) => {
        const id = row.querySelector(".instance"), box = row.getBoundingClientRect();
        const inside = (part) => part.getBoundingClientRect().bottom <= box.bottom + 1;
        const shown = [id, ...row.querySelectorAll(".status, .status > span, .path")]
          .every((part) => part.scrollWidth <= part.clientWidth + 1);
        return { id: id.textContent, reason: row.querySelector(".reason")?.textContent,
          whole: shown && [...id.children, ...row.children].every(inside),
          top: Math.round(box.top), bottom: Math.round(box.bottom) };
      }).sort((a, b) => a.top - b.top);
      const parts = document.querySelectorAll(".top h1, .actions > *, .figure, #filter, #count");
      const boxes = [...parts]
        .map((box) => [box.id || box.textContent, box.getBoundingClientRect()])
        .filter(([, box]) => box.width);
      const before = (a, b) => b.left > a.right - 1 || b.top > a.bottom - 1;
      const clash = boxes.flatMap(([one, a], place) => boxes.slice(place + 1)
        .filter(([, b]) => !before(a, b) && !before(b, a)).map(([other]) => [one, other]));
      asked(JSON.stringify({ rows, clash,
        beyond: boxes.filter(([, box]) => box.right > innerWidth + 1).map(([name]) => name),
        wider: document.documentElement.scrollWidth - innerWidth }));""",
            f"#view={view}",
        )
    )
    assert found["clash"] == [] and found["beyond"] == [] and found["wider"] <= 0
    rows = found["rows"]
    assert len(rows) >= 5 and all(row["whole"] for row in rows), [
        row for row in rows if not row["whole"]
    ]
    assert all(
        abs(row["bottom"] - following["top"]) <= 1
        for row, following in zip(rows, rows[1:], strict=False)
    )
    ids = {record["instance"].removesuffix("@cpu") for record in long_ids()[1:]}
    assert view == "operators" or {row["id"] for row in rows} <= ids  # every character is there
    assert view != "list" or re.fullmatch(r"reason \d", rows[0]["reason"])


def test_the_rows_are_found_wherever_the_list_is_scrolled_to(tmp_path):
    page = Page(long_ids(), tmp_path / "page")
    found = asked(
        page.after("""const body = document.querySelector(".body"), seen = new Set();
      for (let top = 0; top <= body.scrollHeight; top += 200) {
        body.scrollTop = top;
        body.dispatchEvent(new Event("scroll"));
        const rows = [...document.querySelectorAll(".space .row")];
        const inside = rows.map((row) => row.getBoundingClientRect());
        const room = body.getBoundingClientRect();
        const from = Math.min(...inside.map((box) => box.top));
        const to = Math.max(...inside.map((box) => box.bottom));
        const end = Math.min(room.bottom, room.top + 34 + body.scrollHeight - body.scrollTop);
        if (from > room.top + 40 || to < end - 40) asked("a gap at " + top);
        for (const row of rows) seen.add(row.querySelector(".instance").textContent);
      }
      body.focus();
      for (const key of ["End", "k", "Home", "j"])
        body.dispatchEvent(new KeyboardEvent("keydown", { key }));
      const chosen = document.querySelector(".row.chosen .instance").textContent;
      asked(JSON.stringify([seen.size, chosen]));""")
    )
    assert found == [60, "ops/very-long-name[dtype=float16,xxxxxdim=1]"]


def test_the_list_sorts_by_reason(tmp_path):
    page = Page(long_ids(), tmp_path / "page")
    dom = page.dom("#sort=reason")
    assert re.findall(r'class="cell reason">([^<]*)<', dom)[:8] == ["reason 0"] * 7 + ["reason 1"]


def test_operators_and_dtypes_have_their_share(tmp_path):
    records = sample()
    for record in records:
        if record["type"] == "verdict" and not STATUSES[record["status"]]["judged"]:
            record["operators"] = ["aten::lost"]
    page = Page(records, tmp_path / "page")
    dom = html.unescape(page.dom("#view=operators"))
    heads = re.findall(
        r'role="columnheader"[^>]*>(?:<span>)?([^<]*)',
        one(r'aria-label="Operators".*?class="space', dom).group(0),
    )
    assert heads[:2] == ["operator", "all"] and "float32" in heads
    of: dict = {}
    for record in records:
        for name in record.get("operators", []) if record["type"] == "verdict" else []:
            of.setdefault(name.removeprefix("aten::").removesuffix(".default"), []).append(record)
    rows_of_page = re.findall(
        r'<div class="row"[^>]*>.*?(?=<div class="row"|<section id="details")', dom, flags=re.S
    )
    for name, verdicts in of.items():
        # What is judged is what every other report calls so.
        row = next(row for row in rows_of_page if f">{name}<" in row)
        told = one(r'aria-label="(all: [^"]*)"', row).group(1)
        conforming = sum(record["status"] == "conform" for record in verdicts)
        judged = sum(STATUSES[record["status"]]["judged"] for record in verdicts)
        beside = re.search(r"(\d+) diverge for others", told)
        judged -= int(beside.group(1)) if beside else 0
        share = f"{conforming} of {judged} judged conform" if judged else "nothing judged"
        assert told.startswith(f"all: {share}"), told
    verdicts = of["to.dtype"]
    found = asked(
        page.after(
            """const of = (row) => row.querySelector(".instance").textContent;
      [...document.querySelectorAll(".space .row")].find((row) => of(row) === "to.dtype")
        .querySelector("[data-column='0']").click();
      await new Promise((done) => setTimeout(done, 300));
      const found = [document.querySelector("#details h2").textContent,
        document.querySelectorAll("#details .siblings li").length];
      document.querySelector("#details .copies button").click();
      asked(JSON.stringify([...found, document.getElementById("filter").value,
        document.getElementById("view-list").getAttribute("aria-pressed")]));""",
            "#view=operators",
        )
    )
    assert found == ["to.dtype", len(verdicts), "op:to.dtype", "true"]


def test_what_is_printed_is_what_the_filter_lets_through(page):
    known = next(record for record in sample() if record.get("standing") == "known")
    crash = next(record for record in sample() if record.get("status") == "crash")
    dom = page.after(
        """dispatchEvent(new Event('beforeprint'));
      asked(JSON.stringify(document.getElementById('paper').innerText));
      dispatchEvent(new Event('afterprint'));""",
        f"#q=is:known&id={crash['id']}",
    )
    text = asked(dom)
    assert re.search(r'<div id="paper"></div>', dom)
    assert (
        "1 of 26 verdicts: is:known" in text
        and known["expectation"]["reason"] in text
        and known["expectation"]["link"].removeprefix("https://") in text
    )
    assert crash["title"] in text  # what is being read
    assert text.count(known["id"]) == 1 and "torch 2.13.0+cpu" in text


def test_without_scripts_boxes_show_and_hide(page):
    """The page as a browser without scripts has it; the boxes are pressed by attributes alone."""
    text = re.sub(r"<script.*?</script>", "", page.file.read_text("utf-8"), flags=re.S)
    bare = Opened(page.folder / "bare.html")
    ask = """<script>
      const shown = (kind) => [...document.querySelectorAll("#plain li.show-" + kind)]
        .filter((item) => item.getClientRects().length).length;
      const output = document.createElement("output");
      output.className = "asked";
      output.textContent = JSON.stringify(["failing", "known", "waived", "fixed"].map(shown));
      document.body.append(output);
    </script></body>"""

    def shown(**boxes):
        changed = text
        for kind, checked in boxes.items():
            changed = changed.replace(
                f'id="show-{kind}" checked', f'id="show-{kind}"{" checked" if checked else ""}'
            )
        bare.file.write_text(changed.replace("</body>", ask), "utf-8")
        with bare.tab() as tab:
            return asked(tab.text())

    assert shown() == [17, 1, 1, 1]
    assert shown(failing=False) == [0, 1, 1, 1]
    assert shown(known=False, waived=False) == [17, 0, 0, 1]


def test_hostile_strings_stay_text(tmp_path):
    records = sample()
    for record in records:
        if record["type"] == "verdict":
            record.update(
                dict.fromkeys(
                    ("title", "reason", "program", "repro", "stderr_tail", "stage"), NASTY
                )
            )
            record.update(
                tags=[NASTY],
                operators=[NASTY],
                dtypes=[NASTY],
                links=["javascript:alert(1)"],
                proof={NASTY: NASTY},
            )
    for address in (
        "",
        "#id=" + next(record["id"] for record in records if record["type"] == "verdict"),
    ):
        dom = Page(records, tmp_path / "page").dom(address)
        assert "<title>broken out" not in dom
        assert "<img" not in dom and 'href="javascript' not in dom
        assert count_shown(dom) == "26 verdicts"


def test_ten_thousand_verdicts_are_small_and_quick(tmp_path):
    run, *rest = sample()
    some = [record for record in rest if record["type"] == "verdict"]
    records = [{**run, "planned": 10000}]
    for i in range(10000):
        record = dict(some[i // 7 % len(some) if i % 7 == 3 else 0])
        instance = f"ops/family-{i // 300:02}/case-{i // 12}[dtype=float32,dim={i // 3 % 4}]@cpu"
        record.update(instance=instance, path=("aot_eager", "inductor", "aoti")[i % 3], index=i)
        record.update(
            id=f"{instance}/{record['path']}",
            program=f"{instance}\n" + "  y = aten::softmax.int(x, 1)\n" * 20,
        )
        records.append(record)
    page = Page(records, tmp_path / "page")
    assert page.file.stat().st_size < 2e6
    assert count_shown(page.dom()) == "10,000 verdicts"
    # The data is what any gzip reads: columns, and the rest of the verdicts in blocks.
    data = {
        name: json.loads(gzip.decompress(base64.b64decode(text)))
        for name, text in re.findall(
            r'<script type="application/gzip" id="([^"]*)">([^<]*)</script>',
            page.file.read_text("utf-8"),
        )
    }
    assert len(data["data"]["columns"]["id"]["places"]) == 10000
    assert [len(data[f"block-{number}"]["verdicts"]) for number in range(len(data) - 1)] == [
        256
    ] * 39 + [16]
    # A verdict far down is told from its block, with what it has of its own.
    verdict = records[9993]
    dom = html.unescape(page.dom(f"#id={verdict['id']}"))
    assert f"{verdict['instance']}\n" in dom and verdict["repro"] in dom


def test_it_is_drawn_light_and_dark(page):
    pictures = set()
    for scheme in ("light", "dark"):
        with page.tab(scheme=scheme) as tab:
            pictures.add(tab.picture())
    assert len(pictures) == 2
    assert min(map(len, pictures)) > 20000  # a blank page takes a fraction of it
