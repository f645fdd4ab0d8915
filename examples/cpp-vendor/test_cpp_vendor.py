"""The vendor of this example, built, certified at its level, and caught where it has a fault."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
from concurrent.futures import ThreadPoolExecutor
from xml.etree import ElementTree

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUG = "relu-of-special-numbers@cpu/vendor"


class Vendor:
    """A copy of the example; called, it calls Lockstep there."""

    def __init__(self, folder):
        self.folder = folder
        self.binary = pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "lockstep"
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in ("CI", "GITHUB_ACTIONS")
        }
        self.environment = {
            **kept,
            "LOCKSTEP_HOME": str(ROOT),
            "LOCKSTEP_CACHE": str(folder / "cache"),
            "LOCKSTEP_PYTHON": sys.executable,
        }

    def __call__(self, *arguments):
        return subprocess.run(
            [self.binary, *map(str, arguments), "--suite", "."],
            capture_output=True,
            text=True,
            timeout=600,
            cwd=self.folder,
            env=self.environment,
        )


@pytest.fixture(scope="module")
def vendor(tmp_path_factory):
    """A copy of the example with its worker built."""
    folder = tmp_path_factory.mktemp("vendor") / "cpp-vendor"
    shutil.copytree(HERE, folder)
    compiler = os.environ.get("CXX", "g++")
    subprocess.run(
        [compiler, *"-std=c++17 -O1 -Wall -Wextra -Werror vendor.cpp -o vendor".split()],
        cwd=folder,
        check=True,
    )
    return Vendor(folder)


@pytest.fixture(scope="module")
def archive(vendor):
    done = vendor("certify", "--level", "tiny-1", "--path", "vendor")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "A compiler of six operators conforms to Lockstep tiny-1 on cpu" in done.stdout
    assert " verify --suite . vendor-tiny-1.tar` checks it" in done.stderr
    return vendor.folder / "vendor-tiny-1.tar"


def test_the_worker_has_neither_torch_nor_python(vendor):
    libraries = subprocess.run(
        ["ldd", vendor.folder / "vendor"], capture_output=True, text=True, check=True
    ).stdout
    names = re.sub(r"0x[0-9a-f]+", "", libraries)  # an address may have c10 in it
    assert "libc.so" in names
    assert "torch" not in names and "python" not in names and "c10" not in names


def test_the_level_is_the_one_that_the_suite_has(vendor):
    frozen = json.loads((HERE / "expected/levels/tiny-1.json").read_text())
    now = json.loads(vendor("list", "--level", "all", "--as-level").stdout)
    assert now["instances"] == frozen["instances"] and now["fills"] == frozen["fills"]


def test_the_archive_holds_what_it_rests_on(archive):
    with tarfile.open(archive) as files:
        names = files.getnames()
        statement, text = (
            file.read().decode()
            for file in map(files.extractfile, ("statement.json", "statement.txt"))
            if file
        )
    statement = json.loads(statement)
    assert " ".join(names) == (
        "manifest.json certification.json declared.jsonl.gz level.json path.json run.jsonl.gz "
        "statement.json statement.txt"
    )
    assert statement["verdicts"] == {
        "conform": 10,
        "waived": 0,
        "upstream": 0,
        "declared": 1,
        "unsupported": 0,
    }
    # What another worker than Lockstep's says is its word; of the error that both sides raise
    # nobody says anything.
    executed = {name: count for name, count in statement["executed"].items() if count}
    assert executed == {"stated": 9, "unseen": 1, "drawn": 9}
    assert statement["packages"]["vendor"]["package vendor"] == "1.0"
    assert statement["repeated"]["times"] == 3 and statement["repeated"]["seed"] > 0
    assert "There are kernels for float32 alone." in text


def test_it_is_verified_here_and_a_part_of_it_executed_again(vendor, archive):
    done = vendor("verify", archive, "--sample", "50%", "--seed", "3")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "executed again here: " in done.stdout and "0 with another result" in done.stdout


def test_equal_runs_give_equal_archives(vendor, archive):
    runs = vendor.folder / "cache" / "certificates"
    run = next(folder for folder in runs.iterdir() if (folder / "declared").is_dir())
    for name in ("one.tar", "two.tar"):
        done = vendor(
            "certify", "--level", "tiny-1", "--path", "vendor", "--run", run, "--out", name
        )
        assert done.returncode == 0, done.stderr
    assert (vendor.folder / "one.tar").read_bytes() == (vendor.folder / "two.tar").read_bytes()


def test_a_page_and_a_badge_come_of_an_archive_that_passes(vendor, archive):
    done = vendor("verify", archive, "--page", "page.html", "--badge", "badge.svg")
    assert done.returncode == 0, done.stderr
    page = (vendor.folder / "page.html").read_text()
    assert (
        "A compiler of six operators conforms to Lockstep tiny-1 on cpu" in page
        and "verify vendor-tiny-1.tar" in page
    )
    ElementTree.parse(vendor.folder / "badge.svg")
    (vendor.folder / "none.tar").write_bytes(archive.read_bytes()[:-512])
    assert vendor("verify", "none.tar", "--page", "none.html").returncode == 1
    assert not (vendor.folder / "none.html").exists()


def test_an_archive_that_was_changed_is_refused(vendor, archive):
    changed = vendor.folder / "changed.tar"
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 1
    changed.write_bytes(content)
    done = vendor("verify", changed)
    assert done.returncode == 1 and "is no certificate" in done.stderr
    done = vendor("verify", HERE / "vendor.cpp")
    assert done.returncode == 1 and "is no certificate" in done.stderr


def test_a_level_of_another_suite_is_refused(vendor, archive):
    level = vendor.folder / "expected/levels/tiny-1.json"
    before = level.read_text()
    try:
        level.write_text(before.replace("dc3dd8ae94242b20", "dc3dd8ae94242b21"))
        done = vendor("verify", archive)
        assert (
            done.returncode == 1
            and "the level `tiny-1` of this suite has other cases" in done.stderr
        )
        done = vendor("certify", "--level", "tiny-1", "--path", "vendor", "--out", "never.tar")
        assert done.returncode == 2 and "found the digest dc3dd8ae94242b21" in done.stderr
        level.unlink()
        done = vendor("verify", archive)
        assert done.returncode == 1 and "this suite has no level `tiny-1`" in done.stderr
        assert vendor("certify", "--level", "tiny-1", "--path", "vendor").returncode == 2
    finally:
        level.write_text(before)
    assert not (vendor.folder / "never.tar").exists()


def path_file(vendor, name, **changes):
    path = {**json.loads((HERE / "paths/vendor.json").read_text()), "name": name, **changes}
    file = vendor.folder / f"{name}.json"
    file.write_text(json.dumps(path))
    return ["--path-file", file, "--path", name]


def test_the_twin_with_a_bug_gets_none_and_is_told_why(vendor):
    done = vendor(
        "certify",
        "--level",
        "tiny-1",
        *path_file(vendor, "twin", worker=["./vendor", "--bug"]),
        "--out",
        "twin.tar",
    )
    assert done.returncode == 1
    assert "fails: relu-of-special-numbers@cpu/twin: non-finite diverges" in done.stderr
    assert not (vendor.folder / "twin.tar").exists()


def test_a_bug_that_is_declared_away_hollows_the_level_out(vendor):
    unsupported = [{"dtypes": ["float32"], "reason": "There is no kernel that is right."}]
    done = vendor(
        "certify",
        "--level",
        "tiny-1",
        *path_file(vendor, "hollow", unsupported=unsupported),
        "--out",
        "hollow.tar",
    )
    assert done.returncode == 1
    assert "too little was judged of the level: 0 of" in done.stderr


def test_what_is_declared_needlessly_is_named(vendor):
    unsupported = [
        *json.loads((HERE / "paths/vendor.json").read_text())["unsupported"],
        {"operators": ["neg", "sub"], "reason": "Nobody has asked for them."},
    ]
    done = vendor(
        "certify",
        "--level",
        "tiny-1",
        *path_file(vendor, "shy", unsupported=unsupported),
        "--out",
        "shy.tar",
    )
    assert done.returncode == 0, done.stderr
    assert (
        "elementwise[op=sub.Tensor]@cpu/shy is declared as unsupported, and conforms" in done.stdout
    )


def test_certificates_made_at_the_same_time_keep_out_of_each_others_way(vendor):
    folders = lambda: set((vendor.folder / "cache" / "certificates").iterdir())
    before = folders()
    with ThreadPoolExecutor() as pool:
        done = list(
            pool.map(
                lambda i: vendor(
                    "certify",
                    "--level",
                    "tiny-1",
                    *path_file(vendor, f"side-{i}"),
                    "--out",
                    f"side-{i}.tar",
                ),
                range(4),
            )
        )
    assert [each.returncode for each in done] == [0] * 4, [each.stderr for each in done]
    assert len(folders() - before) == 4


def test_what_is_not_declared_and_refused_gets_none(vendor):
    done = vendor(
        "certify",
        "--level",
        "tiny-1",
        *path_file(vendor, "silent", unsupported=[]),
        "--out",
        "silent.tar",
    )
    assert done.returncode == 1
    assert "refused, and not declared: negated-halves@cpu/silent: unsupported" in done.stderr


def test_a_tolerance_without_a_bound_gets_none(vendor):
    tolerances = [
        {
            "operators": ["mm"],
            "dtypes": ["float32"],
            "rtol": 0.5,
            "atol": 0,
            "reason": "It is fast.",
        }
    ]
    done = vendor(
        "certify",
        "--level",
        "tiny-1",
        *path_file(vendor, "loose", tolerances=tolerances),
        "--out",
        "loose.tar",
    )
    assert done.returncode == 1
    assert (
        "a tolerance looser than the suite bears: aten::mm.default float32: the suite has no bound"
        in done.stderr
    )


def test_a_waiver_bears_what_its_owners_agreed_to_where_it_is_bound(vendor):
    cpu = next(
        line.partition(":")[2].strip()
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    )
    path = path_file(vendor, "waived", worker=["./vendor", "--bug"])
    file = vendor.folder / "waivers.json"

    def certify(machine, **changes):
        rule = {
            "instances": ["relu-of-special-numbers"],
            "paths": ["waived"],
            "devices": ["cpu"],
            "environment": {"cpu": machine},
            "status": "nonfinite_diverges",
            "waived": True,
            "because": "bug",
            "reason": "The unit knows no NaN.",
            "link": "https://example.org/1",
            "date": "2026-11-20",
            **changes,
        }
        file.write_text(json.dumps({"format": 2, "known": [rule]}))
        return vendor(
            "certify", "--level", "tiny-1", *path, "--waivers", file, "--out", "waived.tar"
        )

    assert certify("Another CPU").returncode == 1
    assert certify(cpu, waived=False).returncode == 2
    done = certify(cpu)
    assert done.returncode == 0, done.stderr
    assert "The unit knows no NaN. (https://example.org/1)" in done.stdout
    with tarfile.open(vendor.folder / "waived.tar") as files:
        assert [name for name in files.getnames() if name.startswith("tensors/")]
        assert "waivers/0.json" in files.getnames()
    done = vendor("verify", "waived.tar", "--sample", "100")
    assert done.returncode == 0, done.stdout + done.stderr


def test_verify_asks_for_no_torch_unless_it_executes(vendor, archive):
    binary = pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "lockstep"
    done = subprocess.run(
        [binary, "verify", archive, "--suite", "."],
        capture_output=True,
        text=True,
        cwd=vendor.folder,
        env={
            "PATH": "/usr/bin:/bin",
            "LOCKSTEP_HOME": str(ROOT),
            "LOCKSTEP_PYTHON": "/nowhere/python",
            "LOCKSTEP_EAGER": "/nowhere/eager",
        },
    )
    assert done.returncode == 0, done.stderr
