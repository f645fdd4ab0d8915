"""Opens the details of verdicts in the HTML report, in a real browser."""

import html
import json
import pathlib
import re
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from browser import one
from run_page import NASTY, NEEDED, Page, sample

pytestmark = NEEDED


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return Page(sample(), tmp_path_factory.mktemp("page"))


def test_the_details_have_the_program(page):
    verdict = next(record for record in sample() if record.get("program"))
    dom = html.unescape(page.dom(f"#id={verdict['id']}"))
    assert "h = aten::to.dtype(x, float16)" in dom
    assert verdict["repro"] in dom


def test_a_verdict_can_be_copied_and_names_its_issue_first(page, tmp_path):
    verdict = next(
        record for record in sample() if record.get("expectation") and record.get("outputs")
    )
    dom = page.after(
        """const copied = [];
      navigator.clipboard.writeText = async (text) => { copied.push(text); };
      for (const button of document.querySelectorAll(".copies button, .copy")) button.click();
      asked(JSON.stringify(copied));""",
        f"#id={verdict['id']}",
    )
    command, reproducer, report, name = json.loads(
        html.unescape(one(r'class="asked">(.*?)</output>', dom).group(1))
    )
    assert (command, name) == (verdict["repro"], verdict["id"])
    assert (
        reproducer == f"ci/lockstep repro '{verdict['id']}' --to repro.py"
    )  # its brackets are the shell's
    records = sample()
    own = next(record for record in records if record.get("id") == verdict["id"])
    own["repro"] = (
        f"ci/lockstep run '{own['id']}' --case-file '/my cases/it'\\''s.json' --no-expectations "
        "--threads 2"
    )
    dom2 = Page(records, tmp_path / "page").after(
        "navigator.clipboard.writeText = async (text) => asked(text); "
        "document.querySelector('.copies button').click();",
        f"#id={own['id']}",
    )
    assert html.unescape(one(r'class="asked">(.*?)</output>', dom2).group(1)) == (
        f"ci/lockstep repro '{own['id']}' --case-file '/my cases/it'\\''s.json' --threads 2 "
        "--to repro.py"
    )
    output = verdict["outputs"][0]
    assert (
        report.startswith(f"# {verdict['title']}\n")
        and verdict["repro"] in report
        and reproducer in report
    )
    assert (
        f"{output['differing']} of {output['elements']} elements differ" in report
        and "- torch `2.13.0+cpu`" in report
        and "- CPU `AVX512`" in report
    )
    headline = one(r'<header class="headline">.*?</header>', dom).group(0)
    assert headline.count(f'href="{verdict["expectation"]["link"]}"') == 1  # the case links it, too


def test_the_details_show_where_the_differences_lie(page):
    verdict = next(record for record in sample() if '"heat"' in json.dumps(record))
    dom = html.unescape(page.dom(f"#id={verdict['id']}"))
    heat = one(r'<div class="heat".*?</div>', dom).group(0)
    assert "17 of 20 cells have differences" in heat
    assert len(re.findall(r"<i ", heat)) == 20 and len(re.findall(r'class="none"', heat)) == 3
    assert "row 3, column 1: 1 differ, greatest |Δ| 0.000244" in heat
    assert verdict["outputs"][0]["tensors"][0] in dom


def swept():
    """The sample with accuracy: 250 operators, the last with a wrong NaN, and inputs of what
    differs."""
    records = sample()
    verdict = next(record for record in records if record.get("outputs"))
    verdict["shared"] = 24
    verdict["outputs"][0].update(
        classes={"nan": 1, "last_bits": 1040},
        first=[{"index": [3], "inputs": ["x = 1.5 (0x3e00)"], "eager": "3.0", "compiled": "nan"}],
    )
    model = next(record for record in records if record["type"] == "verdict")
    for i in range(250):
        record = json.loads(json.dumps(model))
        record.update(
            id=f"sweeps/{i}@cpu/inductor",
            instance=f"sweeps/{i}@cpu",
            path="inductor",
            operators=[f"aten::op{i:03}"],
            dtypes=["float16"],
            index=100 + i,
        )
        accuracy = [{"inputs": "normal", "elements": 9, "eager": 0.5, "compiled": 0.5 + i / 100}]
        if i == 249:
            accuracy.append({"inputs": "special", "elements": 1, "compiled": "inf"})
        record["outputs"] = [
            {
                "name": "y",
                "status": "conform",
                "type": "float16[1000]",
                "elements": 1000,
                "differing": i,
                "accuracy": accuracy,
            }
        ]
        records.append(record)
    lost = {
        **model,
        "id": "sweeps/lost@cpu/inductor",
        "instance": "sweeps/lost@cpu",
        "status": "unsupported",
        "tags": ["sweep"],
        "operators": [NASTY],
        "reason": NASTY,
        "index": 400,
    }
    return records + [lost], verdict


def accuracy_of(dom):
    """Whether the table is open, what it counts, and its lines."""
    section = one(r'<details class="part accuracy"( open="")?>.*?</details>', dom)
    lines = re.findall(r"<tr>(.*?)</tr>", section.group(0), flags=re.S)[
        1:
    ]  # above it the kinds of inputs
    return (
        bool(section.group(1)),
        one(r"<output[^>]*>([^<]*)", section.group(0)).group(1),
        lines,
        section.group(0),
    )


def test_the_accuracy_table_is_there_where_there_is_accuracy(page, tmp_path):
    assert 'class="part accuracy"' not in page.dom()
    records, _ = swept()
    is_open, count, lines, section = accuracy_of(Page(records, tmp_path / "page").dom())
    assert not is_open
    assert count == "the first 200 of 250 rows" and len(lines) == 201
    assert ">op000<" in lines[1] and ">op001<" in lines[2] and "float16 · inductor" in lines[1]
    assert "1 operator: " in section and "<img" not in section and "&lt;/script&gt;" in section


def test_the_accuracy_table_sorts_and_filters(tmp_path):
    page = Page(swept()[0], tmp_path / "page")
    text = page.file.read_text("utf-8")

    def after(actions):
        script = f"""<script>setTimeout(() => {{
          const table = document.querySelector(".accuracy"), filter = table.querySelector("input");
          const sorts = [...table.querySelectorAll(".sort")];
          const click = (title, which) =>
            sorts.filter((button) => button.textContent === title)[which].click();
          {actions} }}, 500)</script></body>"""
        page.file.write_text(text.replace("</body>", script), "utf-8")
        return accuracy_of(page.dom())

    _, _, lines, _ = after('click("compiled", 2);')
    assert 'aria-sort="descending"' in lines[0]
    assert (
        ">op249<" in lines[1] and 'class="number ink-failing"' in lines[1] and ">inf<" in lines[1]
    )
    _, count, lines, _ = after(
        'click("differing", 0); filter.value = "op24 float16"; '
        'filter.dispatchEvent(new Event("input"));'
    )
    assert count == "10 rows" and len(lines) == 11
    assert ">op249<" in lines[1] and ">op240<" in lines[10]


def test_the_details_show_the_first_that_differ(tmp_path):
    records, verdict = swept()
    dom = html.unescape(Page(records, tmp_path / "page").dom(f"#id={verdict['id']}"))
    assert "1 NaN, 1,040 last bits" in dom
    assert "[3] x = 1.5 (0x3e00)" in dom
    assert "compiled with 24 others" in dom


def test_the_element_that_decided_comes_first_and_what_differs_is_marked(tmp_path):
    records = sample()
    verdict = next(record for record in records if '"heat"' in json.dumps(record))
    output = verdict["outputs"][0]
    output.update(
        worst=[1, 2],
        eager="-inf",
        compiled="-3.39e+38",
        first=[
            {
                "index": [3],
                "inputs": ["x = 1.5 (0x3e00)"],
                "eager": "1.1754943e-38",
                "compiled": "1.1754945e-38",
            },
            {
                "index": [4],
                "inputs": ["x = 2.5 (0x4100)"],
                "eager": "1.5e-38",
                "compiled": "1.5e-37",
            },
        ],
        heat={"rows": 1, "columns": 3, "differing": [0, 2, 1], "greatest": [0, 0.5, "inf"]},
        accuracy=[
            {"inputs": "normal", "elements": 9, "eager": 0.5, "compiled": 2.25},
            {"inputs": "special", "elements": 1, "eager": 0.5, "compiled": "inf"},
        ],
    )
    dom = html.unescape(Page(records, tmp_path / "page").dom(f"#id={verdict['id']}"))
    assert (
        dom.index("worst element, [1, 2]")
        < dom.index('class="heat"')
        < dom.index("the first that differ")
    )
    spelt = re.findall(
        r"<dd>(.*?)</dd>", dom[dom.index("worst element") : dom.index("greatest error against")]
    )
    assert spelt == [
        "-<mark>inf</mark>",
        "-<mark>3.39</mark><mark>e+38</mark>",
        "1.175494<mark>3</mark>e-38",
        "1.175494<mark>5</mark>e-38",
        "1.5<mark>e-38</mark>",
        "1.5<mark>e-37</mark>",
    ]
    heat = one(r'<div class="heat".*?</div>', dom).group(0)
    assert heat.count('class="nonfinite"') == 1
    assert "1 differ, NaN or infinity among them" in heat and ">∞<" in heat
    golds = one(r'<table class="golds">.*?</table>', dom).group(0)
    assert re.findall(r">([^<>]+)</t[hd]>", golds) == [
        "inputs",
        "elements",
        "eager",
        verdict["path"],
        *"normal 9 0.5 2.25 special 1 0.5 inf".split(),
    ]


def test_it_marks_the_first_layer_that_diverges(tmp_path):
    run = {
        **sample()[0],
        "format": 3,
        "planned": 3,
        "digests": {},
        "min_judged": None,
        "absent_paths": [],
        "paths": [
            {
                "name": name,
                "title": name,
                "contract": "bits",
                "digest": "",
                "declared": {"above": above},
            }
            for name, above in (("aot_eager", "eager"), ("eager", None), ("inductor", "aot_eager"))
        ],
    }
    error = {"stage": "run", "class": "ValueError", "message": "no", "kind": "error"}
    verdicts = [
        {
            "type": "verdict",
            "id": f"bugs/1@cpu/{path}",
            "instance": "bugs/1@cpu",
            "path": path,
            "device": "cpu",
            "title": "t",
            "case_file": "bugs/1.json",
            "index": index,
            "status": status,
            "standing": "new",
            "reason": "r",
            "differences": [] if status == "conform" else [{"status": status, "reason": "r"}],
            "eager_error": error,
            "compiled_error": error,
        }
        for index, (path, status) in enumerate(
            (("eager", "conform"), ("aot_eager", "crash"), ("inductor", "timeout"))
        )
    ]
    page = Page([run, *verdicts], tmp_path / "page")
    dom = html.unescape(page.dom("#id=bugs/1@cpu/inductor"))
    assert "Diverges already on aot_eager, a layer below this one." in dom
    layers = one(r'<ul class="siblings">.*?</ul>', dom).group(0)
    assert re.findall(r'<span>(\w+)</span>(<span class="tag">diverges first</span>)?', layers) == [
        ("eager", ""),
        ("aot_eager", '<span class="tag">diverges first</span>'),
        ("inductor", ""),
    ]
    matrix = page.dom("#view=matrix")
    assert [
        name for name in ("eager", "aot_eager", "inductor") if f'aria-label="{name}: ' in matrix
    ] == ["eager", "aot_eager", "inductor"]
    assert 'aria-label="aot_eager: crash, failing, diverges first"' in matrix


def explanation_of(verdict):
    return {
        "type": "explanation",
        "format": 1,
        "id": verdict["id"],
        "status": verdict["status"],
        "executions": 9,
        "seconds": 1.5,
        "sentence": f"Inductor, fusion of `to.dtype` twice {NASTY}",
        "layer": "inductor",
        "layer_title": "Inductor",
        "operators": ["to.dtype"],
        "ladder": [
            {"path": "aot_eager", "status": "conform"},
            {"path": "inductor", "status": "value_diverges", "diverges": True},
        ],
        "how": "fused",
        "guilty": [1],
        "certain": True,
        "borne_out": [f"without it the divergence ends {NASTY}"],
        "conditions": [f"2 threads {NASTY}"],
        "besides": [f"`eager` differs, too {NASTY}"],
        "curve": [0, 1],
        "cast": "compiled keeps float32 after step h",
        "steps": [
            {
                "name": "h",
                "text": f"h = aten::add(x, {NASTY})",
                "value": "same",
                "explained": "yes",
                "source": f"net.py:8 in {NASTY}",
            },
            {
                "name": "y",
                "text": "y = aten::to.dtype(h, float32)",
                "value": "differs",
                "explained": "no",
                "adds": 0.9871,
                "alone": "conform",
                "at": [1, 2],
                "eager": "1.5",
                "compiled": "1.25",
            },
        ],
        "knobs": [
            {"name": "dynamic=true", "title": "sizes", "status": "value_diverges"},
            {
                "name": "emulate_precision_casts",
                "title": "casts",
                "status": "conform",
                "ends": True,
            },
        ],
        "pass": {"backend": "inductor", "subsystem": "lowerings", "what": NASTY},
        "open": [NASTY],
    }


def test_a_verdict_that_was_explained_says_who_did_it(page, tmp_path):
    records = sample()
    verdict = next(
        record
        for record in records
        if record.get("id") == "ops/softmax/last-dim[dtype=bfloat16]@cpu/inductor"
    )
    records.append(explanation_of(verdict))
    dom = Page(records, tmp_path / "page").dom(f"#id={verdict['id']}")
    part = one(r"<h3>Who did it</h3>.*?</section>", dom).group(0)
    assert "<img" not in part and "<title>broken out" not in dom
    cells = [
        [
            html.unescape(re.sub(r"<[^>]*>", "", cell))
            for cell in re.findall(r"<t[hd]>(.*?)</t[hd]>", row)
        ]
        for row in re.findall(r"<tr[^>]*>(.*?)</tr>", part)
    ]
    assert cells[0] == ["step", "value", "adds", "alone", "at", "eager", "compiled", "source"]
    assert cells[2] == [
        "y = aten::to.dtype(h, float32)",
        "differs, not as eager makes it",
        "98.7 %",
        "conform",
        "1, 2",
        "1.5",
        "1.25",
        "",
    ]
    assert cells[1][-1].startswith("net.py:8 in ") and "<a" not in one(
        "<table.*</table>", part
    ).group(0)
    assert 'class="guilty"' in part and part.index("fusion of") < part.index(
        "Layer: "
    ) < part.index("<table")
    assert (
        "Ends with emulate_precision_casts (casts)." in part
        and "without it the divergence ends" in part
        and "Takes 2 threads" in part
        and "Besides: `eager` differs, too" in part
        and "after each step: 1: 0 %, 2: 100 %" in part
        and re.findall(r'<circle class="([^"]*)"', part) == ["step", "step guilty"]
        and "Pass: inductor, lowerings, " in part
        and "Nobody looked into: " in part
    )
    # Its fingerprint has the name of what was found, and the one of others stays.
    names = one(r'<p class="names">(.*?)</p>', dom).group(1)
    assert "to:value/emulate_precision_casts" in names
    assert "Who did it" not in page.dom(f"#id={verdict['id']}")


def rows_of(dom, head):
    """What stands in the rows below a head, by their names."""
    part = one(rf"<h3>{head}</h3>.*?</section>", dom).group(0)
    return {
        key: html.unescape(value)
        for key, value in re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", part)
    }


def test_a_verdict_says_who_executed_it_and_why_it_is_not_judged(page, tmp_path):
    records = sample()
    one_, other, *_ = (record for record in records if record["type"] == "verdict")
    for verdict in (one_, other):
        verdict.pop("foreign_fraction", None)
    one_.update(
        execution="stated",
        unsaid=NASTY,
        foreign_fraction=0.25,
        permitted_fraction=0.6,
        inputs_known=True,
        draws=3,
        proof={
            "backend": {"called": 2, "raised": 1},
            "foreign": {"aten::relu": 1, NASTY: 1},
            "permitted": {"aten::mm": 1},
            "changed": ["witness.Witness.words", NASTY],
            "control": NASTY,
        },
    )
    other.update(never_asked=True, draws=1, proof={"backend": {"called": 0, "raised": 0}})
    drawn = Page(records, tmp_path / "page")
    dom = drawn.dom(f"#id={one_['id']}")
    shown = NASTY.replace("\u202e", "")  # which would turn what follows around
    assert "<img" not in dom and "<title>broken out" not in dom
    assert rows_of(dom, "Who executed it") == {
        "seen": "the path states who executed it",
        "not judged": f"nobody can see who executed it: {shown}",
        "by others": f"25 %: aten::relu, {shown}",
        "by operators of may_call": "60 %: aten::mm, so it is not judged",
        "backend": "it was given 2 graphs, and raised over 1",
        "inputs": "their values were known when it was compiled",
        "drawn inputs": "executed on 3 draws of inputs that nobody had seen",
        "another backend": f"Dynamo raises {shown} for one that compiles nothing, too",
        "Lockstep's code": f"something else was put in the place of witness.Witness.words, {shown}",
    }
    assert rows_of(drawn.dom(f"#id={other['id']}"), "Who executed it") == {
        "backend": "it was given nothing to compile",
        "drawn inputs": "executed on 1 draw of inputs that nobody had seen",
    }
    assert "Who executed it" not in page.dom(f"#id={one_['id']}")


def test_an_output_shows_how_far_apart_elements_are_and_the_errors_along_the_input(tmp_path):
    records = sample()
    verdict = next(record for record in records if '"heat"' in json.dumps(record))
    verdict["outputs"][0].update(
        ulp_histogram=[0, 5, 0, 20],
        heat={
            "rows": 1,
            "columns": 6,
            "differing": [5, 5, 5, 5, 1, 0],
            "greatest": [1e-6, 1e-3, 1, 0, "inf", 0],
        },
        error_curve={
            "input": "x",
            "from": [-2, -1, 0.5, 4],
            "eager": [0.5, 0, 0.5, 0.25],
            "compiled": [0.5, 300, "inf", 0.25],
        },
    )
    dom = html.unescape(Page(records, tmp_path / "page").dom(f"#id={verdict['id']}"))
    histogram = one(r'<figure class="histogram".*?</figure>', dom).group(0)
    assert re.findall(r'<i title="([^"]*)"><b style="height: (\d+)%', histogram) == [
        ("2 ulp: 5", "25"),
        ("3 to 4 ulp: 0", "0"),
        ("5 to 8 ulp: 20", "100"),
    ]
    # As dark as the exponent of the difference says, however many elements differ.
    heat = one(r'<div class="heat".*?</div>', dom).group(0)
    assert re.findall(r"opacity: ([\d.]+)", heat) == ["0.2", "0.6", "1", "0.2"]
    assert (
        "5 of 6 cells have differences, the greatest |Δ| 1 in row 0, column 2, "
        "NaN or infinity in 1" in heat
    )
    assert re.search(r'<span class="scale">0.000001<i [^>]*></i>1</span>', dom)
    curve = one(r'<figure class="curve".*?</figure>', dom).group(0)
    assert (
        "along the exponents of x: " in curve
        and "eager (at most 0.5)" in curve
        and f"{verdict['path']} (at most inf)" in curve
        and f"from -2 to 4: eager at most 0.5 ulp, first from -2 on; {verdict['path']} at most inf "
        "ulp, first from 0.5 on"
        in curve
    )
    assert list(re.findall(r"<title>([^<]*)</title>", curve)) == [
        f"from {at}: eager {eager}, {verdict['path']} {compiled}"
        for at, eager, compiled in (
            ("-2", "0.5", "0.5"),
            ("-1", "0", "300"),
            ("0.5", "0.5", "inf"),
            ("4", "0.25", "0.25"),
        )
    ]
    lines = dict(re.findall(r'<path class="(side-\d)" d="([^"]*)"', curve))
    heights = {
        side: [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)H", line)]
        for side, line in lines.items()
    }
    assert (
        len(heights["side-0"]) == 4
        and heights["side-1"][2]
        < heights["side-1"][1]
        < heights["side-1"][0]
        == heights["side-0"][0]
    )
    # From -2 to -1 is an exponent, from 0.5 to 4 are three.
    begins = [float(x) for x in re.findall(r"[ML]([\d.]+) ", lines["side-1"])]
    assert abs(begins[3] - begins[2] - 3 * (begins[1] - begins[0])) < 1
    assert {"0", "1", "−1", "2²"} <= set(re.findall(r"<text [^>]*>([^<]*)</text>", curve))
    # What says nothing draws nothing; what is the same on both sides says so.
    verdict["outputs"][0].update(ulp_histogram=[5])
    del verdict["outputs"][0]["error_curve"]["compiled"]
    dom = html.unescape(Page(records, tmp_path / "page").dom(f"#id={verdict['id']}"))
    assert 'class="histogram"' not in dom and "the same everywhere" in dom


def test_what_a_log_may_say_of_pictures_and_files_breaks_nothing(tmp_path):
    records = sample()
    verdict = next(record for record in records if '"heat"' in json.dumps(record))
    verdict["outputs"][0].update(
        tensors=["tensors/a b/[x]@cpu#.npy", f"tensors/{NASTY}"],
        error_curve={"input": NASTY, "from": [0, 0, "inf", -1, 2], "eager": [-1], "compiled": []},
        heat={"rows": 1, "columns": 3, "differing": [1], "greatest": []},
    )
    dom = Page(records, tmp_path / "page").dom(f"#id={verdict['id']}")
    kept = one(r'<p class="label kept">.*?</p>', dom).group(0)
    links = re.findall(r'href="([^"]*)"', kept)
    assert links[0] == "./tensors/a%20b/%5Bx%5D%40cpu%23.npy" and len(links) == 2
    assert links[1].startswith("./tensors/%3C/script%3E%3Cscript%3Edocument.title%3D")
    assert "<img" not in dom and "<title>broken out" not in dom
    assert "NaN" not in "".join(re.findall(r' d="([^"]*)"', dom))
