"""Reads reports of the sample log the way their consumers do, with parsers that are not ours."""

import json
import os
import pathlib
import subprocess

import jsonschema
import pytest
from junitparser import Error, Failure, JUnitXml, Skipped
from lxml import etree

HERE = pathlib.Path(__file__).parent
TESTDATA = HERE / "testdata"
BINARY = pathlib.Path(os.environ.get("LOCKSTEP_BINARY_DIR", "")) / "bin" / "lockstep"
LOG = (TESTDATA / "sample.jsonl").read_text("utf-8")
NASTY = "]]> <script> & \" ' \x1b[31m \x01\x7f \u202e {{data}} \\n::error::"
RUNS = ("sample", "strict", "hostile")


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """A folder with NAME.junit.xml and NAME.ctrf.json of each of RUNS."""
    if not BINARY.is_file():
        pytest.skip("LOCKSTEP_BINARY_DIR names no build with bin/lockstep")
    folder = tmp_path_factory.mktemp("reports")
    hostile = [json.loads(line) for line in LOG.splitlines()]
    for verdict in (each for each in hostile if each["type"] == "verdict"):
        verdict.update(title=NASTY, reason=NASTY, stage=NASTY, case_file=NASTY)
    logs = {
        "sample": LOG,
        "strict": LOG,
        "hostile": "".join(json.dumps(each) + "\n" for each in hostile),
    }
    for name, log in logs.items():
        (folder / f"{name}.jsonl").write_text(log, "utf-8")
        files = [f"--junit={name}.junit.xml", f"--ctrf={name}.ctrf.json"]
        strict = ["--strict"] if name == "strict" else []
        done = subprocess.run(
            [BINARY, "report", f"{name}.jsonl", *files, *strict],
            cwd=folder,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 1, done.stderr
    return folder


def schema(name):
    return etree.XMLSchema(etree.parse(str(TESTDATA / "schemas" / name)))


@pytest.mark.parametrize("name", RUNS)
def test_junit_is_valid(reports, name):
    """For Jenkins' xUnit plugin as it is; surefire's schema is about one testsuite, whose time
    surefire 3 knows."""
    document = etree.parse(str(reports / f"{name}.junit.xml"))
    schema("jenkins-junit-10.xsd").assertValid(document)
    suites = document.getroot().findall("testsuite")
    assert suites
    for suite in suites:
        suite.attrib.pop("timestamp", "")
        schema("surefire-test-report-2.22.3.xsd").assertValid(
            etree.fromstring(etree.tostring(suite))
        )


@pytest.mark.parametrize("name", RUNS)
def test_ctrf_is_valid(reports, name):
    """And its counts are those of its tests."""
    document = json.loads((reports / f"{name}.ctrf.json").read_text("utf-8"))
    jsonschema.Draft7Validator(
        json.loads((TESTDATA / "schemas" / "ctrf.schema.json").read_text("utf-8"))
    ).validate(document)
    tests, summary = document["results"]["tests"], document["results"]["summary"]
    assert summary["tests"] == len(tests)
    for status in ("passed", "failed", "skipped"):
        assert summary[status] == sum(test["status"] == status for test in tests)


def test_the_schema_of_ctrf_refuses_what_it_should(reports):
    validator = jsonschema.Draft7Validator(
        json.loads((TESTDATA / "schemas" / "ctrf.schema.json").read_text("utf-8"))
    )
    for spoil in (
        lambda document: document["results"]["tests"][0].update(status="known"),
        lambda document: document["results"]["summary"].pop("failed"),
        lambda document: document.update(more=1),
    ):
        document = json.loads((reports / "sample.ctrf.json").read_text("utf-8"))
        spoil(document)
        assert not validator.is_valid(document)


@pytest.mark.parametrize("name", RUNS)
def test_junit_counts_are_those_of_its_testcases(reports, name):
    report = JUnitXml.fromfile(str(reports / f"{name}.junit.xml"))
    for suite in report:
        results = [result for case in suite for result in case.result]
        assert suite.tests == len(list(suite))
        for kind, count in [
            (Failure, suite.failures),
            (Error, suite.errors),
            (Skipped, suite.skipped),
        ]:
            assert count == sum(isinstance(result, kind) for result in results)


@pytest.mark.parametrize("name", RUNS)
def test_junit_names_are_unique(reports, name):
    report = JUnitXml.fromfile(str(reports / f"{name}.junit.xml"))
    cases = [(case.classname, case.name) for suite in report for case in suite]
    assert len(cases) == len(set(cases))


def test_junit_tells_what_the_log_tells(reports):
    lines = [json.loads(line) for line in LOG.splitlines()]
    verdicts = {line["id"]: line for line in lines if line["type"] == "verdict"}
    report = JUnitXml.fromfile(str(reports / "sample.junit.xml"))
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
    lines = [json.loads(line) for line in LOG.splitlines()]
    document = json.loads((TESTDATA / "sample.run.json").read_text("utf-8"))
    assert document["format"] == 3
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


def test_the_schemas_refuse_what_they_should(reports):
    """Such as what people expect of a test case: properties and a file."""
    surefire, jenkins = schema("surefire-test-report-2.22.3.xsd"), schema("jenkins-junit-10.xsd")
    good = etree.parse(str(reports / "sample.junit.xml"))
    for spoil in [
        lambda case: case.attrib.pop("name"),
        lambda case: case.set("file", "a.json"),
        lambda case: case.append(etree.Element("properties")),
    ]:
        bad = etree.fromstring(etree.tostring(good))
        suite = bad.find("testsuite")
        assert suite is not None
        suite.attrib.pop("timestamp")
        assert surefire.validate(etree.fromstring(etree.tostring(suite)))
        spoil(suite.find("testcase"))
        assert not jenkins.validate(bad)
        assert not surefire.validate(etree.fromstring(etree.tostring(suite)))
