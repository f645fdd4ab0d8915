"""Expectations from the command line: standings, rules that meet nothing, proposals."""

import json
import re
import sys

from suites import FAKE, case, verdicts


def rule(**more):
    return {"instances": ["bugs/1-first"], "paths": ["flip"], "status": "value_differs", "because": "bug", "reason": "made up for a test",
            "link": "https://example.org/1", "date": "2026-11-21", **more}


def test_expectations_give_standings(suite):
    suite.write("expected/known/a.json", {"format": 1, "known": [
        rule(), rule(paths=["conform"]), rule(instances=["bugs/2-second"], waived=True),
        rule(instances=["ops/clone"], expires="2020-01-01")]})
    arguments = ("run", "--level", "all", "path:flip", "path:conform")
    result = suite(*arguments, "--out", "out")
    assert result.returncode == 1
    found = verdicts(suite.root / "out")
    assert [found[id]["standing"] for id in ("bugs/1-first@cpu/flip", "bugs/1-first@cpu/conform", "bugs/2-second[rows=1]@cpu/flip",
            "ops/clone@cpu/flip")] == ["known", "fixed", "waived", "new"]
    assert re.search(r"ops/clone on flip: value_differs: expired on 2020-01-01$", result.stdout, re.M)
    suite.write("expected/known/a.json", {"format": 1, "known": [rule(paths=["conform"], expires="2020-01-01")]})
    assert "expired on 2020-01-01, and gone" in suite("run", "bugs/1-first", "path:conform").stdout
    suite.write("expected/known/a.json", {"format": 1, "known": [rule(), rule(paths=["conform"])]})
    assert suite("run", "bugs/1-first", "path:conform").returncode == 0
    assert suite("run", "bugs/1-first", "path:conform", "--strict").returncode == 1


def test_rules_that_meet_nothing_are_reported_where_the_run_can_tell(suite):
    suite.write("expected/known/a.json", {"format": 1, "known": [rule(instances=["bugs/2-second", "bugs/gone"]), rule(instances=["bugs/gone"])]})
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
    assert [(each["instances"], each["paths"]) for each in known] == [
        (["bugs/1-first@cpu"], ["flip"]), (["bugs/2-second[rows=1]@cpu", "bugs/2-second[rows=2]@cpu"], ["flip"]), (["ops/clone@cpu"], ["flip"])]
    assert known[0]["torch"] == ">=2.13,<2.14" and known[0]["link"] == "https://example.org/1"
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
    assert [(each["status"], each["reason"]) for each in known] == [("crash", ""), ("value_differs", "written")] * 3
    file.unlink()
    assert len(json.loads(suite("run", "bugs/1-first", "path:flip", "--update-known=-").stdout)["known"]) == 1


def test_update_known_leaves_in_a_file_elsewhere_what_it_has(suite):
    arguments = ("run", "--level", "all", "path:flip", "--update-known=proposed.json")
    first, file = suite(*arguments), suite.root / "proposed.json"
    assert "3 proposed in proposed.json" in first.stderr
    text = file.read_text()
    again = suite(*arguments)
    assert "no expectation to propose" in again.stderr and file.read_text() == text
    # What people write makes it no other rule, nor does the day; the order of the file does not matter.
    known = [{**rule, "reason": "written", "because": "bug", "date": "2020-01-01"} for rule in json.loads(text)["known"]]
    file.write_text(json.dumps({"$schema": "here", "format": 1, "known": known[:0:-1]}))
    assert "1 proposed" in suite(*arguments).stderr
    document = json.loads(file.read_text())
    assert document["$schema"] == "here"
    assert [rule["instances"] for rule in document["known"]] == [rule["instances"] for rule in known]
    assert [rule["reason"] for rule in document["known"]] == ["", "written", "written"]


def test_update_known_proposes_each_instance_of_a_pointwise_case_with_its_finding(suite):
    fake = suite.root / "fake.py"
    fake.write_text(FAKE.read_text().replace('"flip": flip_bit', '"flip": flip_bit, "flop": flip_bit'))  # one finding on two paths
    for name in ("flip", "flop"):
        suite.path(name, worker=[sys.executable, str(fake)])
    suite.write("cases/bugs/3-third.json", case("element by element", pointwise=True, matrix={"start": [1, 5]}, inputs={
        "x": {"dtype": "float32", "shape": [2, 4], "fill": {"arange": {"start": "$start"}}}}))
    known = json.loads(suite("run", "bugs/3-third", "path:fl?p", "--update-known=-").stdout)["known"]
    assert [(rule["instances"], rule["paths"]) for rule in known] == [
        (["bugs/3-third[start=1]@cpu"], ["flip", "flop"]), (["bugs/3-third[start=5]@cpu"], ["flip", "flop"])]
    assert known[0]["finding"].startswith("x: 1 of 8 differ: 1 last bits; at most 1 ulp; first x = 5.0 (0x40a00000): eager 5.0, "), known
    suite.write("expected/known/a.json", {"format": 1, "known": [{**rule, "reason": "written"} for rule in known]})
    assert suite("run", "bugs/3-third", "path:fl?p").returncode == 0
