"""Cases, expectations and suites of a user's own, and the commands that a run prints: pasted into a
shell, each gives the same verdict with the same numbers."""

import json
import re
import subprocess

import pytest
from suites import case, overload, verdicts


@pytest.fixture
def mine(tmp_path):
    """A folder that belongs to no suite, with cases in it and below."""
    folder = tmp_path / "mine"
    (folder / "sub").mkdir(parents=True)
    for name in ("one.json", "sub/two.json"):
        (folder / name).write_text(json.dumps(case(f"mine: {name}"), indent=2))
    return folder


def rule(**more):
    return {
        "instances": ["*"],
        "paths": ["flip"],
        "status": "value_diverges",
        "because": "bug",
        "reason": "a bit is flipped",
        "link": "https://example.org/7",
        "date": "2026-11-23",
        **more,
    }


def flipping(suite, name):
    """The text of a path file: one bit is another."""
    path = json.loads((suite.root / "runner/paths/flip.json").read_text())
    return json.dumps({**path, "name": name, "worker": [*path["worker"], "as=flip"]})


def ids(done):
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split()


def test_files_and_folders_are_selected(suite, mine):
    """A file's id is its name, in a folder its path there."""
    assert ids(suite("list", "one.json", cwd=mine)) == ["one@cpu"]
    assert ids(suite("list", "./sub/two.json", "./one.json", cwd=mine)) == ["one@cpu", "two@cpu"]
    assert ids(suite("list", "sub/", cwd=mine)) == ["two@cpu"]
    assert ids(suite("list", str(mine), cwd="/")) == ["one@cpu", "sub/two@cpu"]
    assert ids(suite("list", ".", cwd=mine)) == ["one@cpu", "sub/two@cpu"]
    assert ids(suite("list", "one.json", "bugs/1-first", cwd=mine)) == [
        "bugs/1-first@cpu",
        "one@cpu",
    ]
    assert ids(suite("list", "--path", "flip", "one.json", cwd=mine)) == ["one@cpu/flip"]
    assert ids(suite("list", "--case-file", "one.json", "sub/", cwd=mine)) == ["two@cpu"], (
        "brought, but not selected"
    )


def test_a_file_of_the_suite_is_its_case(suite):
    assert ids(suite("list", "bugs/1-first.json", cwd=suite.root / "cases")) == ["bugs/1-first@cpu"]
    assert ids(suite("list", "./cases/bugs/", cwd=suite.root)) == ids(suite("list", "bugs/*"))


def test_what_is_wrong_with_them_is_said(suite, mine):
    (mine / "sub" / "bad.json").write_text('{\n  "format": 1,\n  "title": 3\n}\n')
    done = suite("run", "sub/", cwd=mine)
    assert done.returncode == 2 and "sub/bad.json:3:12" in done.stderr
    (mine / "sub" / "bad.json").unlink()
    for word in ("nowhere.json", "./nowhere/"):
        done = suite("list", word, cwd=mine)
        assert done.returncode == 2 and "nowhere" in done.stderr and not done.stdout
    done = suite("list", "sub", cwd=mine)
    assert done.returncode == 2 and "`sub/` takes the cases in it" in done.stderr
    (mine / "empty").mkdir()
    assert "no case file" in suite("list", "empty/", cwd=mine).stderr
    (mine / "cases" / "bugs").mkdir(parents=True)
    (mine / "cases" / "bugs" / "1-first.json").write_text(json.dumps(case("another")))
    done = suite("list", "cases/bugs/1-first.json", cwd=mine)
    assert (
        done.returncode == 2
        and "found another case `bugs/1-first`: that of cases/bugs/1-first.json" in done.stderr
    )


def test_an_own_suite_needs_cases_alone(suite, tmp_path):
    """Paths and workers are Lockstep's; without a level `smoke` everything is taken."""
    own = tmp_path / "own"
    (own / "cases" / "acme").mkdir(parents=True)
    (own / "cases" / "acme" / "1.json").write_text(json.dumps(case("acme's first")))
    assert ids(suite("list", "--suite", "own", cwd=tmp_path)) == ["acme/1@cpu"]
    done = suite("run", "--suite", "own", "--path", "flip", "--out", "run", cwd=tmp_path)
    assert done.returncode == 1 and list(verdicts(tmp_path / "run")) == ["acme/1@cpu/flip"]
    assert suite("check", "--suite", "own", cwd=tmp_path).returncode == 0
    # With parts of its own: a path, and what is known.
    (own / "paths").mkdir()
    (own / "paths" / "acme.json").write_text(flipping(suite, "acme"))
    (own / "expected" / "known").mkdir(parents=True)
    (own / "expected" / "known" / "a.json").write_text(
        json.dumps({"format": 2, "known": [rule(paths=["acme"])]})
    )
    done = suite("run", "--suite", "own", "--path", "acme", "--out", "run2", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert verdicts(tmp_path / "run2")["acme/1@cpu/acme"]["standing"] == "known"
    (own / "paths" / "acme.json").write_text(flipping(suite, "flip"))
    done = suite("list", "--suite", "own", cwd=tmp_path)
    assert done.returncode == 2 and "another path `flip`" in done.stderr


def test_known_of_a_file_are_counted_apart(suite, tmp_path):
    """The suite's own expectations stay in force, and a wrong one of the user's excuses nothing."""
    suite.write("expected/known/own.json", {"format": 2, "known": [rule(instances=["ops/clone"])]})
    (tmp_path / "acme.json").write_text(
        json.dumps({"format": 2, "known": [rule(instances=["bugs/2-second"])]})
    )
    (tmp_path / "wrong.json").write_text(
        json.dumps({"format": 2, "known": [rule(instances=["bugs/1-first"], status="crash")]})
    )
    done = suite(
        *"run --level all --path flip --known acme.json --known wrong.json --out run".split(),
        cwd=tmp_path,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    found = verdicts(tmp_path / "run")
    assert {id: verdict["standing"] for id, verdict in found.items()} == {
        "bugs/1-first@cpu/flip": "new",
        "bugs/2-second[rows=1]@cpu/flip": "known",
        "bugs/2-second[rows=2]@cpu/flip": "known",
        "ops/clone@cpu/flip": "known",
    }
    assert found["bugs/2-second[rows=1]@cpu/flip"]["expectation"]["added"] is True
    assert (
        found["bugs/2-second[rows=1]@cpu/flip"]["expectation"]["file"] == f"{tmp_path}/acme.json:1"
    )
    assert "added" not in found["ops/clone@cpu/flip"]["expectation"]
    assert "1 failing, 3 known in" in done.stdout and "; 2 of the known by --known" in done.stdout
    assert "wrong.json" in done.stdout, "what met nothing is named"
    done = suite("run", "--known", "acme.json", "--no-expectations", cwd=tmp_path)
    assert done.returncode == 2 and "--known beside --no-expectations" in done.stderr
    (tmp_path / "bad.json").write_text('{"format": 2, "known": [{}]}')
    done = suite("run", "--known", "bad.json", cwd=tmp_path)
    assert done.returncode == 2 and "bad.json:1:" in done.stderr


def test_a_resumed_run_has_its_own_files_again(suite, mine, tmp_path):
    known = tmp_path / "known.json"
    known.write_text(json.dumps({"format": 2, "known": [rule()]}))
    first = suite(
        *"run . --path flip --path conform --known ../known.json --fail-fast --out".split(),
        tmp_path / "run",
        cwd=mine,
    )
    assert first.returncode == 0, first.stdout + first.stderr
    # Cut the log after the first verdict, as kill -9 would.
    log = tmp_path / "run" / "run.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join(line for line in lines if '"type":"end"' not in line)[: -len(lines[-2])])
    again = suite("run", "--resume", tmp_path / "run", cwd="/")
    assert again.returncode == 0, again.stdout + again.stderr
    assert len(verdicts(tmp_path / "run")) == 4
    known.write_text(json.dumps({"format": 2, "known": [rule(reason="another")]}))
    log.write_text("".join(line for line in lines if '"type":"end"' not in line))
    again = suite("run", "--resume", tmp_path / "run", cwd="/")
    assert again.returncode == 2 and "expectations" in again.stderr


#: What decides a verdict; a run's number, seconds and places differ.
FACTS = tuple("id status standing reason outputs grade nearer stage expectation program".split())


def facts(directory):
    return {
        id: {key: verdict.get(key) for key in FACTS} for id, verdict in verdicts(directory).items()
    }


@pytest.mark.parametrize("strict", [False, True])
def test_every_printed_command_repeats(suite, mine, tmp_path, strict):
    """Everything that changes a verdict comes along: own cases, a path file, known ones, threads, a
    suite of one's own."""
    own = tmp_path / "my own suite"
    (own / "cases" / "acme").mkdir(parents=True)
    (own / "cases" / "acme" / "1.json").write_text(json.dumps(case("acme's first")))
    vendor = tmp_path / "vendor's.json"
    vendor.write_text(flipping(suite, "acme"))
    known = tmp_path / "known.json"
    known.write_text(json.dumps({"format": 2, "known": [rule(paths=["acme"], instances=["one"])]}))
    environment = {"LOCKSTEP_COMMAND": str(suite.binary)}
    flags = ["--strict"] if strict else []
    done = suite(
        "run",
        "--suite",
        own,
        *"acme/1 mine/ --path acme --path-file".split(),
        vendor.name,
        *"--known known.json --threads 3 --timeout 55".split(),
        *flags,
        "--out",
        "run",
        cwd=tmp_path,
        env=environment,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    expected = facts(tmp_path / "run")
    assert [expected[id]["standing"] for id in sorted(expected)] == ["new", "known", "new"]
    printed = {
        line.strip().strip("`")
        for line in re.findall(rf"{suite.binary} run [^`\n]*", done.stdout + done.stderr)
    }
    assert len(printed) == 4, printed  # each of the three, which are few, and all that fail
    logged = {verdict["repro"] for verdict in verdicts(tmp_path / "run").values()}
    written = "".join((tmp_path / "run" / name).read_text() for name in ("junit.xml", "summary.md"))
    for command in printed | logged:
        for word in (
            "--suite",
            "--case-file",
            "--path-file",
            "--known",
            "--threads 3",
            "--timeout 55",
        ):
            assert word in command, command
        again = subprocess.run(
            f"{command} --out '{tmp_path}/again'",
            shell=True,
            executable="/bin/bash",
            cwd="/",
            text=True,
            capture_output=True,
            env=suite.environment(**environment),
            timeout=120,
        )
        found = facts(tmp_path / "again")
        assert again.returncode == any(each["standing"] == "new" for each in found.values()), (
            again.stdout + again.stderr
        )
        assert found and all(found[id] == expected[id] for id in found), command
        if "one" in found and len(found) == 1:
            assert "differ, greatest" in again.stdout, (
                "a known one that is asked for shows its numbers"
            )
        subprocess.run(["rm", "-r", tmp_path / "again"], check=True)
    assert len(logged) == 3 and "--suite" in written


def test_a_known_verdict_that_is_asked_for_shows_its_numbers(suite):
    suite.write("expected/known/own.json", {"format": 2, "known": [rule()]})
    asked = suite("run", "bugs/1-first@cpu/flip")
    assert (
        asked.returncode == 0
        and "elements differ" in asked.stdout
        and "a bit is flipped" in asked.stdout
    )
    selected = suite("run", "bugs/*", "--path", "flip")
    assert selected.returncode == 0 and "elements differ" not in selected.stdout


def new_case(done):
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(open(done.stdout.split("\n")[0]).read())


def test_a_new_case_is_one_that_check_accepts(sweeping, tmp_path):
    """Without a dump of the operators, and with one: a call with all that the schema demands."""
    written = new_case(sweeping("new", "123456"))
    assert (
        written["links"] == ["https://github.com/pytorch/pytorch/issues/123456"]
        and written["steps"][0]["op"] == "add.Tensor"
    )
    assert sweeping("check", "cases/bugs/123456.json").returncode == 0
    needs = {
        "name": "dim",
        "type": "int",
        "kwarg_only": False,
        "mutates": False,
        "has_default": False,
    }
    half = {
        "name": "out_dtype",
        "type": "ScalarType",
        "kwarg_only": True,
        "mutates": False,
        "has_default": False,
    }
    listed = overload("Tensor[]")
    take = overload("Tensor", "Tensor")
    take["arguments"] += [needs, half]
    sweeping.dump(
        {
            "aten::take_it": [take],
            "aten::join": [listed],
            "aten::draw": [overload("Tensor", "Generator")],
            "aten::clone": [overload("Tensor")],
            "aten::add": [overload("Tensor", "Tensor", name="Tensor")],
        }
    )
    written = new_case(sweeping("new", "7-named", "--op", "take_it"))
    assert written["steps"] == [
        {
            "let": "y",
            "op": "take_it.default",
            "args": ["%x", "%x1", 1],
            "kwargs": {"out_dtype": "float32"},
        }
    ]
    assert (
        sorted(written["inputs"]) == ["x", "x1"]
        and (sweeping.root / "cases/bugs/7-named.json").is_file()
    )
    assert new_case(sweeping("new", "8", "--op", "aten::join"))["steps"][0]["args"] == [
        ["%x", "%x"]
    ]
    written = new_case(
        sweeping(
            "new",
            "https://github.com/pytorch/executorch/issues/9",
            "--like",
            "bugs/2-second",
            "--to",
            tmp_path / "mine.json",
        )
    )
    assert written["links"] == ["https://github.com/pytorch/executorch/issues/9"] and written[
        "matrix"
    ] == {"rows": [1, 2]}
    assert "tags" not in written and written["title"].startswith("TODO")
    assert (
        sweeping("check").returncode == 0
        and sweeping("check", tmp_path / "mine.json").returncode == 0
    )
    assert ids(sweeping("list", tmp_path / "mine.json")) == ["mine[rows=1]@cpu", "mine[rows=2]@cpu"]


def test_what_no_case_can_begin_with_is_refused(sweeping):
    sweeping.dump(
        {
            "aten::take_it": [overload("Tensor")],
            "aten::draw": [overload("Tensor", "Generator")],
            "aten::clone": [overload("Tensor")],
            "aten::add": [overload("Tensor", "Tensor", name="Tensor")],
        }
    )
    new_case(sweeping("new", "8", "--op", "take_it"))
    before = (sweeping.root / "cases/bugs/8.json").read_bytes()
    for arguments, words in (
        (["8"], "already"),
        (["first"], "expected the number"),
        (["9x"], "expected the number"),
        (["9", "--op", "take_is"], "did you mean `take_it`"),
        (["9", "--op", "draw"], "Generator"),
        (["9", "--like", "bugs/1-firsd"], "did you mean `bugs/1-first`"),
        (["9", "--like", "a", "--op", "b"], "--op"),
        (["http://example.org/9"], "expected the number"),
        ([], "NUMBER"),
    ):
        done = sweeping("new", *arguments)
        assert done.returncode == 2 and words in done.stderr, done.stdout + done.stderr
    assert (sweeping.root / "cases/bugs/8.json").read_bytes() == before and not (
        sweeping.root / "cases/bugs/9.json"
    ).exists()
