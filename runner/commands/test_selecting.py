"""What `list`, `show` and `check` take, and what they say of names that there are not."""

import json
import pathlib
import re
import subprocess
import sys

import pytest
from suites import BINARY, case, overload, verdicts
from test_expectations import rule

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_paths_and_devices_end_where_something_else_begins(suite):
    """An option that took every word would swallow what is selected after it."""
    result = suite("list", "--path", "conform", "bugs/1-first")
    assert result.stdout.split() == ["bugs/1-first@cpu/conform"]
    result = suite("list", "--device", "cpu", "bugs/1-first")
    assert result.stdout.split() == ["bugs/1-first@cpu"]
    both = ["bugs/1-first@cpu/conform", "bugs/1-first@cpu/flip"]
    for words in (
        ["--path", "conform", "flip", "bugs/1-first"],
        ["--path=conform", "fli*", "bugs/1-first"],
        ["bugs/1-first", "--path", "conform,flip"],
        ["--path", "conform", "--path", "flip", "bugs/1-first"],
        ["--path", "flip", "conform", "--device", "cpu", "bugs/1-first"],
    ):
        assert suite("list", *words).stdout.split() == both, words
    assert suite("list", "--device", "cpu", "cuda", "bugs/1-first").stdout.split() == [
        "bugs/1-first@cpu",
        "bugs/1-first@cuda",
    ]
    late = suite("list", "--path", "conform", "bugs/1-first", "flip")
    assert (
        late.returncode == 2
        and "no id contains `flip`" in late.stderr
        and "did you mean --path flip?" in late.stderr
    ), late.stderr


def test_terms_that_mean_nothing_are_errors_all_at_once(suite):
    bad = {
        "bugs/2-secnd": "did you mean `bugs/2-second`?",
        "tag:silnt": "did you mean `tag:silent`?",
        "flp": "did you mean --path flip?",
        "op:clonee": "no case calls the operator `clonee`",
        "dtype:float23": "no case has an input of the dtype `float23`",
        "path:flipp": "there is no path `flipp`",
        "device:cpv": "did you mean `cpu`?",
        "!bugs/7-gone": "`bugs/7-gone` is no case",
        "bugs/1-first@cpu/flio": "there is no path `flio`",
        "bugs/2-second[rows=3]": "`bugs/2-second[rows=3]` is no case",
        "bugs/1-first@cuda": "there is no device `cuda` here, only cpu",
    }
    for command in ("list", "show"):
        together = suite(command, "bugs/1-first", "op:clone", "--path", "conform", *bad)
        assert together.returncode == 2 and together.stdout == ""
        for message in bad.values():
            assert message in together.stderr, together.stderr
        assert together.stderr.count("lockstep: ") == len(bad), together.stderr
    for term, message in bad.items():
        for arguments in (["list", "bugs/1-first", term], ["run", "bugs/1-first", term]):
            alone = suite(*arguments)
            assert alone.returncode == 2 and message in alone.stderr, (arguments, alone.stderr)
    # Each means something, but not together.
    assert suite("list", "bugs/1-first", "op:clone", "tag:loud").returncode == 4
    levels = suite("list", "--level", "smok", "tag:silnt")
    assert (
        levels.returncode == 2
        and "did you mean `smoke`?" in levels.stderr
        and "did you mean `tag:silent`?" in levels.stderr
    )


def test_words_are_parts_of_ids_and_devices_may_be_left_out(suite):
    assert suite("list", "SECOND").stdout.split() == [
        "bugs/2-second[rows=1]@cpu",
        "bugs/2-second[rows=2]@cpu",
    ]
    assert suite("list", "second", "rows=2").stdout.split() == ["bugs/2-second[rows=2]@cpu"]
    assert suite("list", "bugs/2-second[rows=2]").stdout.split() == ["bugs/2-second[rows=2]@cpu"]
    suite.write("cases/first.json", case("a case has the name"))
    assert suite("list", "first").stdout.split() == ["first@cpu"]


def test_what_the_page_filters_by_selects(suite):
    """The page's keys and marks are those of the command line."""
    assert suite("run", "--level", "all", "--path", "conform", "flip", "-j", "1").returncode == 1
    page = (ROOT / "reports/html/filter.js").read_text()
    keys = re.findall(
        r"^  ([a-z]+): \(v\) =>",
        page[page.index("const keys = {") : page.index("/** A text that the filter refuses")],
        flags=re.M,
    )
    assert len(keys) >= 13
    for key in keys:
        assert "unknown filter" not in suite("list", f"{key}:x").stderr, key
        assert suite("list", f"{key}:*").returncode in (0, 4), key
    assert "  is: (v) => [v.kind, ...v.marks],\n" in page
    words = json.loads((ROOT / "reports" / "words.json").read_text("utf-8"))
    marks = [row["name"] for table in ("marks", "kinds") for row in words[table]]
    assert len(marks) >= 13
    for mark in marks:
        assert suite("list", f"is:{mark}").returncode in (0, 4), mark
    failing = suite("list", "status:failing").stdout.split()
    assert failing and all(id.endswith("/flip") for id in failing)
    assert suite("list", "is:failing").stdout.split() == failing
    assert suite("list", "status:failing and (bugs/1-first or tag:loud)").stdout.split() == [
        id for id in failing if id.startswith("bugs/")
    ]
    assert suite(
        "list", "status:failing", "and", "not", "(", "bugs/1-first", "or", "tag:loud", ")"
    ).stdout.split() == ["ops/clone@cpu/flip"]
    assert suite("list", "standing:new grade:* path:flip and is:failing").stdout.split() == failing
    assert suite("list", "fingerprint:clone*").stdout.split() == failing, (
        "by the name of what went wrong"
    )
    for wrong, near in (
        ("is:failin", "failing"),
        ("grade:closee", "close"),
        ("because:bgu", "bug"),
        ("nearer:eagr", "eager"),
    ):
        said = suite("list", wrong)
        assert said.returncode == 2 and f"did you mean `{near}`?" in said.stderr, said.stderr
    assert suite("list", "status:crash").returncode == 4


def test_what_is_selected_is_selected_of_the_level(suite):
    suite.write(
        "expected/levels/two.json",
        {"format": 1, "name": "two", "title": "two", "select": ["bugs/2-second"]},
    )
    of_level = suite("list", "--level", "two").stdout.split()
    assert of_level == ["bugs/2-second[rows=1]@cpu", "bugs/2-second[rows=2]@cpu"]
    assert suite("list", "--level", "two", "bugs/*[rows=2]@*").stdout.split() == of_level[1:]
    assert suite("list", "--level", "two", "bugs/1-first").returncode == 4


def test_a_case_of_no_default_path_is_shown_and_says_which_it_has(suite):
    suite.write("cases/ops/only.json", case("for two", only={"paths": ["fl*"]}))
    suite.write(
        "cases/ops/mine.json", case("for a path that is elsewhere", only={"paths": ["mine*"]})
    )
    suite.write("cases/ops/gpu.json", case("for a device", only={"devices": ["cuda"]}))
    assert (
        suite("list", "ops/only").stdout
        == suite("list", "ops/only", "op:clone").stdout
        == "ops/only@cpu\n"
    )
    shown = suite("show", "ops/only")
    assert shown.returncode == 0 and "aten::clone" in shown.stdout
    for command in (["run", "ops/only"], ["list", "ops/only", "path:conform"]):
        missed = suite(*command)
        assert missed.returncode == 4
        assert (
            "`ops/only` runs only on the path flaky and flip: --path flaky,flip" in missed.stderr
        ), missed.stderr
    assert (
        "`ops/mine` runs only on the path mine*: --path-file FILE adds it"
        in suite("run", "ops/mine").stderr
    )
    assert "`ops/gpu` runs only on the device cuda" in suite("run", "ops/gpu").stderr
    assert suite("list", "ops/only", "--path", "flaky,flip").returncode == 0


def test_a_list_that_decodes_keeps_no_case(suite):
    """100,000 instances in under 300 MB, and not a decoding for each."""
    if b"__asan_init" in BINARY.read_bytes():
        pytest.skip("AddressSanitizer takes memory of its own")
    for i in range(10):
        suite.write(
            f"cases/ops/many-{i}.json",
            case(
                "many",
                matrix={"start": list(range(100)), "divide": list(range(1, 101))},
                inputs={
                    "x": {
                        "dtype": "float64",
                        "shape": [2, 4],
                        "fill": {"arange": {"start": "$start", "divide": "$divide"}},
                    }
                },
            ),
        )
    # Measured by a small process: what is forked counts the memory of its parent, too.
    measure = (
        "import resource, subprocess, sys; done = subprocess.run(sys.argv[1:], timeout=60); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr); "
        "sys.exit(done.returncode)"
    )
    for term in ("op:clone", "dtype:float64", "path:conform"):
        done = subprocess.run(
            [sys.executable, "-c", measure, suite.binary, "list", "ops/many*", term],
            env=suite.environment(),
            cwd=suite.root,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0 and len(done.stdout.splitlines()) == 100_000, done.stderr
        assert int(done.stderr.split()[-1]) < 300 * 1024, term


def test_choices_that_differ_in_more_than_numbers_are_decoded_apart(suite):
    suite.write(
        "cases/ops/kinds.json",
        case(
            "kinds",
            matrix={
                "dtype": ["float32", "float64"],
                "start": [1, 2],
                "op": ["clone.default", "neg.default"],
                "tag": ["a", "b"],
                "path": ["conform", "flip"],
            },
            tags=["$tag"],
            only={"paths": ["$path"]},
            steps=[{"let": "y", "op": "$op", "args": ["%x"]}],
            inputs={
                "x": {"dtype": "$dtype", "shape": [2, 4], "fill": {"arange": {"start": "$start"}}}
            },
        ),
    )
    listed = suite("list", "ops/kinds", "dtype:float64", "op:neg", "path:*").stdout.split()
    assert len(listed) == 8
    for id in listed:
        path = id.rsplit("/", 1)[1]
        assert "dtype=float64" in id and "op=neg" in id and f"path={path}" in id


# --- check ---


def test_a_misspelt_name_is_an_error_wherever_the_suite_is_read(suite):
    suite.write(
        "cases/ops/clone.json",
        case(
            "clone",
            only={"paths": ["conforn"], "devices": ["cppu"]},
            compare={"y": {"filp": "bits"}},
        ),
    )
    suite.write(
        "expected/known/a.json",
        {
            "format": 2,
            "known": [rule(paths=["conform", "!flp"], devices=["cpuu"], cpu_levels=["AVX512"])],
        },
    )
    for command in ("check", "show", "run", "list"):
        result = suite(command)
        assert result.returncode == 2
        for near in ("conform", "cpu", "flip"):
            assert f"did you mean `{near}`?" in result.stderr
        told = (
            "6 errors in 2 files" if command != "list" else "3 errors in 1 file"
        )  # list reads no expectations
        assert told in result.stderr, result.stderr
    assert 'found the string "AVX512"' in suite("check").stderr
    assert re.search(r"FAIL +suite .*6 errors", suite("doctor").stdout)


def test_a_path_file_makes_its_name_known(suite):
    suite.path("mine", devices=["abacus"])
    (suite.root / "runner/paths/mine.json").rename(suite.root / "mine.json")
    suite.write(
        "cases/ops/mine.json", case("mine", only={"paths": ["mine"], "devices": ["abacus"]})
    )
    for arguments in (["check"], ["check", "cases/ops/mine.json"], ["list"]):
        unknown = suite(*arguments)
        assert (
            unknown.returncode == 2 and "--path-file FILE adds a path of your own" in unknown.stderr
        ), arguments
        assert "found `abacus`, expected a kind of device" in unknown.stderr
        assert suite(*arguments, "--path-file", "mine.json").returncode == 0
    assert suite("check", "cases/ops/mine.json", "mine.json").returncode == 0


def test_check_tells_files_apart_by_their_keys(suite):
    suite.write("expected/known/a.json", {"format": 2, "known": [rule(), rule()]})
    result = suite(
        "check", "expected/known/a.json", "runner/paths/flip.json", "expected/levels/smoke.json"
    )
    assert (result.returncode, result.stdout) == (
        0,
        "1 path, 2 expectations and 1 level: valid\n",
    ), result.stderr
    assert (
        "1 case with 1 instance: valid"
        in suite("check", "cases/ops/clone.json", "runner/paths/flip.json").stdout
    )
    for name, content, fault in [
        (
            "known",
            {"format": 2, "known": [rule(status="crahs", paths=["flp"])]},
            "did you mean `crash`?",
        ),
        (
            "path",
            {"format": 2, "name": "x", "worker": "compild", "contract": "bits"},
            "did you mean `compiled`?",
        ),
        (
            "level",
            {"format": 1, "select": ["status:typo", "bugs/3-first", 3], "x": 2},
            "did you mean `bugs/1-first`?",
        ),
    ]:
        suite.write(f"{name}.json", content)
        result = suite("check", f"{name}.json")
        assert (
            result.returncode == 2
            and fault in result.stderr
            and "`steps` is missing" not in result.stderr
        ), result.stderr
        assert re.search(rf"{name}\.json:\d+:\d+: /", result.stderr)


def test_check_reads_levels_that_nobody_used_yet(suite):
    (suite.root / "expected/levels/1.0").mkdir()
    suite.write(
        "expected/levels/1.0/core.json",
        {"format": 1, "select": ["bugs/*", "!bugs/2-secnd", "bugs/2-second[rows=3]@*"]},
    )
    result = suite("check")
    assert result.returncode == 2
    assert "expected/levels/1.0/core.json:5:5: /select/1: found `bugs/2-secnd`" in result.stderr, (
        result.stderr
    )
    assert "did you mean `bugs/2-second`?" in result.stderr and "2 errors" in result.stderr
    assert suite("list").returncode == 0, "no other level's affair"


def test_a_frozen_level_takes_what_it_took_whatever_comes(suite):
    before = suite("list", "--level", "all").stdout
    (suite.root / "expected" / "levels" / "1.0").mkdir(parents=True)
    suite.write(
        "expected/levels/1.0/all.json",
        json.loads(suite("list", "--level", "all", "--as-level").stdout),
    )
    suite.write("cases/bugs/9-later.json", (suite.root / "cases/bugs/1-first.json").read_text())
    assert suite("list", "--level", "all").stdout != before
    assert suite("list", "--level", "1.0/all").stdout == before
    assert suite("check").returncode == 0


def test_a_frozen_level_is_of_the_content_that_it_was_frozen_of(suite):
    level = json.loads(suite("list", "bugs/*", "--as-level").stdout)
    assert sorted(level["instances"]) == [
        "bugs/1-first",
        "bugs/2-second[rows=1]",
        "bugs/2-second[rows=2]",
    ]
    suite.write("expected/levels/frozen.json", level)
    first = json.loads((suite.root / "cases/bugs/1-first.json").read_text())
    suite.write(
        "cases/bugs/1-first.json",
        {**first, "title": "another title", "tags": ["other"], "comment": "c"},
    )
    assert suite("list", "--level", "frozen").returncode == 0, "what people read is no content"
    suite.write("cases/bugs/1-first.json", {**first, "seed": 1})
    for command in (
        ["list", "--level", "frozen"],
        ["run", "--level", "frozen"],
        ["check"],
        ["check", "expected/levels/frozen.json"],
    ):
        done = suite(*command)
        assert done.returncode == 2, command
        assert (
            "expected/levels/frozen.json" in done.stderr
            and f"the digest {level['instances']['bugs/1-first']} of `bugs/1-first`" in done.stderr
        )
    suite.write("cases/bugs/1-first.json", first)
    (suite.root / "cases/bugs/2-second.json").unlink()
    done = suite("list", "--level", "frozen")
    assert (
        done.returncode == 2
        and "found `bugs/2-second[rows=1]`, which the suite has not" in done.stderr
    )
    assert "and 1 more of the level like it" in done.stderr


def test_a_frozen_level_has_operators_that_this_torch_lacks(sweeping):
    sweeping.know()
    some = {"aten::clone": [overload("Tensor", tags=())], "aten::sin": [overload("Tensor")]}
    sweeping.dump({**some, "aten::gone": [overload("Tensor")]})
    level = json.loads(sweeping("list", "ops/sweep", "--as-level").stdout)
    sweeping.write("expected/levels/frozen.json", level)
    sweeping.dump({**some, "aten::new": [overload("Tensor")]})
    assert (
        sweeping("list", "--level", "frozen").stdout
        == "ops/sweep[op=sin]@cpu\nops/sweep[op=gone]@cpu\n"
    )
    out = sweeping.root / "out"
    assert sweeping("run", "--level", "frozen", "--out", str(out)).returncode == 0
    found = {
        id: (verdict["status"], verdict.get("unsupported_by"))
        for id, verdict in verdicts(out).items()
    }
    assert found == {
        "ops/sweep[op=sin]@cpu/conform": ("conform", None),
        "ops/sweep[op=gone]@cpu/conform": ("unsupported", "torch"),
    }
    assert sweeping("check").returncode == 0
    # One whose rule has changed is still what it was.
    sweeping.dump({**some, "aten::gone": [overload("Tensor", tags=())]})
    assert (
        sweeping("run", "--level", "frozen", "--out", str(sweeping.root / "again")).returncode == 0
    )
    assert {verdict["status"] for verdict in verdicts(sweeping.root / "again").values()} == {
        "conform"
    }


def test_a_frozen_level_keeps_the_paths_that_its_level_excludes(suite):
    suite.write(
        "expected/levels/most.json",
        {"format": 1, "select": ["bugs/*", "not (bugs/1-first and path:conform)"]},
    )
    level = json.loads(suite("list", "--level", "most", "--as-level").stdout)
    assert (
        level["select"] == ["not (bugs/1-first and path:conform)"]
        and "bugs/1-first" in level["instances"]
    )
    suite.write("expected/levels/frozen.json", level)
    assert (
        suite("list", "--level", "frozen", "--path", "conform").stdout
        == suite("list", "--level", "most", "--path", "conform").stdout
    )
    level = json.loads(suite("list", "bugs/1-first@cpu/flip", "--as-level").stdout)
    assert level["select"] == ["path:flip"]
