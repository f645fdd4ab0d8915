"""Builds the eager worker, which links the torch of one interpreter, on first use.

It takes a C++ compiler and nothing else: sources and headers come with Lockstep. What is built lies
in the cache, keyed by torch, compiler and sources, and is made once, whoever starts at the same
time."""

import concurrent.futures
import functools
import hashlib
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

from lockstep import places, torch_facts
from lockstep.places import Refusal, say

NO_COMPILER = """\
there is no C++ compiler, neither g++ nor clang++. The eager worker is built with one, and Inductor
needs it on a CPU, too. One of these brings it:
  Debian, Ubuntu:  sudo apt-get install g++
  Fedora, RHEL:    sudo dnf install gcc-c++
  conda:           conda install gxx
Or let CXX name one."""

#: Flags of every file. Bytes of inputs must be the same on every machine, so no compiler may fuse a
#: multiplication with an addition.
FLAGS = ["-std=c++20", "-O1", "-DNDEBUG", "-ffp-contract=off", "-fPIE", "-w"]
DEFINES = ["-DAT_PER_OPERATOR_HEADERS", "-DFMT_HEADER_ONLY="]


def compiler() -> list[str]:
    """The words that call the C++ compiler: $CXX, else g++ or clang++. Raises Refusal."""
    chosen = shlex.split(os.environ.get("CXX", ""))
    if chosen:
        if shutil.which(chosen[0]) is None:
            raise Refusal(
                f"CXX={os.environ['CXX']} is not a program. Unset it, or name a compiler."
            )
        return chosen
    for name in ("g++", "clang++"):
        found = shutil.which(name)
        if found:
            return [found]
    raise Refusal(NO_COMPILER)


#: The rooms whose sources the worker is made of; its units (workers/eager/units) include them.
ROOMS = ("base", "program", "workers/eager")


class Recipe:
    """What is compiled, of which sources, for which torch."""

    def __init__(self, facts: dict, compiler: list[str]):
        self.facts, self.compiler = facts, compiler
        self.runner = places.suite() / "runner"
        self.units = sorted((self.runner / "workers" / "eager" / "units").glob("*.cpp"))

    def sources(self) -> list[pathlib.Path]:
        """All that may be compiled into the worker."""
        found = []
        for room in ROOMS:
            found += [
                file for file in (self.runner / room).rglob("*") if file.suffix in (".h", ".cpp")
            ]
        return sorted(file for file in found if not file.name.endswith("_test.cpp"))

    @functools.cached_property
    def key(self) -> str:
        """Names the build: by all that it depends on."""
        digest = hashlib.sha256()
        libraries = pathlib.Path(self.facts["folder"]) / "lib"
        program = shutil.which(self.compiler[0]) or self.compiler[0]
        says = [
            self.facts["folder"],
            self.facts["version"],
            str(self.facts["git"]),
            torch_facts.stamp(libraries / "libtorch_cpu.so"),
            *self.compiler,
            torch_facts.stamp(os.path.realpath(program)),
            *FLAGS,
        ]
        digest.update("\n".join(says).encode())
        for file in self.sources():
            digest.update(str(file.relative_to(self.runner)).encode() + file.read_bytes())
        return f"torch-{self.facts['version']}-{digest.hexdigest()[:12]}"

    @property
    def folder(self) -> pathlib.Path:
        return places.cache() / "eager" / self.key

    @property
    def program(self) -> pathlib.Path:
        return self.folder / "lockstep-eager"


def prefixes() -> list[pathlib.Path]:
    """Where the libraries of others are that the system has not: the package's, and the user's."""
    given = os.environ.get("LOCKSTEP_PREFIX")
    return [places.PACKAGE / "prefix", *([pathlib.Path(given)] if given else [])]


def includes(recipe: Recipe) -> list[str]:
    """-I and -isystem for our sources, the header-only libraries and torch."""
    torch = pathlib.Path(recipe.facts["folder"]) / "include"
    words = ["-I", str(recipe.runner)]
    folders = [prefix / "include" for prefix in prefixes()]
    for folder in (*folders, torch, torch / "torch/csrc/api/include"):
        words += ["-isystem", str(folder)]
    return words


def libraries(recipe: Recipe) -> list[str]:
    """What the worker is linked with: torch's libraries where they lie, MPFR and GMP.

    Kernels register when their library is loaded, so each is linked where no symbol is used,
    too."""
    lib = pathlib.Path(recipe.facts["folder"]) / "lib"
    words = [f"-Wl,--no-as-needed,--allow-shlib-undefined,-rpath,{lib}"]
    for name in ("c10", "torch_cpu", "c10_cuda", "torch_cuda", "torch"):
        if (lib / f"lib{name}.so").exists():
            words.append(str(lib / f"lib{name}.so"))
    carried = places.PACKAGE / "prefix" / "lib"
    if (carried / "libmpfr.a").exists():
        words += [str(carried / "libmpfr.a"), str(carried / "libgmp.a")]
    else:
        words += [f"-L{prefix / 'lib'}" for prefix in prefixes()[1:]] + ["-lmpfr", "-lgmp"]
    return [*words, "-ldl", "-pthread"]


class Progress:
    """Says how far a build is: on a terminal in one line, elsewhere a line when it began and
    ended."""

    def __init__(self, parts: int):
        self.parts, self.done, self.began = parts, 0, time.monotonic()
        self.live = sys.stderr.isatty()

    def step(self) -> None:
        self.done += 1
        if self.live:
            text = f"\rlockstep:   {self.done} of {self.parts} parts, {places.since(self.began)} "
            print(text, end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self.live:
            print(file=sys.stderr)


def call(words: list[str], log) -> None:
    """Runs a command whose words go to a log with what it prints. Raises CalledProcessError."""
    log.write(shlex.join(words) + "\n")
    log.flush()
    subprocess.run(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=True)


def compile_into(folder: pathlib.Path, recipe: Recipe, log) -> None:
    """Compiles and links the worker in `folder`, and dumps the operators of its torch there."""
    progress = Progress(len(recipe.units) + 2)
    words = [*recipe.compiler, *FLAGS, *DEFINES, *includes(recipe)]

    def compile_one(unit: pathlib.Path) -> str:
        made = folder / f"{unit.stem}.o"
        call([*words, "-c", str(unit), "-o", str(made)], log)
        progress.step()
        return str(made)

    jobs = len(os.sched_getaffinity(0))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        made = list(pool.map(compile_one, recipe.units))
    program = folder / "lockstep-eager"
    call([*recipe.compiler, "-pie", "-s", *made, *libraries(recipe), "-o", str(program)], log)
    progress.step()
    with (folder / "schemas.json").open("wb") as schemas:
        subprocess.run([program, "schemas"], stdout=schemas, stderr=log, check=True)
    progress.step()
    progress.end()
    for file in made:
        pathlib.Path(file).unlink()


def errors_of(text: str) -> str:
    """The lines of a compiler's log that say what is wrong, else its last ones."""
    lines = text.splitlines()
    wrong = [line for line in lines if "error:" in line or "undefined reference" in line]
    return "\n".join("  " + line[:300] for line in (wrong or lines)[-8:])


def build(recipe: Recipe) -> None:
    """Builds the worker beside where it belongs and moves it there whole. Raises Refusal."""
    facts = recipe.facts
    say(
        f"building the eager worker for torch {facts['version']} with {recipe.compiler[0]}, once "
        "(about a minute)"
    )
    log_file, began = places.log_file(f"eager-{recipe.key}.log"), time.monotonic()
    for left in recipe.folder.parent.glob(".building-*"):  # by whoever was ended while building
        shutil.rmtree(left, ignore_errors=True)
    folder = pathlib.Path(tempfile.mkdtemp(dir=recipe.folder.parent, prefix=".building-"))
    try:
        with log_file.open("w", encoding="utf-8") as log:
            compile_into(folder, recipe, log)
        folder.chmod(0o755)
        places.note_took(folder, began)
        shutil.rmtree(recipe.folder, ignore_errors=True)
        folder.rename(recipe.folder)
    except (OSError, subprocess.CalledProcessError) as error:
        told = log_file.read_text("utf-8", "replace") if log_file.exists() else str(error)
        raise Refusal(
            f"the eager worker could not be built for torch {facts['version']} in "
            f"{facts['folder']}:\n{errors_of(told)}\nThe whole log: {log_file}"
        ) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    say(f"  done in {places.since(began)}")


def provide(recipe: Recipe) -> pathlib.Path:
    """The worker's executable, built if it is not there. Raises Refusal, NoTorch."""
    if not (recipe.folder / "schemas.json").exists():
        torch_facts.check(recipe.facts)
        with places.locked(places.cache() / "eager", "builds the eager worker"):
            if not (recipe.folder / "schemas.json").exists():
                build(recipe)
    return recipe.program
