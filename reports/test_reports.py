"""Reads the goldens of the reports the way their consumers do, with parsers that are not ours."""

import json
import pathlib

import jsonschema
import pytest
from junitparser import Error, Failure, JUnitXml, Skipped
from lxml import etree

HERE = pathlib.Path(__file__).parent
TESTDATA = HERE / "testdata"
JUNIT = sorted(TESTDATA.glob("*.junit.xml"))
CTRF = sorted(TESTDATA.glob("*.ctrf.json"))


def schema(name):
    return etree.XMLSchema(etree.parse(str(TESTDATA / "schemas" / name)))


@pytest.mark.parametrize("path", JUNIT, ids=lambda path: path.name)
def test_junit_is_valid(path):
    """For Jenkins' xUnit plugin as it is; surefire's schema is about one testsuite, whose time
    surefire 3 knows."""
    document = etree.parse(str(path))
    schema("jenkins-junit-10.xsd").assertValid(document)
    suites = document.getroot().findall("testsuite")
    assert suites
    for suite in suites:
        suite.attrib.pop("timestamp", "")
        schema("surefire-test-report-2.22.3.xsd").assertValid(
            etree.fromstring(etree.tostring(suite))
        )


@pytest.mark.parametrize("path", CTRF, ids=lambda path: path.name)
def test_ctrf_is_valid(path):
    """And its counts are those of its tests."""
    document = json.loads(path.read_text("utf-8"))
    jsonschema.Draft7Validator(
        json.loads((TESTDATA / "schemas" / "ctrf.schema.json").read_text("utf-8"))
    ).validate(document)
    tests, summary = document["results"]["tests"], document["results"]["summary"]
    assert summary["tests"] == len(tests)
    for status in ("passed", "failed", "skipped"):
        assert summary[status] == sum(test["status"] == status for test in tests)


def test_the_schema_of_ctrf_refuses_what_it_should():
    validator = jsonschema.Draft7Validator(
        json.loads((TESTDATA / "schemas" / "ctrf.schema.json").read_text("utf-8"))
    )
    for spoil in (
        lambda document: document["results"]["tests"][0].update(status="known"),
        lambda document: document["results"]["summary"].pop("failed"),
        lambda document: document.update(more=1),
    ):
        document = json.loads((TESTDATA / "sample.ctrf.json").read_text("utf-8"))
        spoil(document)
        assert not validator.is_valid(document)


@pytest.mark.parametrize("path", JUNIT, ids=lambda path: path.name)
def test_junit_counts_are_those_of_its_testcases(path):
    report = JUnitXml.fromfile(str(path))
    for suite in report:
        results = [result for case in suite for result in case.result]
        assert suite.tests == len(list(suite))
        for kind, count in [
            (Failure, suite.failures),
            (Error, suite.errors),
            (Skipped, suite.skipped),
        ]:
            assert count == sum(isinstance(result, kind) for result in results)


def test_junit_names_are_unique():
    for path in JUNIT:
        cases = [
            (case.classname, case.name) for suite in JUnitXml.fromfile(str(path)) for case in suite
        ]
        assert len(cases) == len(set(cases)), path.name


def test_junit_tells_what_the_log_tells():
    lines = [
        json.loads(line) for line in (TESTDATA / "sample.jsonl").read_text("utf-8").splitlines()
    ]
    verdicts = {line["id"]: line for line in lines if line["type"] == "verdict"}
    report = JUnitXml.fromfile(str(TESTDATA / "sample.junit.xml"))
    cases = {f"{case.name}/{suite.name}": case for suite in report for case in suite}
    assert cases.keys() == verdicts.keys()
    for key, verdict in verdicts.items():
        for result in cases[key].result:
            assert (
                result.type or result.message.split(":")[0].replace(" ", "_").replace("-", "")
            ) and (f"[[PROPERTY|status={verdict['status']}]]" in cases[key].system_out)
            if verdict["standing"] == "new":
                assert verdict["repro"] in result.text
                assert verdict["reason"] in result.text


def test_run_json_has_what_the_log_has():
    lines = [
        json.loads(line) for line in (TESTDATA / "sample.jsonl").read_text("utf-8").splitlines()
    ]
    document = json.loads((TESTDATA / "sample.run.json").read_text("utf-8"))
    assert document["format"] == 2
    assert [v["id"] for v in document["verdicts"]] == [
        line["id"] for line in lines if line["type"] == "verdict"
    ]
    assert document["environment"] == {
        line["name"]: line["values"] for line in lines if line["type"] == "environment"
    }
    assert (
        sum(document["tally"].values())
        == sum(document["tally_strict"].values())
        == len(document["verdicts"])
    )


def test_annotations_are_few_and_whole():
    lines = (TESTDATA / "sample.annotations.txt").read_text("utf-8").splitlines()
    assert len(lines) == 10
    assert all(line.startswith("::error ") for line in lines)


def test_the_schemas_refuse_what_they_should():
    """Such as what people expect of a test case: properties and a file."""
    surefire, jenkins = schema("surefire-test-report-2.22.3.xsd"), schema("jenkins-junit-10.xsd")
    good = etree.parse(str(TESTDATA / "sample.junit.xml"))
    for spoil in [
        lambda case: case.attrib.pop("name"),
        lambda case: case.set("file", "a.json"),
        lambda case: case.append(etree.Element("properties")),
    ]:
        bad = etree.fromstring(etree.tostring(good))
        (suite,) = bad.findall("testsuite")
        suite.attrib.pop("timestamp")
        assert surefire.validate(etree.fromstring(etree.tostring(suite)))
        spoil(suite.findall("testcase")[0])
        assert not jenkins.validate(bad)
        assert not surefire.validate(etree.fromstring(etree.tostring(suite)))
