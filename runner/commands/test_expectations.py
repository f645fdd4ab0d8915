"""Expectations from the command line: standings, rules that meet nothing, proposals."""

import json
import re
import sys

from suites import FAKE, case, verdicts


def rule(**more):
    return {
        "instances": ["bugs/1-first"],
        "paths": ["flip"],
        "status": "value_diverges",
        "because": "bug",
        "reason": "made up for a test",
        "link": "https://example.org/1",
        "date": "2026-11-21",
        **more,
    }


def test_expectations_give_standings(suite):
    suite.write(
        "expected/known/a.json",
        {
            "format": 2,
            "known": [
                rule(),
                rule(paths=["conform"]),
                rule(instances=["bugs/2-second"], waived=True),
                rule(instances=["ops/clone"], expires="2020-01-01"),
            ],
        },
    )
    arguments = ("run", "--level", "all", "path:flip", "path:conform")
    result = suite(*arguments, "--out", "out")
    assert result.returncode == 1
    found = verdicts(suite.root / "out")
    assert [
        found[id]["standing"]
        for id in (
            "bugs/1-first@cpu/flip",
            "bugs/1-first@cpu/conform",
            "bugs/2-second[rows=1]@cpu/flip",
            "ops/clone@cpu/flip",
        )
    ] == ["known", "fixed", "waived", "new"]
    assert re.search(
        r"ops/clone on flip: value_diverges: expired on 2020-01-01$", result.stdout, re.M
    )
    suite.write(
        "expected/known/a.json",
        {"format": 2, "known": [rule(paths=["conform"], expires="2020-01-01")]},
    )
    assert "expired on 2020-01-01, and gone" in suite("run", "bugs/1-first", "path:conform").stdout
    suite.write("expected/known/a.json", {"format": 2, "known": [rule(), rule(paths=["conform"])]})
    assert suite("run", "bugs/1-first", "path:conform").returncode == 0
    assert suite("run", "bugs/1-first", "path:conform", "--strict").returncode == 1


def test_rules_that_meet_nothing_are_reported_where_the_run_can_tell(suite):
    suite.write(
        "expected/known/a.json",
        {
            "format": 2,
            "known": [
                rule(instances=["bugs/2-second", "bugs/gone"]),
                rule(instances=["bugs/gone"]),
            ],
        },
    )
    whole = suite("run", "--level", "all", "path:flip", "path:conform")
    assert "1 expectation met nothing" in whole.stdout
    assert re.search(r"expected/known/a.json:\d+  bugs/gone on flip", whole.stdout)
    part = suite("run", "bugs/1-first", "path:flip")
    assert "met nothing" not in part.stdout
    part = suite("run", "--level", "all", "ops/*", "path:conform")
    assert "met nothing" not in part.stdout  # a level and a selection are not the whole suite


def test_update_known_proposes_and_an_unwritten_reason_is_refused(suite):
    arguments = ("run", "--level", "all", "path:flip", "path:crash", "--update-known")
    result = suite(*arguments, "--out", "out")
    assert result.returncode == 1
    assert "only with --accept-crashes" in result.stderr
    file = suite.root / "expected" / "known" / "proposed.json"
    known = json.loads(file.read_text())["known"]
    assert [(each["fingerprints"], each["instances"], each["paths"]) for each in known] == [
        ([fingerprint], ["bugs/1-first", "bugs/2-second", "ops/clone"], ["flip"])
        for fingerprint in ("clone:mutation", "clone:value")
    ]
    assert known[0]["torch"] == ">=2.13,<2.14" and known[0]["link"] == "https://example.org/1"
    assert (
        re.match(r"[^ ]+@cpu/flip: \w+: 1 of \d+ differ", known[0]["finding"])
        and "status" not in known[0]
    )
    refused = suite("check")
    assert refused.returncode == 2 and "without a reason" in refused.stderr
    text = file.read_text()
    file.unlink()
    suite(*arguments, "--out", "again")
    assert file.read_text() == text
    file.write_text(text.replace('"reason": ""', '"reason": "written"'))
    assert suite("run", "--level", "all", "path:flip").returncode == 0
    # What is there stays, what is new is added where it belongs.
    result = suite(*arguments, "--accept-crashes", "--out", "third")
    known = json.loads(file.read_text())["known"]
    assert [(each["fingerprints"], each["reason"]) for each in known] == [
        (["clone:crash-in-compile"], ""),
        (["clone:mutation"], "written"),
        (["clone:value"], "written"),
    ]
    file.unlink()
    assert (
        len(
            json.loads(suite("run", "bugs/1-first", "path:flip", "--update-known=-").stdout)[
                "known"
            ]
        )
        == 2
    )


def test_update_known_leaves_in_a_file_elsewhere_what_it_has(suite):
    arguments = ("run", "--level", "all", "path:flip", "--update-known=proposed.json")
    first, file = suite(*arguments), suite.root / "proposed.json"
    assert "2 proposed in proposed.json" in first.stderr
    text = file.read_text()
    again = suite(*arguments)
    assert "no expectation to propose" in again.stderr and file.read_text() == text
    # What people write makes it no other rule, nor does the day; the order of the file does not
    # matter.
    known = [
        {**rule, "reason": "written", "because": "bug", "date": "2020-01-01"}
        for rule in json.loads(text)["known"]
    ]
    file.write_text(json.dumps({"$schema": "here", "format": 2, "known": known[:0:-1]}))
    assert "1 proposed" in suite(*arguments).stderr
    document = json.loads(file.read_text())
    assert document["$schema"] == "here"
    assert [rule["fingerprints"] for rule in document["known"]] == [
        rule["fingerprints"] for rule in known
    ]
    assert [rule["reason"] for rule in document["known"]] == ["", "written"]


def test_update_known_proposes_one_rule_for_a_fingerprint_with_its_smallest_finding(suite):
    fake = suite.root / "fake.py"
    fake.write_text(
        FAKE.read_text().replace('"flip": flip_bit', '"flip": flip_bit, "flop": flip_bit')
    )  # one finding on two paths
    for name in ("flip", "flop"):
        suite.path(name, worker=[sys.executable, str(fake)])
    suite.write(
        "cases/bugs/3-third.json",
        case(
            "element by element",
            pointwise=True,
            matrix={"start": [1, 5]},
            inputs={
                "x": {"dtype": "float32", "shape": [2, 4], "fill": {"arange": {"start": "$start"}}}
            },
        ),
    )
    known = json.loads(suite("run", "bugs/3-third", "path:fl?p", "--update-known=-").stdout)[
        "known"
    ]
    assert [(rule["fingerprints"], rule["instances"], rule["paths"]) for rule in known] == [
        ([fingerprint], ["bugs/3-third"], ["flip", "flop"])
        for fingerprint in ("clone:mutation", "clone:value")
    ]
    assert known[0]["finding"].startswith(
        "bugs/3-third[start=1]@cpu/flip: x: 1 of 8 differ: 1 last bits; at most 1 ulp; first x = "
        "5.0 (0x40a00000): eager 5.0, "
    ), known
    suite.write(
        "expected/known/a.json",
        {"format": 2, "known": [{**rule, "reason": "written"} for rule in known]},
    )
    assert suite("run", "bugs/3-third", "path:fl?p").returncode == 0


def by_fingerprint(**more):
    return {
        "fingerprints": ["clone:*"],
        "paths": ["flip"],
        "torch": ">=2.13",
        "because": "unreported",
        "reason": "made up for a test",
        "date": "2026-11-21",
        **more,
    }


def test_a_rule_about_a_fingerprint_knows_it_wherever_it_is(suite):
    suite.write("expected/known/a.json", {"format": 2, "known": [by_fingerprint()]})
    result = suite("run", "--level", "all", "path:flip", "--out", "out")
    assert result.returncode == 0, result.stdout
    assert {verdict["standing"] for verdict in verdicts(suite.root / "out").values()} == {"known"}
    # Another finding under a known fingerprint is new: each of a verdict's fingerprints must be
    # known.
    suite.write(
        "expected/known/a.json",
        {"format": 2, "known": [by_fingerprint(fingerprints=["clone:value"])]},
    )
    result = suite("run", "--level", "all", "path:flip")
    assert result.returncode == 1
    assert re.search(
        r"^2 fingerprints of what fails:\n    clone:mutation  4 failing; ", result.stdout, re.M
    ), result.stdout
    suite.write("expected/known/a.json", {"format": 2, "known": [by_fingerprint(torch=">=2.14")]})
    assert suite("run", "--level", "all", "path:flip").returncode == 1


def test_what_is_wrong_with_a_rule_about_a_fingerprint_is_said(suite):
    suite.write(
        "expected/known/a.json",
        {
            "format": 2,
            "known": [
                by_fingerprint(fingerprints=["clone", "*:value"], status="value_diverges"),
                {key: value for key, value in by_fingerprint().items() if key != "torch"},
            ],
        },
    )
    result = suite("check")
    assert result.returncode == 2
    for text in (
        "expected a fingerprint as a run names it",
        "expected a fingerprint whose operators are named",
        "no status beside `fingerprints`",
        "`torch`",
    ):
        assert text in result.stderr, result.stderr


def test_report_lists_every_fingerprint(suite):
    suite.write("expected/known/a.json", {"format": 2, "known": [by_fingerprint()]})
    suite("run", "--level", "all", "path:flip", "path:crash", "--out", "out")
    result = suite("report", "out", "--fingerprints")
    assert result.stdout.startswith(
        "3 fingerprints of what does not conform:\n    clone:crash-in-compile  4 failing; "
    ), result.stdout
    assert "    clone:value  4 verdicts; " in result.stdout
