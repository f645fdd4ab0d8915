"""Every benchmark runs, small, and tells its ratios; what is kept of them, said, and drawn."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import drawn  # noqa: E402
import ratios  # noqa: E402
import run  # noqa: E402
from own_cache import own_cache  # noqa: E402


@pytest.fixture(autouse=True)
def surroundings(monkeypatch, tmp_path_factory):
    monkeypatch.setenv("LOCKSTEP_PYTHON", sys.executable)
    monkeypatch.setenv("LOCKSTEP_CACHE", str(own_cache(tmp_path_factory.getbasetemp())))


def test_every_benchmark_is_known():
    assert set(run.SMALL) == {file.parent.name for file in HERE.glob("*/bench.py")}


#: These start workers several times, which takes minutes together.
DEAR = {"compiled", "sharing", "replay", "cluster", "explain", "shrink"}


@pytest.mark.parametrize("name", run.SMALL)
def test_a_benchmark_runs_small_and_tells_its_ratios(name):
    if name in DEAR and not os.environ.get("LOCKSTEP_LONG"):
        pytest.skip("takes minutes: ci/test --long")
    if not run.can_run(name):
        pytest.skip("what it needs is not here")
    status, text = run.run(name, True)
    assert status == 0 and ratios.told(text), text
    assert all(each.startswith(f"{name}, ") for each in ratios.told(text))


def test_a_line_is_a_ratio_or_none(capsys):
    ratios.tell("page, opening 1,000 against 10", 2.5, "less")
    text = capsys.readouterr().out
    assert ratios.told("ratio: 3\n" + text) == {
        "page, opening 1,000 against 10": {"value": 2.5, "better": "less"}
    }


def entry(machine, **values):
    told = {"up": "more", "down": "less"}
    return {
        "commit": "c",
        "date": "2026-01-01",
        "machine": machine,
        "ratios": {name: {"value": value, "better": told[name]} for name, value in values.items()},
    }


def test_worse_is_a_tenth_away_from_the_median_of_the_last_five_of_the_machine():
    history = [entry("a", up=9)] + [entry("a", up=value) for value in (1, 2, 2, 2, 9)]
    history.append(entry("b", up=100, down=1))
    assert run.worse(history, entry("a", up=1.83)) == []
    assert run.worse(history, entry("a", up=1.8)) == ["up: 1.8, worse than 2 by 11%"]
    # Of another machine where there is none of this one.
    assert run.worse(history, entry("a", down=1.2)) == ["down: 1.2, worse than 1 by 20%"]
    assert run.worse([], entry("a", up=1)) == []


def test_a_whole_run_is_kept_and_says_what_became_worse(tmp_path, monkeypatch, capsys):
    file = tmp_path / "history.jsonl"
    monkeypatch.setattr(run, "machine", lambda: "here")
    run.keep(file, entry("here", up=2)["ratios"], "abc")
    run.keep(file, entry("here", up=1)["ratios"], "def")
    said = capsys.readouterr().out
    assert "none became worse" in said and "up: 1, worse than 2 by 100%" in said
    assert [each["ratios"]["up"]["value"] for each in run.entries(file)] == [2, 1]


def test_what_a_benchmark_told_is_kept_though_the_next_one_does_not_end(tmp_path, monkeypatch):
    def one_after_the_other(name: str, small: bool) -> tuple[int, str]:
        if name == "page":
            raise KeyboardInterrupt
        return 0, "ratio up: 2 (more is better)"

    file = tmp_path / "history.jsonl"
    monkeypatch.setattr(run, "run", one_after_the_other)
    monkeypatch.setattr(run, "can_run", lambda name: True)
    monkeypatch.setattr(sys, "argv", ["run.py", "--keep", str(file), "judge", "page"])
    with pytest.raises(KeyboardInterrupt):
        run.main()
    assert [each["ratios"]["up"]["value"] for each in run.entries(file)] == [2]


def test_the_page_draws_a_row_for_each_ratio_of_a_machine(tmp_path):
    file = tmp_path / "history.jsonl"
    assert drawn.page(file).endswith("Nothing yet.\n")
    all_entries = [entry("a<b", up=2, down=1), entry("a<b", up=4), entry("c", up=0)]
    file.write_text("".join(json.dumps(each) + "\n" for each in all_entries), "utf-8")
    text = drawn.page(file)
    assert "## a&lt;b" in text and "## c" in text and text.count("<svg") == 3
    assert 'points="4.0,20.0 236.0,4.0"' in text and "| up | more |" in text


def test_a_benchmark_that_nobody_knows_is_an_error():
    done = subprocess.run(
        [sys.executable, HERE / "run.py", "judges"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and "no benchmark is called judges" in done.stderr
