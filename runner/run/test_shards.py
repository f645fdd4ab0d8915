"""Shards of a run, run as other machines would, in whatever order: put together they are the run in
one piece, but for times. With fake workers, so that a run takes a second."""

import json
import os
import pathlib
import random
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "commands"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from suites import BINARY, Suite, case, many, tensors_of, timeless

ROUNDS = 30 if os.environ.get("LOCKSTEP_LONG") else 3
SEED = int(os.environ.get("LOCKSTEP_SEED", "1"))
ROWS = 25
PATHS = ("conform", "crash", "flip")
SELECT = ("bugs/3-many", "bugs/1-first", *("path:" + name for name in PATHS), "--save-tensors")

pytestmark = pytest.mark.skipif(
    not BINARY.is_file(), reason="LOCKSTEP_BINARY_DIR names no build with bin/lockstep"
)


class Scene:
    """A suite, and the run of it in one piece."""

    def __init__(self, root):
        self.suite = Suite(root / "suite", BINARY)
        self.root = self.suite.root
        self.suite.write("cases/bugs/3-many.json", many(ROWS))
        assert self.run("--out", "whole").returncode == 1  # two of the paths are at fault
        self.whole = timeless(self.root / "whole")
        assert len(self.whole["verdicts"]) == (ROWS + 1) * len(PATHS)

    def run(self, *options, **variables):
        return self.call("run", *SELECT, "-j", "2", *options, **variables)

    def call(self, *arguments, **variables):
        return subprocess.run(
            [BINARY, *arguments],
            env=self.suite.environment(**variables),
            cwd=self.root,
            capture_output=True,
            text=True,
            timeout=120,
        )


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    return Scene(tmp_path_factory.mktemp("shards"))


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_any_shards_in_any_order_make_the_run(scene, round_):
    dice = random.Random(f"{SEED}/{round_}")
    of = dice.choice((1, 2, 3, 5, 8))
    balanced = ("--durations", "whole") if round_ % 2 else ()
    shards = [f"round-{round_}-{number}" for number in range(1, of + 1)]
    for number in dice.sample(range(1, of + 1), of):
        result = scene.run("--shard", f"{number}/{of}", *balanced, "--out", shards[number - 1])
        assert result.returncode in (0, 1), result.stderr
    merged = scene.call("merge", *dice.sample(shards, of), "--out", f"round-{round_}")
    assert merged.returncode == 1, merged.stderr  # as the run in one piece
    assert timeless(scene.root / f"round-{round_}") == scene.whole
    assert tensors_of(scene.root / f"round-{round_}") == tensors_of(scene.root / "whole") != {}
    run = json.loads((scene.root / f"round-{round_}" / "run.jsonl").read_text().splitlines()[0])
    assert (
        run["merged"] == of
        and "--shard" not in run["arguments"]
        and "--durations" not in run["arguments"]
    )
    assert "78 verdicts" in merged.stdout.splitlines()[-1]


def test_what_does_not_belong_together_is_not_put_together(scene):
    for number in (1, 2):
        scene.run("--shard", f"{number}/2", "--out", f"half-{number}")
    assert (
        "of 2 shards 2 is missing" in (one := scene.call("merge", "half-1", "--out", "no")).stderr
        and one.returncode == 2
    )
    twice = scene.call("merge", "half-1", "half-2", "half-2", "--out", "no")
    assert "are the same shard" in twice.stderr and twice.returncode == 2
    several = scene.call("merge", "half-1", "whole", "nowhere", "--out", "no")
    assert "cannot read nowhere" in several.stderr and several.returncode == 2
    assert (
        "the run in whole is no shard"
        in scene.call("merge", "half-1", "whole", "--out", "no").stderr
    )
    scene.suite.write("cases/bugs/9-later.json", case("later"))
    scene.run("--shard", "2/2", "--out", "later-2")
    (scene.root / "cases/bugs/9-later.json").unlink()
    assert (
        "are of different runs: other cases"
        in scene.call("merge", "half-1", "later-2", "--out", "no").stderr
    )
    assert not (scene.root / "no").exists()
    assert (
        scene.call("merge", "half-1", "half-2", "--out", "half-1").returncode == 2
    )  # a log is never overwritten


def test_a_shard_that_was_cut_off_goes_on_as_the_same_shard(scene):
    scene.run("--shard", "auto", "--out", "cut", CI_NODE_INDEX="2", CI_NODE_TOTAL="2")
    log = scene.root / "cut" / "run.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    arguments = json.loads(lines[0])["arguments"]
    assert arguments[arguments.index("--shard") + 1] == "2/2"
    log.write_text("".join(lines[: len(lines) // 2]))
    scene.run("--shard", "1/2", "--out", "other")
    refused = scene.call("merge", "cut", "other", "--out", "no")
    assert "shard 2/2 in cut did not come to its end" in refused.stderr and refused.returncode == 2
    assert scene.call("run", "--resume", "cut").returncode == 1  # no variables now
    assert scene.call("merge", "cut", "other", "--out", "mended").returncode == 1
    assert timeless(scene.root / "mended") == scene.whole


def test_the_comparison_sees_a_verdict_that_changed(scene):
    """The saboteur: what a shard says of an output is changed before it is put together with the
    other."""
    for number in (1, 2):
        scene.run("--shard", f"{number}/2", "--out", f"changed-{number}")
    log = next(
        scene.root / f"changed-{number}" / "run.jsonl"
        for number in (1, 2)
        if "elements differ" in (scene.root / f"changed-{number}" / "run.jsonl").read_text()
    )
    log.write_text(log.read_text().replace("elements differ", "elements agree", 1))
    assert scene.call("merge", "changed-1", "changed-2", "--out", "changed").returncode == 1
    assert timeless(scene.root / "changed") != scene.whole


def test_a_shard_may_be_empty_and_demands_nothing_of_itself(scene):
    of = 60
    judged = [
        scene.call(
            *"run bugs/1-first path:conform --shard".split(),
            f"{number}/{of}",
            "--min-judged",
            "100",
            "--out",
            f"thin-{number}",
        )
        for number in (1, 2, 3)
    ]
    assert {each.returncode for each in judged} <= {0, 1}
    assert sum("0 verdicts" in each.stdout for each in judged) >= 2


@pytest.mark.parametrize(
    "options, said",
    [
        (["--shard", "3/2"], "found --shard 3/2, expected NUMBER/OF, such as 2/5, or auto"),
        (["--shard", "auto"], "CI_NODE_INDEX"),
        (["--durations", "whole"], "--shard"),
        (["--shard", "1/2", "--durations", "nowhere"], "cannot read"),
    ],
)
def test_what_is_no_shard_is_refused(scene, options, said):
    result = scene.run(*options, "--out", "refused")
    assert result.returncode == 2 and said in result.stderr
    assert not (scene.root / "refused" / "run.jsonl").exists()
