"""The JSON Schemas, which editors use, and the decoder, which decides, agree."""

import json
import os
import re
import subprocess
from pathlib import Path

import jsonschema
import pytest

HOME = Path(__file__).resolve().parent.parent
CASES = HOME / "cases"


def schema(name):
    document = json.loads((CASES / "schema" / f"{name}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(document)
    return jsonschema.Draft202012Validator(document, format_checker=jsonschema.FormatChecker())


CASE, EXPECTATIONS, PATH, LEVEL = map(schema, ("case", "expectations", "path", "level"))


def keys_once(pairs):
    assert len({key for key, _ in pairs}) == len(pairs), "the same key twice"
    return dict(pairs)


def load(file):
    return json.loads(file.read_text(), object_pairs_hook=keys_once)


def faults(validator, document):
    return [
        f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(document)
    ]


def valid_cases():
    return [
        f
        for f in sorted(CASES.rglob("*.json"))
        if f.relative_to(CASES).parts[0] not in ("schema", "invalid")
    ]


def check(*files):
    binary = Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "lockstep"
    return subprocess.run(
        [binary, "check", *files],
        env={**os.environ, "LOCKSTEP_HOME": str(HOME)},
        capture_output=True,
        text=True,
        timeout=120,
    )


def name_of(file):
    return str(file.relative_to(HOME))


@pytest.mark.parametrize("file", valid_cases(), ids=name_of)
def test_a_case_fits_the_schema_and_names_it(file):
    document = load(file)
    assert faults(CASE, document) == []
    target = document.get("$schema")
    assert target and (file.parent / target).resolve() == CASES / "schema" / "case.schema.json"


def test_the_decoder_accepts_every_case():
    done = check(*valid_cases())
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "file", sorted((CASES / "invalid" / "structure").glob("*.json")), ids=name_of
)
def test_both_refuse_what_is_wrong_in_structure(file):
    assert check(file).returncode == 2
    try:
        document = load(file)
    except (ValueError, AssertionError):
        return  # no JSON, or a key twice
    assert faults(CASE, document) != []


@pytest.mark.parametrize(
    "file", sorted((CASES / "invalid" / "semantic").glob("*.json")), ids=name_of
)
def test_only_the_decoder_refuses_what_has_no_meaning(file):
    assert faults(CASE, load(file)) == []
    binary = Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin"
    done = check(file)
    if (binary / "schemas.json").exists():  # without the dump, operators are not known
        assert done.returncode == 2


@pytest.mark.parametrize("file", sorted((HOME / "expected" / "known").glob("*.json")), ids=name_of)
def test_expectations_fit_their_schema(file):
    assert faults(EXPECTATIONS, load(file)) == []


@pytest.mark.parametrize("file", sorted((HOME / "runner" / "paths").glob("*.json")), ids=name_of)
def test_paths_fit_their_schema(file):
    assert faults(PATH, load(file)) == []


@pytest.mark.parametrize("file", sorted((HOME / "expected" / "levels").glob("*.json")), ids=name_of)
def test_levels_fit_their_schema(file):
    assert faults(LEVEL, load(file)) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"status": "value_divreges"},
        {"because": "whim"},
        {"date": "yesterday"},
        {"date": "2026-02-31"},
        {"expires": "2027-02-29"},
        {"reason": ""},
        {"reason": " "},
        {"status": "conform"},
        {"status": "unsupported"},
        {"cpu_levels": ["AVX512"]},
        {"cpu_features": ["avx512"]},
        {"cpu_features": []},
        {"link": "http://x"},
        {"instances": []},
        {"torch": "2.14 or so"},
        {"grade": "good"},
        {"unknown": 1},
        {"fingerprints": ["add:value"]},
    ],
)
def test_the_schema_of_expectations_catches(wrong):
    rule = {
        "instances": ["a"],
        "paths": ["b"],
        "status": "crash",
        "because": "bug",
        "reason": "r",
        "link": "https://example.org",
        "date": "2026-11-21",
    }
    assert faults(EXPECTATIONS, {"format": 2, "known": [rule]}) == []
    assert faults(EXPECTATIONS, {"format": 2, "known": [{**rule, **wrong}]}) != []


@pytest.mark.parametrize(
    "wrong",
    [
        {"fingerprints": []},
        {"fingerprints": ["add"]},
        {"fingerprints": ["*:value"]},
        {"fingerprints": [":value"]},
        {"torch": None},
        {"status": "crash"},
    ],
)
def test_the_schema_of_expectations_by_fingerprint_catches(wrong):
    rule = {
        "fingerprints": ["add:value", "linear+relu-gradient:*"],
        "paths": ["b"],
        "torch": ">=2.13,<2.16",
        "because": "unreported",
        "reason": "r",
        "date": "2026-11-21",
    }
    assert faults(EXPECTATIONS, {"format": 2, "known": [rule]}) == []
    changed = {key: value for key, value in {**rule, **wrong}.items() if value is not None}
    assert faults(EXPECTATIONS, {"format": 2, "known": [changed]}) != []


def blocks():
    """The JSON of the documents."""
    pages = sorted((CASES.parent / "docs").rglob("*.md"))
    texts = [re.sub(r"^ +", "", page.read_text("utf-8"), flags=re.MULTILINE) for page in pages]
    return re.findall(r"^```json\n(.*?)^```", "\n".join(texts), re.DOTALL | re.MULTILINE)


def examples():
    """Those that are whole cases."""
    return [block for block in blocks() if '"title"' in block and '"inputs": {' in block]


def test_the_documents_have_examples():
    assert len(examples()) >= 3


@pytest.mark.parametrize("block", examples(), ids=lambda block: json.loads(block)["title"])
def test_examples_of_the_documents_decode(block, tmp_path):
    assert faults(CASE, json.loads(block)) == []
    file = tmp_path / "example.json"
    file.write_text(block)
    done = check(file)
    assert done.returncode == 0, done.stderr


def test_what_the_documents_call_json_is_json():
    assert len(blocks()) > 30
    for block in blocks():
        json.loads(block)
