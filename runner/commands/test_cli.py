"""The command line as people and CI meet it."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import pytest
from suites import FAKE, GOLDENS, case, log_of, verdicts

# --- goldens ---


def test_every_help_is_its_golden(suite):
    """Of the subcommands that there are, by what the binary says of itself."""
    whole = suite("--help").stdout
    names = re.findall(r"^  (\w+) {2,}\S", whole.split("Subcommands:")[1].split("\n\n")[0], re.M)
    assert len(names) > 15
    for command in ["", *names]:
        result = suite(*[command] * bool(command), "--help")
        assert (result.returncode, result.stderr) == (0, "")
        suite.golden(f"help{'-' if command else ''}{command}.txt", result.stdout)
    goldens = {file.stem.removeprefix("help-") for file in GOLDENS.glob("help-*.txt")}
    assert goldens == set(names)


@pytest.mark.parametrize(
    "name, arguments, status",
    [
        ("list", ["list", "--level", "all"], 0),
        ("list-json", ["list", "bugs/*", "--json"], 0),
        ("list-paths", ["list", "bugs/2*", "path:fl*"], 0),
        ("show", ["show", "bugs/2-second[rows=2]@cpu"], 0),
        ("check", ["check"], 0),
        (
            "run",
            [
                "run",
                "--level",
                "all",
                "path:conform",
                "path:flip",
                "path:crash",
                "-j",
                "1",
                "--out",
                "out",
            ],
            1,
        ),
        ("run-verbose", ["run", "--level", "all", "-v", "-j", "1", "--out", "out"], 0),
        ("error-command", ["rnu"], 2),
        ("error-option", ["run", "--max-fial", "3"], 2),
        ("error-level", ["run", "--level", "smok"], 2),
        ("error-filter", ["list", "tga:silent"], 2),
        ("error-status", ["list", "status:conforn"], 2),
        ("error-no-log", ["list", "status:conform"], 2),
        ("error-nothing-id", ["list", "bugs/2-secnd"], 2),
        ("error-nothing-word", ["list", "tag:silnt", "device:cpv"], 2),
        ("error-nothing-together", ["list", "bugs/1-first", "tag:loud"], 4),
        ("error-grammar", ["list", "tag:silent and (tag:loud", "or"], 2),
        ("error-path", ["list", "path:conforn"], 2),
        ("error-path-far", ["run", "--path", "nothing-like-it", "--path", "conform"], 2),
        ("error-seed", ["run", "--shuffle=x"], 2),
        ("error-number", ["run", "--compile-timeout", "-1"], 2),
        ("error-device", ["run", "--device", "cudaa"], 2),
        ("error-no-suite", ["list", "--suite", "nowhere"], 2),
        ("error-no-report", ["report", "nowhere"], 2),
    ],
)
def test_text_is_its_golden(suite, name, arguments, status):
    result = suite(*arguments)
    assert result.returncode == status, result.stderr
    suite.golden(f"{name}.txt", f"{result.stdout}--- standard error\n{result.stderr}")


def test_an_invalid_file_is_its_golden_and_leaves_nothing_behind(suite):
    suite.write(
        "cases/bugs/3-bad.json",
        '{"format": 1, "titel": "x",\n'
        ' "inputs": {"x": {"dtype": "float23", "shape": [2]}},\n'
        ' "outputs": []}\n',
    )
    suite.write("cases/ops/broken.json", '{"format": 1,')
    suite.write(
        "expected/known/a.json",
        {
            "format": 2,
            "known": [
                {
                    "instances": ["bugs/1-first"],
                    "paths": ["flip"],
                    "status": "crahs",
                    "because": "bug",
                    "reason": "",
                    "link": "https://example.org",
                    "date": "2026-11-21",
                }
            ],
        },
    )
    result = suite("check")
    assert result.returncode == 2
    suite.golden("error-files.txt", result.stderr)
    assert suite("run", "--out", "out").returncode == 2
    assert not (suite.root / "out").exists() and not (suite.root / ".lockstep").exists()


def test_goldens_are_not_renewed_in_ci(suite, monkeypatch):
    monkeypatch.setenv("LOCKSTEP_RENEW", "1")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(AssertionError, match="for people"):
        suite.golden("never.txt", "")
    assert not (GOLDENS / "never.txt").exists()


# --- exit statuses and what is left behind ---


def test_a_run_writes_its_log_and_reports_and_says_what_is_not_in_them(suite):
    result = suite("run")
    assert result.returncode == 0, result.stderr
    latest = suite.root / ".lockstep" / "runs" / "latest"
    assert {file.name for file in latest.iterdir()} >= {
        "run.jsonl",
        "run.json",
        "junit.xml",
        "report.html",
        "summary.md",
    }
    assert "level `smoke`" in result.stderr
    run, *_, end = log_of(latest)
    assert run["arguments"] == ["run"] and end["type"] == "end"
    verdict = verdicts(latest)["bugs/1-first@cpu/conform"]
    assert verdict["tags"] == ["silent"] and verdict["dtypes"] == ["float32"]
    assert "clone" in verdict["program"] and verdict["operators"]


def test_the_record_says_where_it_was_made(suite):
    suite("run", "--threads", "3", "--out", "out", env={"OMP_PROC_BIND": "true"})
    machine = next(
        record["values"] for record in log_of(suite.root / "out") if record.get("name") == "machine"
    )
    assert machine["threads"] == 3 and re.fullmatch("[0-9a-f]{32}", machine["binary"])
    assert machine["env OMP_PROC_BIND"] == "true" and machine["host"]
    assert machine["compiled worker"] == "" and re.fullmatch(
        "[0-9a-f]{32}", machine["eager worker"]
    )
    # What is found by compilers, loaders and Python, as the user set it; and what the Python worker
    # is.
    package = suite.root / "runner" / "workers" / "compiled" / "lockstep_worker"
    package.mkdir(parents=True)
    digests = []
    suite.eager.write_text(suite.eager.read_text() + "# another\n")
    found = {
        "CXXFLAGS": "-O1",
        "CPLUS_INCLUDE_PATH": "/a",
        "CPATH": "/b",
        "LIBRARY_PATH": "/c",
        "LD_LIBRARY_PATH": "/d" * 300,
        "PYTHONPATH": "/e",
    }
    for text in ("1", "2"):
        (package / "a.py").write_text(text)
        suite("run", "--out", text, env=found)
        values = next(
            record["values"]
            for record in log_of(suite.root / text)
            if record.get("name") == "machine"
        )
        assert {name: values[f"env {name}"] for name in found} == found
        assert (
            values["eager worker"] != machine["eager worker"]
            and values["binary"] == machine["binary"]
        )
        digests.append(values["compiled worker"])
    assert all(digests) and digests[0] != digests[1]
    assert (
        f'name="lockstep.host" value="{machine["host"]}"'
        in (suite.root / "out" / "junit.xml").read_text()
    )


def test_failures_are_1_and_no_usable_worker_is_3(suite):
    assert suite("run", "bugs/1-first", "path:flip").returncode == 1
    assert suite("run", "bugs/1-first", env={"LOCKSTEP_EAGER": "/nonexistent"}).returncode == 3
    suite.path("dead", worker=[sys.executable, str(FAKE), "die"])
    result = suite("run", "bugs/1-first", "path:dead")
    assert result.returncode == 3 and "before it said hello" in result.stdout, (
        result.stdout + result.stderr
    )


def test_a_path_that_was_asked_for_and_cannot_be_used_is_no_success(suite):
    suite.path("absent", default=True)
    suite.path("absent-here")  # it is the instance that lacks something
    said = suite("run", "bugs/1-first", "--path", "absent")
    assert (
        said.returncode == 3
        and "the path absent cannot be used here and judged nothing: cannot import" in said.stderr
    )
    assert suite("run", "bugs/1-first", "--path", "absent", "--path", "flip").returncode == 1
    assert suite("run", "bugs/1-first", "--path", "absent-here").returncode == 0
    assert suite("run", "bugs/1-first").returncode == 0  # nobody asked for it by name
    (suite.root / "runner/paths/absent.json").rename(suite.root / "absent.json")
    assert suite("run", "bugs/1-first", "--path-file", "absent.json").returncode == 3


def test_what_a_worker_lacks_is_said_and_recorded(suite):
    suite.path("poor", worker=[sys.executable, str(FAKE), "poor"])
    said = suite("run", "bugs/1-first", "path:poor", "--out", "out")
    assert (
        said.returncode == 0
        and "the poor worker lacks headers: each process makes its own" in said.stderr
    ), said.stderr
    records = [record for record in log_of(suite.root / "out") if record["type"] == "environment"]
    assert {"lacks headers": "each process makes its own"}.items() <= next(
        r["values"] for r in records if r["name"] == "poor"
    ).items()


def test_the_folder_of_a_run_is_no_folder_of_cases(suite):
    (suite.root / "out").mkdir()
    suite.write("out/run.jsonl", {})
    result = suite("list", "./out")
    assert result.returncode == 2
    assert "out: found the folder of a run, expected one of cases" in result.stderr
    assert "--from" in result.stderr


def test_nothing_selected_leaves_no_directory(suite):
    assert suite("run", "bugs/1-first", "tag:loud").returncode == 4
    assert list((suite.root / ".lockstep" / "runs").iterdir()) == []


def test_color_is_only_where_it_is_wanted(suite):
    arguments = ("run", "bugs/1-first", "path:flip", "--color")
    assert "\x1b[" in suite(*arguments, "always").stdout
    assert "\x1b[" not in suite("run", "bugs/1-first", "path:flip").stdout
    assert "\x1b[" not in suite("run", "bugs/1-first", "path:flip", env={"NO_COLOR": "1"}).stdout
    assert "\x1b[" in suite("run", "bugs/1-first", "path:flip", env={"CLICOLOR_FORCE": "1"}).stdout


@pytest.mark.parametrize("place", ["out", "cache"])
def test_unwritable_places_are_named(suite, place):
    folder = suite.root / "closed"
    folder.mkdir()
    folder.chmod(0o555)
    prefix = []
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root may write everywhere, and there is no setpriv to become another user")
        prefix = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        # pytest's folders are closed to others.
        for parent in [*suite.root.parents, suite.binary.parent]:
            if pathlib.Path(tempfile.gettempdir()) in parent.parents:
                parent.chmod(0o755)
    arguments = ["run", "--out", str(folder / "run")] if place == "out" else ["run"]
    environment = suite.environment(LOCKSTEP_CACHE=str(folder))
    result = subprocess.run(
        [*prefix, suite.binary, *arguments],
        cwd=suite.root,  # runs go into a .lockstep of where one is
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 3, result.stderr
    assert str(folder) in result.stderr and "Permission denied" in result.stderr
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("flag", ["--timeout", "--compile-timeout", "--memory"])
@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "-1", "0", "1e30", "many", ""])
def test_numbers_have_bounds(suite, flag, number):
    result = suite("run", f"{flag}={number}", "--out", "out")
    assert result.returncode == 2, result.stderr
    assert len(result.stderr) < 200 and "expected a number from 0.001 to 1" in result.stderr, (
        result.stderr
    )
    assert not (suite.root / "out").exists()
    assert suite("run", "bugs/1-first", "tag:loud", f"{flag}=0.5").returncode == 4


@pytest.mark.parametrize("flag", [["--min-judged"], ["--repeat", "2", "--repeat-percent"]])
def test_shares_are_said_with_a_percent_sign_or_without(suite, flag):
    for share in ("5", "5%", "0.5%", "100%"):
        assert suite("run", "bugs/1-first", "tag:loud", *flag, share).returncode == 4, share
    for share in ("101%", "5%%", "%", "-1%", "nan%"):
        result = suite("run", "bugs/1-first", "tag:loud", *flag, share)
        assert result.returncode == 2 and "expected a number from 0 to 100" in result.stderr, (
            result.stderr
        )


# --- selecting ---


@pytest.mark.parametrize(
    "terms, expected",
    [
        (["tag:silent"], ["bugs/1-first@cpu"]),
        (["dtype:float16"], ["bugs/2-second[rows=1]@cpu", "bugs/2-second[rows=2]@cpu"]),
        (["op:clone", "!bugs/*"], ["ops/clone@cpu"]),
        (["*", "!dtype:float32", "!*rows=1*"], ["bugs/2-second[rows=2]@cpu"]),
        (["bugs/*", "device:cpu", "!tag:loud"], ["bugs/1-first@cpu"]),
    ],
)
def test_terms_select(suite, terms, expected):
    assert suite("list", *terms).stdout.splitlines() == expected


def test_statuses_come_from_an_earlier_log(suite):
    suite("run", "--level", "all", "path:conform", "path:flip", "--out", "first")
    listed = suite(
        "list", "status:value_diverges", "tag:silent", "--from", "first"
    ).stdout.splitlines()
    assert listed == ["bugs/1-first@cpu/flip"]
    result = suite("run", "status:failing", "--from", "first", "--out", "second")
    assert result.returncode == 1
    assert {verdict["path"] for verdict in verdicts(suite.root / "second").values()} == {"flip"}


# --- how much and in what order ---


def test_repeat_finds_what_changes(suite):
    result = suite(
        "run", "bugs/1-first", "path:flaky", "path:conform", "--repeat", "3", "--out", "out"
    )
    assert result.returncode == 1
    found = verdicts(suite.root / "out")
    flaky = found["bugs/1-first@cpu/flaky"]
    assert flaky["status"] == "value_diverges" and flaky["unstable"]
    assert "3 executions disagree (conform 2 times, value_diverges once)" in flaky[
        "reason"
    ] and flaky["executions"] == {"conform": 2, "value_diverges": 1}
    assert "unstable" not in found["bugs/1-first@cpu/conform"]


def test_a_retry_hides_nothing_and_a_flake_that_is_known_does_not_fail(suite):
    """The worker of `flaky` is wrong in the second of every three executions."""
    run = ("run", "bugs/*", "path:flaky", "path:flip", "path:conform", "-j", "1", "--retries", "2")
    result = suite(*run, "--out", "out")
    assert (
        result.returncode == 1 and "; 4 executed several times, 1 of them unstable" in result.stdout
    )
    found = verdicts(suite.root / "out")
    (unstable,) = (verdict for verdict in found.values() if "unstable" in verdict)
    assert (
        unstable["path"] == "flaky"
        and unstable["status"] == "value_diverges"
        and unstable["executions"] == {"conform": 1, "value_diverges": 1}
    )
    assert all(
        verdict.get("executions") == {"flip": {"value_diverges": 3}}.get(verdict["path"])
        for verdict in found.values()
        if verdict != unstable
    )
    junit = (suite.root / "out" / "junit.xml").read_text()
    assert (
        "unstable: conform once, value diverges once" in junit
        and "every time the same: value diverges 3 times" in junit
    )
    known = {
        "format": 2,
        "known": [
            {
                "instances": ["bugs/*"],
                "paths": [path],
                "status": "value_diverges",
                "flake": True,
                "because": "bug",
                "reason": "now and then",
                "link": "https://example.org/9",
                "date": "2026-11-23",
            }
            for path in ("flaky", "flip")
        ],
    }
    suite.write("flakes.json", known)
    suite(*run, "--known", "flakes.json", "--out", "again")
    found = verdicts(suite.root / "again")
    assert found[unstable["id"]]["standing"] == "known"
    assert {verdict["standing"] for verdict in found.values() if verdict["path"] == "flip"} == {
        "new"
    }  # what never conforms is no flake
    fine = suite(
        "run",
        "bugs/*",
        "path:flaky",
        "-j",
        "1",
        "--retries",
        "1",
        "--known",
        "flakes.json",
        "--fresh-seed",
        "none",
        "--strict",
        "--out",
        "fine",
    )
    assert fine.returncode == 0, fine.stdout
    assert suite("run", "bugs/1-first", "--retries", "2", "--repeat", "2").returncode == 2


def test_nothing_of_a_vendor_is_reused(suite):
    """What its worker does today, no file here says."""
    for _ in range(2):
        result = suite("run", "bugs/*", "path:conform", "--reuse", "--out", "out", "-v")
        assert result.returncode == 0 and "earlier run" not in result.stdout
        shutil.rmtree(suite.root / "out")
    assert suite("run", "bugs/*", "--reuse", "--save-tensors").returncode == 2


def test_shuffle_prints_a_seed_that_repeats_it(suite):
    first = suite("run", "--level", "all", "--shuffle", "--out", "first")
    found = re.search(r"--shuffle=(\d+)", first.stderr)
    assert found
    seed = found.group(1)
    arguments = log_of(suite.root / "first")[0]["arguments"]
    assert arguments == ["run", "--level", "all", "--out", "first", f"--shuffle={seed}"]
    suite("run", "--level", "all", f"--shuffle={seed}", "--out", "second")
    orders = [
        [
            id
            for id, _ in sorted(
                verdicts(suite.root / run).items(), key=lambda item: item[1]["index"]
            )
        ]
        for run in ("first", "second")
    ]
    assert orders[0] == orders[1]
    others = {
        log_of(suite.root / f"s{seed}")[0]["plan"]
        for seed in range(6)
        if suite("run", "--level", "all", f"--shuffle={seed}", "--out", f"s{seed}")
    }
    assert len(others) > 1


# --- single reports ---


def test_single_reports_go_where_they_are_asked(suite):
    result = suite(
        "run", "--out", "out", "--junit", "ci/junit.xml", "--html", "page.html", "--json", "-"
    )
    assert result.returncode == 0, result.stderr
    assert (suite.root / "ci" / "junit.xml").read_text() == (
        suite.root / "out" / "junit.xml"
    ).read_text()
    assert (suite.root / "page.html").exists()
    shutil.rmtree(suite.root / "ci")
    for file in ("junit.xml", "report.html", "summary.md"):
        (suite.root / "out" / file).unlink()
    result = suite("report", "out", "--json", "-")
    assert json.loads(result.stdout)["format"] == 3
    assert not (suite.root / "out" / "junit.xml").exists()
    assert suite("report", "out", "--summary", "-").stdout.startswith("#")
    assert suite("report", "out").returncode == 0 and (suite.root / "out" / "junit.xml").exists()


def test_the_accuracy_table_is_there_where_a_run_has_accuracy(suite):
    out = suite.root / "out"
    assert suite("run", "--out", "out").returncode == 0
    assert not (out / "accuracy.txt").exists() and not (out / "accuracy.json").exists()
    records = log_of(out)
    for record in records:
        for output in record.get("outputs", []):
            output["accuracy"] = [{"inputs": "special", "elements": 4, "compiled": "inf"}]
    (out / "run.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    assert suite("report", "out").returncode == 0
    text, document = (
        (out / "accuracy.txt").read_text(),
        json.loads((out / "accuracy.json").read_text()),
    )
    assert document["rows"][0]["special"]["compiled"] == "inf"
    assert suite("report", "out", "--accuracy", "-").stdout == text
    assert suite("report", "out", "--accuracy", "table.json").returncode == 0
    assert json.loads((suite.root / "table.json").read_text()) == document


# --- doctor ---


def test_doctor_says_what_is_amiss_and_the_remedy(suite):
    result = suite("doctor", env={"CXX": "no-such-compiler", "LOCKSTEP_CACHE": "/proc/nowhere"})
    assert result.returncode == 3
    assert re.search(
        r"^FAIL  cache .*cannot be written\n +remedy: LOCKSTEP_CACHE", result.stdout, re.M
    )
    assert re.search(
        r"^FAIL  compiler .*no-such-compiler.*\n +remedy: install g\+\+", result.stdout, re.M
    )
    result = suite("doctor", env={"LOCKSTEP_EAGER": "/nonexistent"})
    assert re.search(r"^FAIL  eager .*/nonexistent is missing\n +remedy: ", result.stdout, re.M)


def test_doctor_asks_every_path(suite):
    suite.path("refusing", worker=[sys.executable, str(FAKE), "refuse"])
    result = suite("doctor", "--deep")
    assert re.search(r"^ok    path conform +on cpu$", result.stdout, re.M), result.stdout
    assert re.search(r"^warn  path refusing .*there is no torch here", result.stdout, re.M)
    plain = suite("doctor").stdout
    assert "path " not in plain
    assert re.search(r"^-     paths +\d+ were not tried: `.* doctor --deep`", plain, re.M), plain


def test_doctor_says_of_a_worker_that_is_not_built_yet_when_it_will_be(suite):
    provider = suite.root / "provide.py"
    provider.write_text("raise SystemExit(1)\n")
    told = {"LOCKSTEP_EAGER": "/nonexistent", "LOCKSTEP_PROVIDER": str(provider)}
    plain = suite("doctor", env=told)
    assert re.search(r"^-     eager +not built yet for this torch", plain.stdout, re.M)
    assert "eager" not in re.findall(r"^FAIL +(\w+)", plain.stdout, re.M)
    deep = suite("doctor", "--deep", env=told).stdout
    assert re.search(r"^FAIL  eager .*/nonexistent is missing\n +remedy: ", deep, re.M)


# --- the eager worker, made where it is missing ---


def test_what_executes_has_the_worker_made_and_what_lists_does_not(suite):
    """LOCKSTEP_PROVIDER is called by what needs the worker, once its cases are in order."""
    made, calls = suite.root / "made", suite.root / "calls"
    there = suite.environment()["LOCKSTEP_EAGER"]
    provider = suite.root / "provide.py"
    provider.write_text(
        f"import os\nopen({str(calls)!r}, 'a').write('called\\n')\n"
        f"os.symlink({there!r}, {str(made)!r})\n"
    )
    told = {"LOCKSTEP_EAGER": str(made), "LOCKSTEP_PROVIDER": str(provider)}
    assert suite("list", env=told).returncode == 0 and not calls.exists()
    assert suite("run", "bugs/1-first", "path:conform", env=told).returncode == 0
    assert suite("run", "bugs/1-first", "path:conform", env=told).returncode == 0
    assert calls.read_text() == "called\n"
    provider.write_text("import sys\nsys.exit('there is no compiler')\n")
    made.unlink()
    refused = suite("run", "bugs/1-first", "path:conform", env=told)
    assert refused.returncode == 3 and "there is no compiler" in refused.stderr
    suite.write("runner/paths/broken.json", "{")
    assert suite("run", env=told).returncode == 2  # before anybody builds anything


def test_runs_go_to_the_directory_at_hand_if_it_has_a_place_for_them(suite, tmp_path):
    (tmp_path / ".lockstep" / "runs").mkdir(parents=True)
    run = suite("run", "bugs/1-first", "path:conform", cwd=tmp_path)
    assert f"log and reports: {tmp_path}/.lockstep/runs/" in run.stderr
    assert (tmp_path / ".lockstep" / "runs" / "latest" / "run.jsonl").is_file()
    assert suite("report", cwd=tmp_path).returncode == 0


def test_who_types_no_word_sees_what_there_is_to_type(suite):
    page = suite(env={"LOCKSTEP_COMMAND": "lockstep"})
    assert page.returncode == 0 and page.stderr == ""
    for words in ("lockstep run ", "lockstep doctor ", "lockstep --help "):
        assert f"  {words}" in page.stdout


def test_a_case_for_a_newer_lockstep_is_skipped_whatever_else_it_has(suite):
    suite.write(
        "cases/bugs/3-newer.json",
        case(
            "of the future",
            format=9,
            requires={"lockstep": ">=99"},
            matrix=7,
            unheard_of=True,
            only={"paths": ["not-yet"]},
        ),
    )
    done = suite("check")
    assert done.returncode == 0, done.stderr
    assert (
        f"cases/bugs/3-newer.json: not checked, it needs Lockstep >=99, this is {version(suite)}\n"
        in done.stdout
    )
    done = suite("run", "bugs/3-newer", "bugs/1-first", "--out", suite.root / "run")
    assert done.returncode == 0, done.stdout + done.stderr
    newer = verdicts(suite.root / "run")["bugs/3-newer@cpu/conform"]
    assert (newer["status"], newer["unsupported_by"]) == ("unsupported", "case")
    assert newer["reason"] == f"the case needs Lockstep >=99, this is {version(suite)}"
    # The same case without the demand is wrong in all of these.
    suite.write(
        "cases/bugs/3-newer.json",
        case("of the future", format=9, unheard_of=True, only={"paths": ["not-yet"]}),
    )
    done = suite("check")
    assert done.returncode == 2 and all(
        word in done.stderr for word in ("/format", "unheard_of", "not-yet")
    ), done.stderr


def version(suite):
    return suite("--version").stdout.split()[1]


def test_verdicts_of_unverified_cases_are_counted(suite):
    why = "Nobody here has the device."
    suite.write("cases/bugs/3-unverified.json", case("never seen", unverified=why))
    done = suite(
        "run",
        "bugs/3-unverified",
        "bugs/1-first",
        "--path",
        "conform",
        "--path",
        "flip",
        "--out",
        suite.root / "run",
    )
    assert re.search(
        r"^4 verdicts: 2 conform, 2 failing in .*; 2 of unverified cases$", done.stdout, re.M
    ), done.stdout
    assert {
        id: verdict.get("unverified") for id, verdict in verdicts(suite.root / "run").items()
    } == {
        f"bugs/{name}@cpu/{path}": known
        for name, known in (("1-first", None), ("3-unverified", why))
        for path in ("conform", "flip")
    }
    assert json.loads((suite.root / "run" / "run.json").read_text())["unverified"] == 2
    assert (suite.root / "run" / "junit.xml").read_text().count(
        'name="lockstep.unverified" value="1"'
    ) == 2
    assert (
        "2 of unverified cases"
        in suite("report", "--summary", "-", suite.root / "run" / "run.jsonl").stdout
    )
