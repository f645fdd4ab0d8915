"""What words mean as environments of torch, and what setting one up takes: with an interpreter
whose pip has an index of its own, so that nothing is downloaded."""

import pathlib
import sys
import zipfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from lockstep import environments, places
from lockstep.environments import Impossible

FAKE = pathlib.Path(__file__).resolve().parents[1] / "engine" / "testdata" / "fake_python.py"


class Index:
    """The index of an interpreter's pip, and that interpreter."""

    def __init__(self, folder):
        self.folder, self.fake = folder, folder / "fake" / "python"

    def __call__(self, *versions):
        """Has these versions, and no others."""
        (self.folder / "has").write_text(" ".join(versions))

    def asked(self):
        """What the interpreter was called with, a line each time."""
        return (self.folder / "asked").read_text().splitlines()


@pytest.fixture
def index(tmp_path, monkeypatch):
    has = Index(tmp_path)
    fake = has.fake
    fake.parent.mkdir()
    fake.write_text(f'#!/bin/sh\nexec {sys.executable} {FAKE} {tmp_path} "$0" "$@"\n')
    fake.chmod(0o755)

    has("2.15.0", "2.15.0+cpu", "2.14.0")
    monkeypatch.setattr(sys, "executable", str(fake))
    monkeypatch.setattr(environments, "has_accelerator", lambda: False)
    monkeypatch.setattr(environments.torch_facts, "check", lambda facts: None)
    monkeypatch.setenv("LOCKSTEP_CACHE", str(tmp_path / "cache"))
    return has


@pytest.mark.parametrize(
    "word, version",
    [
        ("2.13", "2.13.0"),
        ("v2.13.0", "2.13.0"),
        ("2.16.0rc1", "2.16.0rc1"),
        ("2.16.0.dev20261120+CPU", "2.16.0.dev20261120+cpu"),
        ("2.15.0+cu132", "2.15.0+cu132"),
        ("--hlp", None),
        ("2", None),
        ("2.13.0; touch x", None),
        ("../2.13", None),
    ],
)
def test_versions_are_called_in_one_way(word, version):
    assert environments.normal(word) == version


def test_the_wheel_for_cpus_is_taken_where_there_is_no_gpu(index, monkeypatch):
    found = environments.meant("2.15")
    assert (found.version, found.wanted) == ("2.15.0+cpu", ["torch==2.15.0+cpu"])
    assert found.note == "2.15: this machine has no GPU; the CPU wheel"
    plain = environments.meant("2.14.0")
    assert plain.version == "2.14.0" and "no CPU wheel in pip's index" in plain.note
    monkeypatch.setattr(environments, "has_accelerator", lambda: True)
    with_gpu = environments.meant("2.15")
    assert with_gpu.version == "2.15.0" and with_gpu.note == ""
    assert not (places.cache() / "venv").exists(), "asking makes nothing"


def test_a_nightly_is_called_by_its_day(index, monkeypatch):
    index("2.16.0.dev20261120+cpu")
    found = environments.meant("nightly")
    assert found.name == "2.16.0.dev20261120+cpu"
    assert environments.NIGHTLIES in index.asked()[-1] and "--pre" in index.asked()[-1]
    monkeypatch.setattr(environments, "has_accelerator", lambda: True)
    with pytest.raises(Impossible, match="expected --index-url"):
        environments.meant("nightly")
    assert environments.meant("nightly", "file:///index").index == ("--index-url", "file:///index")


@pytest.mark.parametrize(
    "word, says",
    [
        ("2.9.1", "found torch 2.9.1, expected 2.10 or newer"),
        ("2.12", "pip's index has no torch 2.12 .* it has 2.15.0, 2.15.0[+]cpu, 2.14.0"),
        ("--hlp", "found --hlp, expected a version"),
        ("no-such-thing", "found no-such-thing, expected a version"),
        ("/", "is a folder without bin/python"),
        (__file__, "cannot be executed"),
    ],
)
def test_what_means_nothing_is_refused(index, word, says):
    with pytest.raises(Impossible, match=says):
        environments.meant(word)


def test_pip_that_fails_is_no_missing_version(index):
    index("unreachable")
    with pytest.raises(places.Refusal, match="pip cannot be asked:\n  ERROR: there is no network"):
        environments.meant("2.15")


def test_an_environment_is_made_once_and_later_ones_are_estimated_by_it(index, monkeypatch):
    built: list = []
    monkeypatch.setattr(environments.eager, "provide", built.append)
    monkeypatch.setattr(environments.eager, "compiler", lambda: ["c++"])
    monkeypatch.setattr(environments.eager.Recipe, "key", "torch-key")
    found = environments.meant("2.15")
    told = found.told()
    assert not told["ready"] and told["seconds"] is None, "nobody has timed one here"
    environments.provide(found)
    installed = found.python.parent / "torch" / "version"
    assert len(built) == 1 and installed.read_text() == "2.15.0+cpu"
    (places.cache() / "eager" / "torch-key").mkdir(parents=True)
    places.note_took(places.cache() / "eager" / "torch-key", 0)  # as eager.build does
    installs = [line for line in index.asked() if "install" in line and "--dry-run" not in line]
    assert len(installs) == 1
    asked = len(index.asked())
    again = environments.meant("v2.15.0")
    assert again.is_ready() and again.note == "" and len(index.asked()) == asked
    environments.provide(again)
    other = environments.meant("2.14").told()
    assert other["seconds"] is not None and other["bytes"] > 0
    assert other["name"] == "2.14.0" and other["eager"] == ""


def test_an_interpreter_and_its_environment_are_the_same(index):
    folder = index.fake.parent.parent / "own" / "bin"
    folder.mkdir(parents=True)
    (folder / "python").write_text(index.fake.read_text())
    (folder / "python").chmod(0o755)
    (folder / "torch").mkdir()
    (folder / "torch" / "version").write_text("2.16.0a0+git1")
    one = environments.meant(str(folder / "python"))
    other = environments.meant(str(folder.parent))
    assert one.version == "2.16.0a0+git1" and one.wanted == [] and one.python == other.python
    assert one.name == other.name and one.name.endswith("own-bin-python-2.16.0a0+git1")


def test_the_wheels_between_two_are_in_order(index):
    index("2.15.0", "2.14.0", "2.14.0rc1", "2.15.0.dev20261001", "2.13.0", "2.16.0", "2.14.0+cpu")
    between = ["2.14.0rc1", "2.14.0", "2.14.0+cpu", "2.15.0.dev20261001", "2.15.0"]
    assert environments.wheels("2.14.0rc1", "2.15", None) == between
    assert environments.wheels("2.15", "2.14.0rc1", None) == between
    with pytest.raises(Impossible, match="expected two versions"):
        environments.wheels("nightly", "2.15", None)


def test_a_real_pip_says_what_it_would_install(tmp_path, monkeypatch):
    for version in ("2.14.0+cpu", "2.15.0rc1"):
        name = f"torch-{version}"
        metadata = f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n"
        with zipfile.ZipFile(tmp_path / f"{name}-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"{name}.dist-info/METADATA", metadata)
            wheel.writestr(f"{name}.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
            wheel.writestr(f"{name}.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("LOCKSTEP_CACHE", str(tmp_path / "cache"))
    assert environments.found_by_pip(["torch==2.14.0"], ())[0] == "2.14.0+cpu"
    assert environments.found_by_pip(["--pre", "torch"], ())[0] == "2.15.0rc1"
    found, said = environments.found_by_pip(["torch==2.13.0"], ())
    why = environments.why_not("2.13", said)
    assert found is None and isinstance(why, Impossible) and "2.14.0+cpu" in str(why)
    assert environments.wheels("2.13", "2.15", None) == ["2.14.0+cpu", "2.15.0rc1"]
