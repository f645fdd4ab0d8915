"""CONTRIBUTING.md is true: one of each kind is added to a copy of the repository, in the files that
the page names and in no other, and does what it should. What has to be compiled takes minutes;
LOCKSTEP_LONG=1 does it."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
CASE = {
    "format": 1,
    "title": "as the page says",
    "inputs": {"x": {"dtype": "float32", "shape": [2], "fill": "normal"}},
    "steps": [{"let": "y", "op": "neg", "args": ["%x"]}],
    "outputs": ["y"],
}


def found(pattern, text, flags=0):
    match = re.search(pattern, text, flags)
    assert match, f"nothing matches {pattern}"
    return match


def section(title):
    return found(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)[1]


def files(text):
    """The files and folders that a text names, but for those that stand for others."""
    names = re.findall(r"`((?:[\w.-]+/)+[\w.-]*)`", text)
    return [name for name in names if not re.search("NAME|NUMBER|^testdata", name)]


def test_every_file_that_the_page_names_is_there():
    assert len(files(PAGE)) > 20
    assert [
        name
        for name in files(PAGE)
        if not (ROOT / name).exists() and not name.startswith(".lockstep")
    ] == []


@pytest.fixture
def copy(tmp_path):
    """The files of the repository, without what was built of them."""
    names = (
        subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
        .stdout.decode()
        .split("\0")
    )
    for name in filter(None, names):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, tmp_path / name, follow_symlinks=False)
    return tmp_path


def run(*command, **more):
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=1800, **more
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def test_a_case_and_a_path_are_a_file_each(copy):
    binary = pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "lockstep"
    (copy / "cases" / "bugs" / "1-as-the-page-says.json").write_text(json.dumps(CASE))
    path = json.loads((copy / "runner" / "paths" / "aot_eager.json").read_text())
    (copy / "runner" / "paths" / "added.json").write_text(json.dumps({**path, "name": "added"}))
    environment = {**os.environ, "LOCKSTEP_HOME": str(copy)}
    assert "valid" in run(binary, "check", env=environment)
    assert (
        run(binary, "list", "bugs/1-as*", "path:added", env=environment)
        == "bugs/1-as-the-page-says@cpu/added\n"
    )


def insert(copy, title, file, before, text):
    """Adds text before the last place of another, in a file that the section names."""
    assert file in files(section(title)) or file.startswith("reports/"), file
    found = (copy / file).read_text("utf-8")
    at = found.rindex(before)
    (copy / file).write_text(found[:at] + text + found[at:], "utf-8")


def add_policy(copy):
    insert(copy, "A policy", "runner/policies/policy.h", "    any_of,", "    never,\n")
    insert(
        copy,
        "A policy",
        "runner/policies/policy.cpp",
        "    PolicyInfo{Kind::any_of,",
        """\
    PolicyInfo{Kind::never, "never", Brackets::none, 0, Judges::elements, kReadsNone, {"never"}, \
"`never`", "they never do"},
""",
    )
    checks = (copy / "runner/judge/numerics/checks.cpp").read_text("utf-8")
    row = found(r"^.*Kind::any_of.*$", checks, re.MULTILINE)[0]
    insert(
        copy,
        "A policy",
        "runner/judge/numerics/checks.cpp",
        row,
        row.replace("any_of", "never") + "\n",
    )
    insert(
        copy,
        "A policy",
        "runner/judge/numerics/checks.cpp",
        "struct CheckRow {",
        """\
CheckResult check_never(Comparison&, const Policy&) {
  return leaf(Quantity::differing, 1, 0, [] { return std::string("always"); });
}

""",
    )


def add_status(copy):
    insert(
        copy,
        "A status",
        "runner/verdict/status.h",
        "};\n\n/// Which element JUnit has",
        "  bored,\n",
    )
    statuses = (copy / "runner/verdict/status.cpp").read_text("utf-8")
    row = found(r"    StatusInfo\{inconclusive,.*?\},\n", statuses, re.DOTALL)[0]
    insert(
        copy,
        "A status",
        "runner/verdict/status.cpp",
        "};\n\nstatic_assert(has_every_row(kStatuses",
        row.replace("inconclusive", "bored"),
    )


def add_report(copy):
    (copy / "reports/shout.h").write_text(
        '#pragma once\n#include "record/record.h"\nnamespace lockstep {\n'
        "/// For tests.\nstd::string shout(const RunRecord& record);\n}\n"
    )
    (copy / "reports/shout.cpp").write_text(
        '#include "reports/shout.h"\nnamespace lockstep {\n'
        'std::string shout(const RunRecord&) { return "DONE"; }\n}\n'
    )
    insert(
        copy,
        "A report",
        "runner/requests/report_formats.cpp",
        '#include "reports/summary.h"',
        '#include "reports/shout.h"\n',
    )
    insert(
        copy,
        "A report",
        "runner/requests/report_formats.cpp",
        "};\n\n}  // namespace",
        """\
    {"--shout", "Shout", {"shout.txt"}, always,
     [](const RunRecord& record, bool, const fs::path&) { return shout(record); }},
""",
    )


@pytest.mark.skipif(
    not os.environ.get("LOCKSTEP_LONG"),
    reason="compiles the torch-free part; LOCKSTEP_LONG=1 does it",
)
def test_a_policy_a_status_and_a_report_are_a_row_each(copy):
    add_policy(copy)
    add_status(copy)
    add_report(copy)
    build = copy / "build"
    run(
        "cmake",
        "-S",
        copy,
        "--preset",
        "core",
        "-B",
        build,
        "-DCMAKE_UNITY_BUILD=ON",
        "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O0",
    )
    run("cmake", "--build", build, "--target", "lockstep", "lockstep_core_tests")
    tests = [build / "bin" / "lockstep_core_tests", "--gtest_filter=Polic*:Status*:ReportFormat*"]
    renewing = {name: value for name, value in os.environ.items() if name != "CI"}
    run(*tests, env={**renewing, "LOCKSTEP_RENEW": "1"})
    run(*tests)
    assert "`never`" in (copy / "cases/README.md").read_text("utf-8") and "bored" in (
        copy / "reports/LOG.md"
    ).read_text("utf-8")
    (copy / "cases/bugs/1-as-the-page-says.json").write_text(
        json.dumps({**CASE, "compare": {"y": "never"}})
    )
    run(build / "bin" / "lockstep", "check", env={**os.environ, "LOCKSTEP_HOME": str(copy)})
    assert "--shout" in run(build / "bin" / "lockstep", "run", "--help")
