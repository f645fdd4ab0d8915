"""The page of a run, made from the sample log as a test spoils it, and opened in a real browser."""

import json
import os
import pathlib
import re
import subprocess

import pytest
from browser import BROWSER, Opened

HERE = pathlib.Path(__file__).resolve().parent
BINARY = pathlib.Path(os.environ.get("LOCKSTEP_BINARY_DIR", "")) / "bin" / "lockstep"
STATUSES = {
    each["name"]: each for each in json.loads((HERE / "words.json").read_text("utf-8"))["statuses"]
}
#: A string that breaks out of a page that does not escape it.
NASTY = (
    "</script><script>document.title='broken out'</script><img src=x "
    "onerror=\"document.title='broken out'\"> {{data}} <!-- & \u202e"
)

#: What every test of a page needs.
NEEDED = [
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
