"""Files that cost little to write and would cost much to read: each is refused with the limit that
it goes beyond, in memory and time that its reader need not notice."""

import gzip
import io
import json
import os
import resource
import subprocess
import tarfile
import time

import pytest

MIB = 1 << 20
MEMORY = 560 * MIB  # what reading may take, and what the process is besides
SECONDS = 60  # a generous bound, for what took minutes or never ended


@pytest.fixture
def read(suite):
    """Runs a command; its status, and what it said. It may have neither much memory nor time."""

    def run(*arguments, **environment):
        out = suite.root / "said"
        begin = time.monotonic()
        with open(out, "w+b") as said:
            process = subprocess.Popen(
                [suite.binary, *map(str, arguments)],
                env=suite.environment(**environment),
                cwd=suite.root,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30)),
            )
            try:
                while (ended := os.wait4(process.pid, os.WNOHANG))[0] == 0:
                    assert time.monotonic() - begin < SECONDS, f"{arguments} goes on and on"
                    time.sleep(0.01)
            except BaseException:
                process.kill()
                process.wait()
                raise
        process.returncode = status = os.waitstatus_to_exitcode(ended[1])
        text = out.read_text(errors="replace")
        seconds, peak = time.monotonic() - begin, ended[2].ru_maxrss * 1024
        print(f"{peak / MIB:.0f} MiB, {seconds:.1f} s: {text[:200]}")
        assert peak <= MEMORY, f"{peak / MIB:.0f} MiB: {text[:200]}"
        assert len(text) < 10_000
        return status, text

    return run


@pytest.fixture
def log(suite):
    """The lines of the log of a run."""
    suite("run", "bugs/1-first", "path:conform", "path:flip", "--out", "out")
    return (suite.root / "out" / "run.jsonl").read_text().splitlines()


def sparse(file, size=40 << 30):
    with open(file, "wb") as made:
        made.truncate(size)
    return file


@pytest.fixture(params=["sparse", "zero", "pipe"])
def endless(request, suite):
    """Something that has no end, or none soon, and what is said of it."""
    name = suite.root / "endless.json"
    if request.param == "sparse":
        return sparse(name), "it has 42,949,672,960 bytes, at most "
    if request.param == "pipe":
        os.mkfifo(name)
    else:
        name.symlink_to("/dev/zero")
    return name, "it is no regular file"


READERS = [
    "verify {}",
    "report {}",
    "merge {} {}",
    "gate {} {}",
    "gate out out --allow {}",
    "run bugs/1-first --known {}",
    "run bugs/1-first --path-file {}",
    "run --resume {}",
    "run status:failing --from {}",
    "check {}",
]


@pytest.mark.parametrize("command", READERS)
def test_what_has_no_end_is_not_read(suite, read, log, endless, command):
    file, words = endless
    status, said = read(*command.format(file, file).split())
    assert status == 2 and words in said, said


@pytest.mark.parametrize("command", ["run --level endless", "list --level endless"])
def test_a_level_that_has_no_end_is_not_read(suite, read, command):
    sparse(suite.root / "expected" / "levels" / "endless.json")
    status, said = read(*command.split())
    assert status == 2 and "42,949,672,960 bytes, at most 16,777,216 may be read" in said, said


def test_a_long_line_is_not_held(suite, read, log):
    file = suite.root / "long.jsonl"
    file.write_text(log[0] + "\n")
    with open(file, "r+b") as made:
        made.truncate(300 * MIB)
    for command in ("report", "merge", "gate out", "run --resume"):
        status, said = read(*command.split(), file)
        assert status == 2, said
        assert "long.jsonl:2: this line has more than 16,777,216 bytes" in said, said
        assert "ask where the log comes from" in said


def test_what_was_quadratic_is_bounded(suite, read, log):
    record = {"type": "environment", "name": "", "values": {"torch": "2"}}
    many = suite.root / "environments.jsonl"
    lines = [json.dumps({**record, "name": f"worker {i}"}) for i in range(300_000)]
    many.write_text("\n".join([log[0], *lines]) + "\n")
    assert many.stat().st_size > 14 * MIB
    status, said = read("report", many)
    assert status == 2 and "more than 256 names of environments" in said, said
    # Of a name that is there the last record counts.
    same = [json.dumps({**record, "name": f"worker {i % 200}"}) for i in range(16_000)]
    many.write_text("\n".join([log[0], *same, *log[1:]]) + "\n")
    assert read("report", many)[0] == 1

    run = json.loads(log[0])
    run["paths"] = [{**run["paths"][0], "declared": {}, "name": f"p{i}"} for i in range(20_000)]
    paths = suite.root / "paths.jsonl"
    paths.write_text("\n".join([json.dumps(run), *log[1:]]) + "\n")
    status, said = read("gate", paths, "out")
    assert status == 2 and "found more than 256 paths, the most that a log may have" in said, said


def test_many_rules_take_the_time_of_their_length(suite, read, log):
    rule = {"transition": "gone", "ids": ["nothing/*"], "reason": "r"}
    rules = suite.root / "allow.json"
    wrong = {**rule, "transition": "no such"}  # what is right would be said of each of them
    rules.write_text(json.dumps({"format": 1, "allow": [rule] * 100_000 + [wrong]}, indent=0))
    status, said = read("gate", "out", "out", "--allow", rules)
    assert status == 2 and "allow.json:7000" in said and "no such" in said, said
    known = {
        "instances": ["bugs/none"],
        "paths": ["conform"],
        "status": "value_diverges",
        "because": "bug",
        "reason": "long",
        "link": "https://example.org",
        "date": "2026-11-01",
    }
    file = suite.root / "known.json"
    late = {**known, "date": "soon"}
    file.write_text(json.dumps({"format": 2, "known": [known] * 30_000 + [late]}, indent=0))
    status, said = read("run", "bugs/1-first", "--known", file)
    assert status == 2 and "soon" in said, said


def test_a_bomb_in_an_archive_is_not_unpacked(suite, read):
    """One whose manifest is right is in certificate_test.cpp."""
    bomb = gzip.compress(bytes(64 * MIB)) * 46  # 3 MB, as a file of many members 3 GB
    file = suite.root / "bomb.tar"
    with tarfile.open(file, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in (("manifest.json", b"{}"), ("run.jsonl.gz", bomb)):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    status, said = read("verify", file)
    assert status == 1 and "is no certificate" in said, said


def test_memory_ends_at_its_limit_and_the_limit_is_named(suite, read, log):
    verdicts = [json.loads(line) for line in log if '"verdict"' in line[:30]]
    verdict = {**verdicts[0], "program": "p" * 2000, "tags": ["t"] * 500}
    run = {**json.loads(log[0]), "planned": 50_000}
    file = suite.root / "large.jsonl"
    with open(file, "w") as made:
        print(json.dumps(run), file=made)
        for i in range(30_000):
            verdict.update(id=f"bugs/{i}@cpu/conform", instance=f"bugs/{i}@cpu", index=i)
            print(json.dumps(verdict), file=made)
    status, said = read("report", file, "--out", "reports")
    assert status == 2, said
    assert "takes more than 512 MiB of memory, the most that reading may take" in said, said
    assert "LOCKSTEP_READING_MIB=2048 lets it take more" in said
    assert not list((suite.root / "reports").glob("*.tmp"))
    small = read("report", "out", LOCKSTEP_READING_MIB="1")
    assert small[0] == 2 and "more than 1 MiB of memory" in small[1], small
