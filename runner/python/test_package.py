"""The package's way in: how it finds torch, builds the eager worker once, and calls the runner. A
compiler that compiles nothing stands in for the real one, and a folder for torch."""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from lockstep import eager, places, torch_facts

HERE = pathlib.Path(__file__).resolve().parent

#: Notes each call; makes of what it links a program that prints an empty dump.
COMPILER = """#!/bin/sh
echo "$*" >>"$0.calls"
case " $* " in *" -DBROKEN "*) echo 'unit.cpp:1:1: error: it is broken' >&2; exit 1 ;; esac
while [ $# -gt 1 ]; do [ "$1" = -o ] && out=$2; shift; done
printf '#!/bin/sh\\necho {}\\n' >"$out"
chmod +x "$out"
"""


@pytest.fixture
def torch(tmp_path):
    """A folder that looks like an installed torch."""
    folder = tmp_path / "site" / "torch"
    for name in (
        "include/ATen/core/dispatch/Dispatcher.h",
        "lib/libtorch_cpu.so",
        "lib/libtorch.so",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    (folder / "lib" / "libc10.so").write_bytes(b"\0St7__cxx11\0")
    (folder / "__init__.py").write_text("raise SystemExit('torch was imported')")
    (folder / "version.py").write_text(
        "from typing import Optional\n__version__ = '2.14.1+cpu'\ncuda: Optional[str] = None\n"
        "git_version = 'abc'\n"
    )
    return folder


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A compiler that compiles nothing, and an empty cache."""
    program = tmp_path / "bin" / "c++"
    program.parent.mkdir()
    program.write_text(COMPILER)
    program.chmod(0o755)
    monkeypatch.setenv("CXX", str(program))
    monkeypatch.setenv("LOCKSTEP_CACHE", str(tmp_path / "cache"))
    return program


def facts_of(torch):
    """The facts of an interpreter that finds this torch."""
    asked = subprocess.run(
        [sys.executable, torch_facts.__file__],
        env={**os.environ, "PYTHONPATH": str(torch.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.returncode == 0, asked.stderr
    return json.loads(asked.stdout)


def recipe(torch):
    return eager.Recipe(facts_of(torch), eager.compiler())


def calls(machine):
    file = machine.with_name("c++.calls")
    return file.read_text().splitlines() if file.exists() else []


def test_facts_are_read_and_not_imported(torch):
    facts = facts_of(torch)
    assert (facts["version"], facts["cuda"], facts["git"]) == ("2.14.1+cpu", None, "abc")
    assert (
        facts["folder"] == str(torch)
        and facts["python"] == f"{sys.version_info[0]}.{sys.version_info[1]}"
    )
    torch_facts.check(facts)
    version = (torch / "version.py").read_text().replace("] = None", "] = '13.2'")
    (torch / "version.py").write_text(version)
    assert facts_of(torch)["cuda"] == "13.2"


@pytest.mark.parametrize(
    "spoil, says",
    [
        (lambda torch: (torch / "lib/libtorch_cpu.so").unlink(), "has no lib/libtorch_cpu.so"),
        (lambda torch: (torch / "lib/libc10.so").write_bytes(b"old"), "before C++11"),
        (
            lambda torch: (torch / "version.py").write_text("__version__ = '2.9.0'\n"),
            "needs 2.10 or newer",
        ),
    ],
)
def test_a_torch_that_cannot_be_linked_is_refused_with_the_reason(torch, spoil, says):
    spoil(torch)
    with pytest.raises(torch_facts.NoTorch, match=says.replace("+", "[+]")):
        torch_facts.check(facts_of(torch))


def test_an_interpreter_without_torch_says_how_to_get_it():
    code = f"import sys; sys.path[:0] = [{str(HERE)!r}]; from lockstep import torch_facts"
    code += "; torch_facts.facts()"
    asked = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, check=False
    )
    assert "has no torch: install it there (`pip install torch`)" in asked.stderr


def test_the_worker_is_built_once_and_again_when_what_it_depends_on_changes(torch, machine):
    built = eager.provide(recipe(torch))
    assert built.name == "lockstep-eager" and "torch-2.14.1+cpu-" in str(built)
    assert (built.parent / "schemas.json").read_text() == "{}\n"
    parts = len(calls(machine))
    assert parts == len(recipe(torch).units) + 1
    assert eager.provide(recipe(torch)) == built and len(calls(machine)) == parts
    # Another torch in the same place, then another compiler.
    (torch / "lib" / "libtorch_cpu.so").write_text("new")
    other = eager.provide(recipe(torch))
    assert other != built and len(calls(machine)) == 2 * parts
    machine.write_text(COMPILER + "# newer\n")
    assert eager.provide(recipe(torch)) not in (built, other)
    assert len(calls(machine)) == 3 * parts


def test_whoever_starts_at_the_same_time_it_is_made_once(torch, machine):
    environment = {**os.environ, "PYTHONPATH": str(torch.parent)}
    provide = [sys.executable, str(HERE / "lockstep" / "provide.py")]

    def ask(_):
        return subprocess.run(provide, env=environment, capture_output=True, text=True, check=False)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        asked = list(pool.map(ask, range(4)))
    assert {each.returncode for each in asked} == {0}, asked
    (path,) = {each.stdout.strip() for each in asked}
    assert pathlib.Path(path).exists()
    assert len(calls(machine)) == len(recipe(torch).units) + 1


def test_what_does_not_compile_leaves_nothing_and_says_why(torch, machine, monkeypatch):
    monkeypatch.setenv("CXX", f"{machine} -DBROKEN")
    with pytest.raises(places.Refusal, match="it is broken") as refusal:
        eager.provide(recipe(torch))
    log = pathlib.Path(str(refusal.value).rsplit("The whole log: ", 1)[1])
    assert "-DBROKEN" in log.read_text()
    left = [file.name for file in (places.cache() / "eager").iterdir()]
    assert left == ["setup.lock"]


def test_without_a_compiler_it_says_how_to_get_one(monkeypatch):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(places.Refusal) as refusal:
        eager.compiler()
    for words in ("apt-get install g++", "dnf install gcc-c++", "conda install gxx"):
        assert words in str(refusal.value)
    monkeypatch.setenv("CXX", "no-such-compiler -O3")
    with pytest.raises(places.Refusal, match="is not a program"):
        eager.compiler()


def test_a_cache_that_cannot_be_written_is_named(monkeypatch):
    monkeypatch.setenv("LOCKSTEP_CACHE", "/proc/nowhere")
    with pytest.raises(places.Refusal, match="LOCKSTEP_CACHE names another folder"):
        with places.locked(places.cache(), "tries"):
            pass


def test_it_tells_the_runner_where_everything_is(torch, machine, tmp_path):
    runner = tmp_path / "runner"
    runner.write_text('#!/bin/sh\nenv | grep ^LOCKSTEP_ | sort; echo "$*"\n')
    runner.chmod(0o755)
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("LOCKSTEP_")
    }
    environment |= {"PYTHONPATH": str(torch.parent), "LOCKSTEP_RUNNER": str(runner)}
    environment["LOCKSTEP_CACHE"] = str(tmp_path / "cache")
    command = [sys.executable, str(HERE / "lockstep" / "__main__.py"), "run", "a b"]
    said = subprocess.check_output(command, env=environment, text=True).splitlines()
    told = dict(line.split("=", 1) for line in said[:-1])
    assert said[-1] == "run a b"
    assert told["LOCKSTEP_HOME"] == str(HERE.parents[1])
    assert told["LOCKSTEP_PYTHON"] == sys.executable
    assert told["LOCKSTEP_EAGER"] == str(recipe(torch).program)
    assert told["LOCKSTEP_PROVIDER"] == str(HERE / "lockstep" / "provide.py")
    # Where there is no torch the runner is told of a worker that nobody has made.
    environment["CXX"] = "no-such-compiler"
    printed = subprocess.check_output(command, env=environment, text=True)
    assert "LOCKSTEP_EAGER=" in printed and "/eager/none/" in printed
