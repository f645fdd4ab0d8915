"""CONTRIBUTING.md is true: one of each kind is added to a copy of the repository, in the files that
the page names and in no other, and does what it should. Of a status and of a gold only the files
are compiled that know them; a policy and a report compile all of the torch-free part:
LOCKSTEP_LONG=1 does it."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

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


def test_no_code_names_a_path():
    """But for names that are those of a worker or of a backend of torch, too; `paths/` itself reads
    files."""
    names = {file.stem for file in (ROOT / "runner" / "paths").glob("*.json")}
    names -= {"eager", "export", "inductor", "aot_eager"}
    assert len(names) > 10
    literal = re.compile('"(' + "|".join(map(re.escape, sorted(names))) + ')"')
    code = [*(ROOT / "runner").rglob("*.[ch]*"), *(ROOT / "reports").rglob("*.[chj]*")]
    code = [file for file in code if file.suffix in (".cpp", ".h", ".js")]
    code = [file for file in code if not re.search("_test.cpp|testdata|fixtures|fake", str(file))]
    assert len(code) > 200
    assert [str(file) for file in code if literal.search(file.read_text("utf-8"))] == []


def insert(copy, title, file, before, text):
    """Adds text before the last place of another, in a file that the section names."""
    folders = ("reports/", *(name for name in files(section(title)) if name.endswith("/")))
    assert file in files(section(title)) or file.startswith(folders), file
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


def compiler(copy):
    """The beginning of a command that compiles for the tree, without optimising, from the build's
    own; and what to link. clang takes half of g++'s time."""
    build = pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"])
    commands = json.loads((build / "compile_commands.json").read_text("utf-8"))
    words = shlex.split(
        next(each["command"] for each in commands if "lockstep_core.dir/Unity" in each["command"])
    )
    keep = [word for word in words if re.match("-D|-std=", word)]
    for at, word in enumerate(words):
        if word == "-isystem":
            keep += [word, words[at + 1]]
    cache = dict(
        re.findall(r"^(\w+):\w+=(.*)$", (build / "CMakeCache.txt").read_text("utf-8"), re.MULTILINE)
    )
    libraries = [cache["LOCKSTEP_RE2"], cache.get("LOCKSTEP_FMT", ""), "-lz", "-lpthread"]
    program = shutil.which("clang++") or cache["CMAKE_CXX_COMPILER"]
    command = [program, "-O0", "-Werror=switch", *keep]
    command += ["-I", copy / "runner", "-I", copy]
    return command, [
        # The first of two definitions counts: what the tree changed comes before what was built.
        "-Wl,--allow-multiple-definition",
        build / "liblockstep_core.a",
        build / "liblockstep_kernels.a",
        *(library for library in libraries if not library.endswith("NOTFOUND") and library),
    ]


def build_and_run(copy, name, groups, main):
    """Compiles groups of sources of the tree, each as one file, the last with a main function, and
    runs that; what it prints."""
    command, link = compiler(copy)
    files = []
    for at, group in enumerate(groups):
        files.append(copy / f"{name}_{at}.cpp")
        files[-1].write_text("".join(f'#include "{copy / each}"\n' for each in group), "utf-8")
    files[-1].write_text(files[-1].read_text("utf-8") + main, "utf-8")
    run(*command, *files, *link, "-o", copy / name, cwd=copy)
    return run(copy / name, cwd=copy)


def sources(*folders):
    """The sources of rooms, without tests and what belongs to these."""
    found = sorted(file for folder in folders for file in (ROOT / folder).glob("*.cpp"))
    return [
        file.relative_to(ROOT)
        for file in found
        if not re.search(r"(_test|fixtures)\.cpp$", file.name)
    ]


SEGFAULT = """
#include "judge/outcomes.h"
#include "plan/filter.h"
#include "record/transitions.h"
int main() {
  using namespace lockstep;
  Observation eager, compiled;
  eager.outcome = Outcome::returned;
  compiled.outcome = Outcome::crashed;
  compiled.signal = 11;
  const auto ending = judge_outcomes(eager, compiled);
  RunRecord before, after;
  Verdict verdict;
  verdict.facts.id = "bugs/1@cpu/a";
  verdict.facts.instance = "bugs/1@cpu";
  verdict.facts.path = "a";
  verdict.facts.device = "cpu";
  before.verdicts = {verdict};
  verdict.found.status = ending->status;
  verdict.found.reason = ending->reason;
  verdict.found.differences = {{ending->status, "", ending->reason}};
  after.verdicts = {verdict};
  after.info.planned = 1;
  const auto write = [](const char* file, const std::string& text) {
    if (!write_file(file, text)) std::abort();
  };
  write("verdict.json", to_json(*verdict_from_json(to_json(verdict))).dump());
  write("junit.xml", junit(after, false));
  write("page.html", html(after));
  write("words.json", words_document().dump());
  write("filter", Filter::parse({"status:segfault"}) ? "taken" : "refused");
  write("transition", std::string(info(compare_runs(before,
  after).changes.front().transition).name)); } """


def test_a_status_is_a_row_and_its_finder(copy):
    """Of what died of signal 11 it is said so: `segfault` was no status before."""
    title, table = "A status", "runner/verdict/status.cpp"
    end = "};\n\n/// Which element JUnit has"
    insert(copy, title, "runner/verdict/status.h", end, "  segfault,\n")
    insert(
        copy,
        title,
        table,
        "};\n\nstatic_assert(has_every_row(kStatuses",
        """\
    StatusInfo{segfault, "segfault", "bad access", true, true, kError, Rank::outcome,
    Severity::crash, true, "the process read or wrote where it may not"}, """,
    )
    insert(
        copy,
        title,
        "runner/judge/outcomes.cpp",
        "      return {Status::crash,\n",
        """\
      if (observation.signal == 11)
        return {Status::segfault, say("read or wrote where it may not")};
""",
    )
    others = [
        "runner/plan/filter.cpp",
        "runner/plan/filter_parser.cpp",
        "runner/judge/outcomes.cpp",
    ]
    groups = [sources("runner/verdict") + others, sources("runner/record"), sources("reports")]
    build_and_run(copy, "added_status", groups, SEGFAULT)
    verdict = json.loads((copy / "verdict.json").read_text("utf-8"))
    assert verdict["status"] == "segfault" and verdict["differences"][0]["status"] == "segfault"
    junit = (copy / "junit.xml").read_text("utf-8")
    assert "<error " in junit and ' type="segfault"' in junit
    page = (copy / "page.html").read_text("utf-8")
    assert '"values":["segfault"]' in page and '"label":"bad access"' in page
    assert "<strong>bad access</strong>" in page
    assert (copy / "filter").read_text() == "taken"
    assert (copy / "transition").read_text() == "new_crash"
    words = json.loads((copy / "words.json").read_text("utf-8"))
    assert words["statuses"][-1]["name"] == "segfault" and words["statuses"][-1]["accuses"]
    # And what reads it: a mutant that dies so is killed.
    (copy / "words.json").replace(copy / "reports" / "words.json")
    program = "import campaign; print('segfault' in campaign.FAILING)"
    assert run(sys.executable, "-c", program, cwd=copy / "ci" / "mutation") == "True\n"


FLOAT32 = """
int main() {
  using namespace lockstep;
  const auto returned = [] {
    auto observation = std::make_shared<Observation>();
    observation->outcome = Outcome::returned;
    return observation;
  };
  Evidence evidence;
  evidence.declared = std::make_shared<const Case>();
  evidence.inputs = std::make_shared<const Inputs>();
  evidence.eager = returned();
  evidence.compiled = returned();
  std::size_t given = 0;
  const auto judge = [&](const JudgeRequest& request) {
    for (const GoldInfo& each : all_golds()) given += request.golds[each.gold] != nullptr;
    Findings found;
    OutputComparison& output = found.outputs.emplace_back();
    output.policy = "close";
    output.grade = Grade::none;
    return found;
  };
  const Judgement first = judge_item(evidence, judge, {});
  for (const GoldInfo& each : all_golds()) {
    if (!first.needs[each.gold]) continue;
    fmt::print("{} ", each.name);
    evidence.golds[each.gold] = returned();
  }
  const Judgement second = judge_item(evidence, judge, {});
  fmt::print("{} {}", second.needs == GoldSet() ? "final" : "waits", given);
}
"""


def test_a_gold_is_a_row_and_who_computes_and_reads_it(copy):
    """The judge asks for a gold that there was not before, and is given it."""
    title = "A gold"
    insert(copy, title, "runner/base/gold.h", " };\n\n/// Where the judge asks", ", float32")
    insert(
        copy,
        title,
        "runner/base/gold.cpp",
        "};\nstatic_assert(has_every_row(kGolds",
        """\
    GoldInfo{Gold::float32, "float32", Gold::float32, true, false, false, GoldAsked::always, true,
             "every tensor is float32 from the start"},
""",
    )
    every = ["runner/base/gold.cpp", *sources("runner/policies")]
    every += ["runner/run/judgement.cpp", "runner/run/differing_tensors.cpp"]
    assert build_and_run(copy, "added_gold", [every], FLOAT32) == "fp64 float32 final 2"


@pytest.mark.skipif(
    not os.environ.get("LOCKSTEP_LONG"),
    reason="compiles the torch-free part; LOCKSTEP_LONG=1 does it",
)
def test_a_policy_and_a_report_are_a_row_each(copy):
    add_policy(copy)
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
    tests = [build / "bin" / "lockstep_core_tests", "--gtest_filter=Polic*:Words*:ReportFormat*"]
    renewing = {name: value for name, value in os.environ.items() if name != "CI"}
    run(*tests, env={**renewing, "LOCKSTEP_RENEW": "1"})
    run(*tests)
    assert "`never`" in (copy / "docs/cases/policies.md").read_text("utf-8")
    (copy / "cases/bugs/1-as-the-page-says.json").write_text(
        json.dumps({**CASE, "compare": {"y": "never"}})
    )
    run(build / "bin" / "lockstep", "check", env={**os.environ, "LOCKSTEP_HOME": str(copy)})
    assert "--shout" in run(build / "bin" / "lockstep", "run", "--help")
