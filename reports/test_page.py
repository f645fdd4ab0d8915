"""Opens the HTML report in a real browser, headless, and looks at what stands there."""

import base64
import gzip
import html
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from browser import BROWSER, Opened, one

HERE = pathlib.Path(__file__).resolve().parent
BINARY = pathlib.Path(os.environ.get("LOCKSTEP_BINARY_DIR", "")) / "bin" / "lockstep"
STATUSES = {
    each["name"]: each for each in json.loads((HERE / "words.json").read_text("utf-8"))["statuses"]
}
NASTY = (
    "</script><script>document.title='broken out'</script><img src=x "
    "onerror=\"document.title='broken out'\"> {{data}} <!-- & \u202e"
)

pytestmark = [
    pytest.mark.skipif(
        not BINARY.is_file(), reason="LOCKSTEP_BINARY_DIR names no build with bin/lockstep"
    ),
    pytest.mark.skipif(
        BROWSER is None, reason="no chromium in PATH: ci/packages-test.txt has its package"
    ),
]


#: The grades below `bits`, strictest first: name, policy, what it measures, limit.
GRADES = [
    ("ulp4", "ulp(4)", "ulp", 4),
    ("close", "close", "outside", 0),
    ("no_worse1", "no_worse(1)", "error", 1),
    ("same1e-3", "same(0.001)", "not_same", 0),
]


def measured(policy, of, limit, holds, special=0):
    if special and not holds:
        return {"policy": policy, "of": "nonfinite", "measured": special, "limit": 0, "ok": False}
    value = limit if holds else limit + 1
    return {"policy": policy, "of": of, "measured": value, "limit": limit, "ok": holds}


def rest_on_numbers(output):
    """Gives an output the counts, checks and grading that its status and grade follow from."""
    differing = output.get("differing", 0)
    classes = output.setdefault("classes", {})
    parts = ("nan", "infinity", "zero_sign", "subnormal", "last_bits", "value")
    if output["status"] == "nonfinite_diverges" and not {"nan", "infinity"} & set(classes):
        classes["infinity"] = differing
    rest = differing - sum(classes.get(part, 0) for part in parts)
    if rest < 0:
        output["differing"] = differing = differing - rest
        output["elements"] = max(output.get("elements", 0), differing)
    elif rest > 0:
        classes["value"] = classes.get("value", 0) + rest
    if differing == 0:
        return
    special = classes.get("nan", 0) + classes.get("infinity", 0)
    holds = output["status"] in ("conform", "metadata_diverges")
    policy = output.get("policy", "bits")
    if policy not in ("bits", "close", "any_of(close, no_worse(1))"):
        policy = "bits"
    if policy == "bits" and holds and not special:
        policy = "close"  # under which what differs may conform
    if output.get("grade", "bits") == "bits":
        output["grade"] = "close" if holds and not special else "none"
    output["policy"] = policy
    if policy.startswith("any_of"):
        both = [("close", "outside", 0), ("no_worse(1)", "error", 1)]
        output["checks"] = [measured(*each, holds, special) for each in both[: 1 if holds else 2]]
    elif policy == "close":
        output["checks"] = [measured("close", "outside", 0, holds, special)]
    else:
        of = {"of": "nonfinite", "measured": special} if special else {"of": "differing"}
        output["checks"] = [
            {"policy": "bits", "measured": differing, "limit": 0, "ok": False, **of}
        ]
    names = [grade[0] for grade in GRADES]
    reached = names.index(output["grade"]) if output.get("grade") in names else len(names)
    output["grading"] = [
        measured(policy, of, limit, at == reached, special)
        for at, (_, policy, of, limit) in enumerate(GRADES[: reached + 1])
    ]


def consistent(record):
    """A verdict as a reader takes it, which refuses one that contradicts itself."""
    if record.get("type") != "verdict":
        return record
    record = json.loads(json.dumps(record))
    if record["status"] == "unsupported":
        record.pop("outputs", None)  # nothing was compared
    for output in record.get("outputs", []):
        rest_on_numbers(output)
    for output in record.get("outputs", []):
        of = [check["of"] for check in output.get("checks", []) if not check["ok"]]
        if of and output["status"] in ("conform", "value_diverges"):
            fails = "nonfinite_diverges" if of[0] == "nonfinite" else "value_diverges"
            output["status"] = fails
            if record["status"] == "conform":
                record["status"] = fails
    faults = [output for output in record.get("outputs", []) if output["status"] != "conform"]
    if record["status"] == "value_diverges" and faults:
        record["status"] = faults[0]["status"]
    found = [
        {"status": output["status"], "name": output["name"], "reason": output.get("reason", "")}
        for output in faults
    ]
    if record["status"] in ("conform", "unsupported"):
        record.pop("differences", None)
    elif not found or found[0]["status"] != record["status"]:
        first = {"status": record["status"], "reason": record.get("reason", "")}
        record["differences"] = [first, *found]
    else:
        record["differences"] = found
    order = ["bits", *(grade[0] for grade in GRADES), "none"]
    graded = [output["grade"] for output in record.get("outputs", []) if "grade" in output]
    weak = [o for o in record.get("outputs", []) if "weak" in o and o["status"] == "conform"]
    for output in record.get("outputs", []):
        if output["status"] != "conform" or "weak" not in record:
            output.pop("weak", None)
    if not weak or record["status"] != "conform":
        record.pop("weak", None)
    record.pop("grade", None)
    if graded:
        record["grade"] = max(graded, key=order.index)
    raised = "eager_error" in record and "compiled_error" in record
    if record["status"] == "conform" and not record.get("outputs") and not raised:
        record["outputs"] = [{"name": "y", "policy": "bits", "status": "conform", "elements": 1}]
    if record["standing"] in ("known", "waived") and "expectation" not in record:
        record["expectation"] = {"status": record["status"], "because": "bug"}
        record["expectation"]["reason"] = record.get("reason", "r")
    return record


def in_order(records):
    """What a test appended, where a log has it: verdicts before the end, explanations behind."""
    return sorted(records, key=lambda each: {"end": 1, "explanation": 2}.get(each["type"], 0))


class Page(Opened):
    def __init__(self, records, folder):
        folder.mkdir(exist_ok=True)
        (folder / "run.jsonl").write_text(
            "".join(json.dumps(consistent(record)) + "\n" for record in in_order(records)), "utf-8"
        )
        done = subprocess.run([BINARY, "report", folder], capture_output=True, timeout=120)
        assert b"contradicts itself" not in done.stderr, done.stderr
        super().__init__(folder / "report.html")


def sample():
    return [
        json.loads(line)
        for line in (HERE / "testdata" / "sample.jsonl").read_text("utf-8").splitlines()
    ]


def rows(dom):
    return len(re.findall(r'class="row kind-', dom))


def count_shown(dom):
    return one(r'<output id="count"[^>]*>([^<]*)</output>', dom).group(1)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return Page(sample(), tmp_path_factory.mktemp("page"))


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
        reproducer == f"ci/lockstep repro '{verdict['id']}' --out repro.py"
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
        "--out repro.py"
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
        "cast": "compiled keeps float32 after step h",
        "steps": [
            {
                "name": "h",
                "text": f"h = aten::add(x, {NASTY})",
                "value": "same",
                "explained": "yes",
            },
            {
                "name": "y",
                "text": "y = aten::to.dtype(h, float32)",
                "value": "differs",
                "explained": "no",
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
    assert cells[0] == ["step", "value", "alone", "at", "eager", "compiled"]
    assert cells[2] == [
        "y = aten::to.dtype(h, float32)",
        "differs, not as eager makes it",
        "conform",
        "1, 2",
        "1.5",
        "1.25",
    ]
    assert 'class="guilty"' in part and part.index("fusion of") < part.index(
        "Layer: "
    ) < part.index("<table")
    assert (
        "Ends with emulate_precision_casts (casts)." in part
        and "Pass: inductor, lowerings, " in part
        and "Nobody looked into: " in part
    )
    # Its fingerprint has the name of what was found, and the one of others stays.
    names = one(r'<p class="names">(.*?)</p>', dom).group(1)
    assert "to:value/emulate_precision_casts" in names
    assert "Who did it" not in page.dom(f"#id={verdict['id']}")


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
    setting, rates = told(page.dom())
    assert setting == {"torch": "2.13.0+cpu", "CPU": "AVX512", "suite": "5f1c9a0b"}
    assert list(rates) == ["aot_eager", "inductor"] and rates["aot_eager"] == "100 %"
    assert 0 < float(rates["inductor"].removesuffix(" %")) < 20  # 1 of those judged
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


def test_operators_and_dtypes_have_their_share(page):
    dom = html.unescape(page.dom("#view=operators"))
    heads = re.findall(
        r'role="columnheader"[^>]*>(?:<span>)?([^<]*)',
        one(r'aria-label="Operators".*?class="space', dom).group(0),
    )
    assert heads[:2] == ["operator", "all"] and "float32" in heads
    verdicts = [
        record
        for record in sample()
        if record["type"] == "verdict" and "aten::to.dtype" in record.get("operators", [])
    ]
    conforming = sum(record["status"] == "conform" for record in verdicts)
    judged = sum(STATUSES[record["status"]]["junit"] != "skipped" for record in verdicts)
    row = next(
        row
        for row in re.findall(
            r'<div class="row"[^>]*>.*?(?=<div class="row"|<section id="details")', dom, flags=re.S
        )
        if ">to.dtype<" in row
    )
    assert f'aria-label="all: {conforming} of {judged} judged conform' in row, row
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


def test_an_output_shows_how_far_apart_elements_are_and_the_errors_along_the_input(tmp_path):
    records = sample()
    verdict = next(record for record in records if '"heat"' in json.dumps(record))
    verdict["outputs"][0].update(
        ulp_histogram=[0, 5, 0, 20],
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
    curve = one(r'<figure class="curve".*?</figure>', dom).group(0)
    assert (
        "along x: " in curve
        and "eager (at most 0.5)" in curve
        and f"{verdict['path']} (at most inf)" in curve
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
    # What says nothing draws nothing; what is the same on both sides says so.
    verdict["outputs"][0].update(ulp_histogram=[5])
    del verdict["outputs"][0]["error_curve"]["compiled"]
    dom = html.unescape(Page(records, tmp_path / "page").dom(f"#id={verdict['id']}"))
    assert 'class="histogram"' not in dom and "the same everywhere" in dom


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
        return asked(bare.browse("--dump-dom").stdout)

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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_drawn(page, scheme):
    picture = page.folder / f"{scheme}.png"
    page.browse(
        f"--screenshot={picture}",
        *(
            ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"]
            if scheme == "dark"
            else []
        ),
    )
    assert picture.stat().st_size > 20000  # a blank page takes a fraction of it
