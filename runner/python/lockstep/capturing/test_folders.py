"""Folders of runs that ask for an answer alone."""

import os
import subprocess
import sys

import pytest


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("LOCKSTEP_CACHE", str(tmp_path))
    return tmp_path / "captured"


def made(home, name, age, size=10):
    """A folder that a run has left, so many seconds ago."""
    folder = home / name
    folder.mkdir(parents=True)
    (folder / "model.json").write_bytes(bytes(size))
    os.utime(folder, (1e9 - age, 1e9 - age))
    return folder


def test_each_run_has_its_own(home):
    from lockstep.capturing import folders

    first, second = folders.new("model"), folders.new("model")
    assert first != second and first.is_dir() and second.is_dir()
    assert first.parent == second.parent == home and first.name.startswith("model-")


def test_the_newest_stay(home, monkeypatch):
    from lockstep.capturing import folders

    monkeypatch.setattr(folders, "MOST_FOLDERS", 3)
    ages = {age: made(home, f"old-{age}", age) for age in (30, 10, 40, 20)}
    (home / "file").write_text("not a folder")
    own = folders.new("model")
    assert {each.name for each in home.iterdir()} == {"file", own.name, "old-10", "old-20"}
    assert (ages[10] / "model.json").exists()


def test_they_have_a_limit_of_bytes(home, monkeypatch):
    from lockstep.capturing import folders

    monkeypatch.setattr(folders, "MOST_BYTES", 250)
    for age in (10, 20, 30):
        made(home, f"old-{age}", age, 100)
    own = folders.new("model")
    assert {each.name for each in home.iterdir()} == {own.name, "old-10", "old-20"}


def test_one_in_use_stays_also_when_its_process_has_become_another(home, monkeypatch):
    from lockstep.capturing import folders

    program = (
        "import os; from lockstep.capturing import folders\n"
        "print(folders.new('model'), flush=True)\n"
        "os.execv('/bin/cat', ['cat'])"
    )
    python = str(folders.places.PACKAGE.parent)
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": python},
    ) as process:
        assert process.stdout and process.stdin
        name = process.stdout.readline().strip()
        os.utime(name, (1, 1))
        monkeypatch.setattr(folders, "MOST_FOLDERS", 1)
        folders.new("model")
        assert os.path.isdir(name)
        process.stdin.close()
        process.wait()
    folders.new("model")
    assert not os.path.exists(name)


def test_a_cache_that_nobody_can_write_is_refused(monkeypatch, tmp_path):
    from lockstep.capturing import folders
    from lockstep.places import Refusal

    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LOCKSTEP_CACHE", str(tmp_path / "file"))
    with pytest.raises(Refusal, match="LOCKSTEP_CACHE names another folder"):
        folders.new("model")
