"""Reads the goldens of the reports the way their consumers do, with parsers that are not ours."""

import json
import pathlib

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped
from lxml import etree

HERE = pathlib.Path(__file__).parent
TESTDATA = HERE / "testdata"
JUNIT = sorted(TESTDATA.glob("*.junit.xml"))


@pytest.mark.parametrize("path", JUNIT, ids=lambda path: path.name)
def test_junit_is_valid(path):
    schema = etree.XMLSchema(etree.parse(str(HERE / "junit.xsd")))
    schema.assertValid(etree.parse(str(path)))


@pytest.mark.parametrize("path", JUNIT, ids=lambda path: path.name)
def test_junit_counts_are_those_of_its_testcases(path):
    report = JUnitXml.fromfile(str(path))
    for suite in report:
        results = [result for case in suite for result in case.result]
        assert suite.tests == len(list(suite))
        for kind, count in [(Failure, suite.failures), (Error, suite.errors), (Skipped, suite.skipped)]:
            assert count == sum(isinstance(result, kind) for result in results)


def test_junit_names_are_unique():
    for path in JUNIT:
        cases = [(case.classname, case.name) for suite in JUnitXml.fromfile(str(path)) for case in suite]
        assert len(cases) == len(set(cases)), path.name


def test_junit_tells_what_the_log_tells():
    lines = [json.loads(line) for line in (TESTDATA / "sample.jsonl").read_text("utf-8").splitlines()]
    verdicts = {line["id"]: line for line in lines if line["type"] == "verdict"}
    report = JUnitXml.fromfile(str(TESTDATA / "sample.junit.xml"))
    cases = {f"{case.name}/{suite.name}": case for suite in report for case in suite}
    assert cases.keys() == verdicts.keys()
    for key, verdict in verdicts.items():
        for result in cases[key].result:
            assert result.type in (verdict["status"], verdict["standing"])
            if verdict["standing"] == "new":
                assert verdict["repro"] in result.text
                assert verdict["reason"] in result.text


def test_run_json_has_what_the_log_has():
    lines = [json.loads(line) for line in (TESTDATA / "sample.jsonl").read_text("utf-8").splitlines()]
    document = json.loads((TESTDATA / "sample.run.json").read_text("utf-8"))
    assert document["format"] == 2
    assert [v["id"] for v in document["verdicts"]] == [line["id"] for line in lines if line["type"] == "verdict"]
    assert document["environment"] == {line["name"]: line["values"] for line in lines if line["type"] == "environment"}
    assert sum(document["tally"].values()) == sum(document["tally_strict"].values()) == len(document["verdicts"])


def test_annotations_are_few_and_whole():
    lines = (TESTDATA / "sample.annotations.txt").read_text("utf-8").splitlines()
    assert len(lines) == 10
    assert all(line.startswith("::error ") for line in lines)


def test_the_schema_refuses_what_it_should():
    schema = etree.XMLSchema(etree.parse(str(HERE / "junit.xsd")))
    good = etree.parse(str(TESTDATA / "sample.junit.xml"))
    for spoil in [
        lambda case: case.attrib.pop("classname"),
        lambda case: case.set("time", "1e3"),
        lambda case: case.set("name", case.getnext().get("name")),
        lambda case: [etree.SubElement(case, "failure"), etree.SubElement(case, "error")],
    ]:
        bad = etree.fromstring(etree.tostring(good))
        case = bad.find("testsuite").find("testcase")
        case.set("classname", case.getnext().get("classname"))
        spoil(case)
        assert not schema.validate(bad)
