"""Elements of tensors in files beside a case, through the real binary: found, refused, and taken
along by whatever writes a case elsewhere."""

import hashlib
import json
import os
import struct

import pytest
from suites import case, verdicts

NUMBERS = struct.pack("<8f", *range(1, 9))
NAME = hashlib.sha256(NUMBERS).hexdigest() + ".bin"


def of_file(name=NAME, **more):
    """A case of a tensor whose elements lie in a file."""
    x = {"dtype": "float32", "shape": [2, 4], "file": name}
    return case("of a file", inputs={"x": x}, **more)


def put(folder, data=NUMBERS, name=NAME):
    (folder / "values").mkdir(parents=True, exist_ok=True)
    (folder / "values" / name).write_bytes(data)


@pytest.fixture
def mine(suite):
    """The folder of a case with its values."""
    put(suite.root / "cases/ops")
    suite.write("cases/ops/mine.json", of_file())
    return suite.root / "cases/ops"


def test_the_elements_are_those_of_the_file(suite, mine):
    assert suite("check").returncode == 0
    shown = suite("show", "ops/mine").stdout
    assert f"values of {NAME}" in shown and "storage: 1, 2, 3, 4" in shown
    run = suite("run", "ops/mine", "--out", "out")
    assert run.returncode == 0, run.stdout + run.stderr
    assert verdicts(suite.root / "out")["ops/mine@cpu/conform"]["status"] == "conform"


@pytest.mark.parametrize("command", [["check"], ["run", "ops/mine"], ["show", "ops/mine"]])
def test_what_is_not_the_file_is_refused_with_its_place(suite, mine, command):
    file = mine / "values" / NAME

    def refused(*words):
        done = suite(*command)
        assert done.returncode == 2, done.stdout + done.stderr
        lines = (mine / "mine.json").read_text().splitlines()
        line = next(i for i, text in enumerate(lines, 1) if '"file"' in text)
        column = lines[line - 1].index(f'"{NAME}"') + 1
        assert f"cases/ops/mine.json:{line}:{column}: " in done.stderr, done.stderr
        for word in words:
            assert word in done.stderr, done.stderr
        assert not list(suite.root.rglob("run.jsonl")), "nothing was begun"

    file.write_bytes(NUMBERS[:-1] + b"\xff")
    refused(f"found values/{NAME} with the SHA-256 ", "it is not the file that the case was")
    file.write_bytes(NUMBERS[:-1])
    refused(f"found values/{NAME} of 31 bytes, expected 32", "little-endian")
    file.write_bytes(NUMBERS + b"\0")
    refused("it has 33 bytes, at most 32 may be read", "the file lies in the folder `values`")
    file.unlink()
    refused("No such file or directory", "beside the case")
    with file.open("wb") as huge:
        os.truncate(huge.fileno(), 40 << 30)
    refused("it has 42,949,672,960 bytes, at most 32")
    for replace in (
        lambda: file.symlink_to("/dev/zero"),
        lambda: os.mkfifo(file),
        lambda: file.mkdir(),
    ):
        file.rmdir() if file.is_dir() else file.unlink()
        replace()
        refused("it is ")
    file.rmdir()
    file.parent.rmdir()
    file.parent.symlink_to("/")
    refused("values is a link")


@pytest.mark.parametrize("name", ["../secret.bin", f"../values/{NAME}", "/etc/passwd", "a.bin"])
def test_nothing_but_a_digest_names_a_file(suite, mine, name):
    suite.write("cases/ops/mine.json", of_file(name))
    done = suite("check")
    assert done.returncode == 2
    assert "expected 64 hexadecimal digits, the SHA-256 of the file, and `.bin`" in done.stderr


def test_a_case_given_by_its_file_has_its_values_beside_it(suite, tmp_path):
    put(tmp_path / "own")
    (tmp_path / "own/mine.json").write_text(json.dumps(of_file()))
    for words in (["check", "mine.json"], ["run", "./mine.json", "--path", "conform"]):
        done = suite(*words, cwd=tmp_path / "own")
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_choice_of_the_matrix_may_name_a_file(suite, mine):
    other = bytes(range(32))
    name = hashlib.sha256(other).hexdigest() + ".bin"
    put(mine, other, name)
    inputs = {"x": {"dtype": "float32", "shape": [2, 4], "file": "$data.file"}}
    choices = [{"is": "one", "file": NAME}, {"is": "two", "file": name}]
    suite.write("cases/ops/mine.json", case("two", inputs=inputs, matrix={"data": choices}))
    assert suite("check").returncode == 0
    copied = suite("new", "7", "--like", "ops/mine", "--to", "copy/7.json")
    assert copied.returncode == 0, copied.stderr
    files = {file.name: file.read_bytes() for file in (suite.root / "copy/values").iterdir()}
    assert files == {NAME: NUMBERS, name: other}


def test_a_new_case_takes_them_along(suite, mine):
    made = suite("new", "185337", "--like", "ops/mine")
    assert made.returncode == 0, made.stderr
    assert (suite.root / "cases/bugs/values" / NAME).read_bytes() == NUMBERS
    assert suite("check", "cases/bugs/185337.json").returncode == 0
    (mine / "values" / NAME).write_bytes(b"")
    again = suite("new", "185338", "--like", "ops/mine")
    assert again.returncode == 2 and "of 0 bytes, expected 32" in again.stderr
    assert not (suite.root / "cases/bugs/185338.json").exists()


def test_shards_and_resumed_runs_read_the_files_again(suite, mine):
    for part in (1, 2):
        done = suite("run", "--level", "all", "--shard", f"{part}/2", "--out", f"part{part}")
        assert done.returncode == 0, done.stderr
    merged = suite("merge", "part1", "part2", "--out", "whole")
    assert merged.returncode == 0, merged.stderr
    assert "ops/mine@cpu/conform" in verdicts(suite.root / "whole")
    assert suite("run", "ops/mine", "--out", "out").returncode == 0
    log = suite.root / "out/run.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join(line for line in lines if json.loads(line)["type"] == "run"))
    resumed = suite("run", "--resume", "out")
    assert resumed.returncode == 0, resumed.stderr
    assert "ops/mine@cpu/conform" in verdicts(suite.root / "out")
