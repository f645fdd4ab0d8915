"""Environments with a torch: what a word means, what it would take to set it up, and setting it up.

    environments.py find [--index-url URL] WORD…      says it, and sets up nothing
    environments.py provide [--index-url URL] WORD…   sets up what is missing, too
    environments.py wheels [--index-url URL] OLD NEW  the versions that pip's index has between two

A word is a version (2.13, v2.13.0, 2.16.0rc1, nightly), an interpreter, or the folder of an
environment. JSON on standard output. Exit status 2: a word means nothing, or pip's index has no
such torch; 3: something failed. The runner calls this file for `gate` and `bisect`."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time

if not __package__:
    sys.path[0] = str(pathlib.Path(__file__).resolve().parents[1])

from lockstep import eager, places, torch_facts
from lockstep.places import Refusal, say

VENV_REMEDY = "On Debian, venv is a package of its own: apt-get install python3-venv"
VERSION = re.compile(
    r"v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?((?:a|b|rc)\d{1,4}|\.dev\d{1,8})?(\+[a-z0-9.]{1,32})?"
)
NIGHTLY = "nightly"
#: The Python that runs this.
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
#: Where nightlies are for machines without a GPU; those for a GPU are in a folder for each CUDA.
NIGHTLIES = "https://download.pytorch.org/whl/nightly/cpu"
#: What a machine has that can compute with something else than its CPU.
ACCELERATORS = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
EXPECTED = (
    "expected a version (2.13, 2.16.0rc1, nightly), an interpreter, the folder of an environment, "
    "or a run"
)


class Impossible(Exception):
    """What a word cannot mean, in words for people."""


# --- steps ---


def step(what: str, log_name: str, command: list, **more) -> bool:
    """Runs a command quietly, says how long it took or what it printed last; whether it
    succeeded."""
    log, began = places.log_file(log_name), time.monotonic()
    say(f"{what} (tail -f {log})")
    with log.open("w", encoding="utf-8") as file:
        try:
            status = subprocess.run(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                check=False,
                **more,
            ).returncode
        except OSError as error:
            file.write(f"{error}\n")
            status = 127
    if status == 0:
        say(f"  done in {places.since(began)} ({log.name})")
        return True
    say(f"  FAILED after {places.since(began)}, exit status {status}. From {log}:")
    lines = log.read_text("utf-8", "replace").splitlines()
    first = next((at for at, line in enumerate(lines) if line.startswith("FAILED:")), None)
    shown = lines[-25:] if first is None else lines[first : first + 60]
    print(*shown, sep="\n", file=sys.stderr)
    return False


def pip_install(python, what: str, log: str, wanted: list[str]) -> None:
    """Raises Refusal."""
    command = [python, "-m", "pip", "install", "--no-input", "--progress-bar", "off", *wanted]
    if step(f"installing {what} with pip", log, command):
        return
    text = places.log_file(log).read_text("utf-8", "replace")
    if "No matching distribution found for torch" in text:
        say(f"pip knows no {what} for this Python and machine, or reached no index.")
    raise Refusal(
        f"The whole log: {places.log_file(log)}\nWhat can help:\n"
        "  the network, or pip's own settings (PIP_INDEX_URL, PIP_FIND_LINKS, PIP_PROXY), then the "
        "same command again;\n"
        "  LOCKSTEP_TORCH=VERSION, for a release that is there for this Python;\n"
        "  LOCKSTEP_PYTHON=/path/to/python, an interpreter that has torch already."
    )


def is_ready(stamp: pathlib.Path, wanted: list[str]) -> bool:
    """Whether the stamp of a finished set-up names what is wanted now."""
    return stamp.exists() and stamp.read_text("utf-8").split() == wanted


def mark_ready(stamp: pathlib.Path, wanted: list[str]) -> None:
    """Written last: what is wanted is there."""
    stamp.write_text(" ".join(wanted) + "\n", "utf-8")


def make_venv(folder: pathlib.Path, what: str) -> pathlib.Path:
    """A new environment with nothing in it; its interpreter. Raises Refusal."""
    (folder / ".ready").unlink(missing_ok=True)
    command = [sys.executable, "-m", "venv", "--clear", folder]
    log = f"venv-{folder.name}.log"  # of its own: two may be made at once
    if not step(f"making a place for {what} in {folder}", log, command):
        raise Refusal(VENV_REMEDY)
    return folder / "bin" / "python"


def provide_venv(
    folder: pathlib.Path, what: str, wanted: list[str], log: str, index: tuple[str, ...] = ()
) -> pathlib.Path:
    """The bin/ of an environment of its own that has what is wanted, made where it is not there;
    what it took is noted. Raises Refusal."""
    stamp = folder / ".ready"
    if not is_ready(stamp, wanted):
        began = time.monotonic()
        pip_install(make_venv(folder, what), what, log, [*wanted, *index])
        places.note_took(folder, began)
        mark_ready(stamp, wanted)
    return folder / "bin"


# --- what words mean ---


def normal(word: str) -> str | None:
    """A version as its environments are called: 2.13 and v2.13.0 are 2.13.0; None: it is none."""
    found = VERSION.fullmatch(word.strip().lower())
    if found is None:
        return None
    major, minor, patch, pre, local = found.groups()
    return f"{int(major)}.{int(minor)}.{int(patch or 0)}{pre or ''}{local or ''}"


def has_accelerator() -> bool:
    return any(os.path.exists(each) for each in ACCELERATORS)


def folder_of(version: str) -> pathlib.Path:
    """Where the environment of a version is, for the Python that runs this."""
    return places.cache() / "venv" / f"torch-{version}-py{PYTHON}"


def has_environment(version: str) -> bool:
    folder = folder_of(version)
    ready = is_ready(folder / ".ready", [f"torch=={version}"])
    return ready and (folder / "bin/python").exists()


class Torch:
    """What a word means."""

    def __init__(self, word: str, version: str, python: pathlib.Path, note: str = ""):
        self.word, self.version, self.python, self.note = word, version, python, note
        #: What pip is asked for; empty: the interpreter is somebody's.
        self.wanted: list[str] = []
        self.index: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """A word for a folder, which no other torch has."""
        if self.wanted:
            return self.version
        words = re.sub(r"[^A-Za-z0-9._+]+", "-", f"{self.python}-{self.version}").lstrip("-.")
        return words[-120:].lstrip("-.")

    def is_ready(self) -> bool:
        return not self.wanted or has_environment(self.version)

    def recipe(self) -> eager.Recipe:
        """That of its eager worker. Raises NoTorch, Refusal."""
        return eager.Recipe(torch_facts.facts_of(str(self.python)), eager.compiler())

    def told(self) -> dict:
        """What the runner is told; `seconds` and `bytes` are what it will take, null where nobody
        knows."""
        parts = [] if self.is_ready() else [places.took_before("venv")]
        built = self.is_ready() and (self.recipe().folder / "schemas.json").exists()
        parts += [] if built else [places.took_before("eager")]
        known = [each for each in parts if each is not None]
        whole = len(known) == len(parts)
        return {
            "word": self.word,
            "name": self.name,
            "version": self.version,
            "python": str(self.python),
            "eager": str(self.recipe().program) if self.is_ready() else "",
            "provider": str(places.PACKAGE / "provide.py"),
            "ready": built,
            "seconds": sum(each["seconds"] for each in known) if whole else None,
            "bytes": sum(each["bytes"] for each in known) if whole else None,
            "note": self.note,
        }


def of_interpreter(word: str, python: str) -> Torch:
    try:
        facts = torch_facts.facts_of(os.path.abspath(python))
        torch_facts.check(facts)
    except torch_facts.NoTorch as no:
        raise Impossible(f"{word}: {no}") from None
    return Torch(word, facts["version"], pathlib.Path(os.path.abspath(python)))


def pip_python() -> str:
    """An interpreter that has a pip which can be asked what it would install."""
    asked = subprocess.run(
        [sys.executable, "-m", "pip", "--version"], capture_output=True, check=False
    )
    if asked.returncode == 0:
        return sys.executable
    folder = places.cache() / "venv" / f"pip-py{PYTHON}"
    return str(provide_venv(folder, "pip", ["pip"], "pip.log") / "python")


def found_by_pip(wanted: list[str], index: tuple[str, ...]) -> tuple[str | None, str]:
    """The version that pip would install, or None, and what it said. Installs nothing."""
    quiet = "--quiet --no-input --disable-pip-version-check --no-deps --ignore-installed".split()
    command = [pip_python(), "-m", "pip", "install", "--dry-run", *quiet, "--report", "-"]
    asked = subprocess.run(
        [*command, *wanted, *index], capture_output=True, text=True, check=False, timeout=600
    )
    if asked.returncode != 0:
        return None, asked.stderr
    try:
        installs = json.loads(asked.stdout[asked.stdout.index("{") :])["install"]
        version = normal(str(installs[0]["metadata"]["version"]))
    except (ValueError, KeyError, IndexError, TypeError):
        version = None
    if version is None:
        raise Refusal(f"pip says what cannot be read: {asked.stdout[:200]!r}. Is it pip 22.2?")
    return version, asked.stderr


def why_not(word: str, said: str) -> Exception:
    """What to say where pip finds no such torch."""
    if "No matching distribution found" not in said and "from versions" not in said:
        lines = said.strip().splitlines()[-3:]
        return Refusal("pip cannot be asked:\n" + "\n".join(f"  {line[:300]}" for line in lines))
    versions = re.search(r"from versions: ([^)]*)\)", said)
    has = versions[1].split(", ") if versions and versions[1] != "none" else []
    return Impossible(
        f"pip's index has no torch {word} for Python {PYTHON} on this machine; "
        + (f"it has {', '.join(has[-12:])}" if has else "it has none that this pip can see")
    )


def asked_index(url: str | None) -> tuple[str, ...]:
    return ("--index-url", url) if url else ()


def of_nightly(word: str, url: str | None) -> Torch:
    """The newest nightly that the index has."""
    if url is None and has_accelerator():
        raise Impossible(
            f"found {word} on a machine with a GPU, expected --index-url, which says for what: "
            + NIGHTLIES.replace("/cpu", "/cu130")
        )
    index = asked_index(url or NIGHTLIES)
    version, said = found_by_pip(["--pre", "torch"], index)
    if version is None:
        raise why_not(word, said)
    torch = Torch(word, version, folder_of(version) / "bin" / "python")
    torch.note = f"{word}: torch {version}"
    torch.wanted, torch.index = [f"torch=={version}"], index
    return torch


def of_version(word: str, version: str, url: str | None) -> Torch:
    """A release: what is set up already, else what pip's index has; for CPUs alone where the
    machine has nothing else."""
    numbers = tuple(int(each) for each in version.split(".")[:2])
    if numbers < torch_facts.OLDEST_TORCH:
        oldest = ".".join(map(str, torch_facts.OLDEST_TORCH))
        raise Impossible(f"found torch {word}, expected {oldest} or newer")
    for_cpu = "+" not in version and not has_accelerator()
    candidates = [f"{version}+cpu", version] if for_cpu else [version]
    chosen, note, said = next(filter(has_environment, candidates), None), "", ""
    for each in candidates if chosen is None else []:
        found, said = found_by_pip([f"torch=={each}"], asked_index(url))
        if found is not None:
            chosen = each
            break
    if chosen is None:
        raise why_not(word, said)
    if for_cpu and not has_environment(chosen):
        kind = (
            "the CPU wheel" if chosen != version else "no CPU wheel in pip's index: the plain one"
        )
        note = f"{word}: this machine has no GPU; {kind}"
    torch = Torch(word, chosen, folder_of(chosen) / "bin" / "python", note)
    torch.wanted, torch.index = [f"torch=={chosen}"], asked_index(url)
    return torch


def meant(word: str, url: str | None = None) -> Torch:
    """Raises Impossible, Refusal."""
    path = pathlib.Path(word)
    if path.is_dir():
        python = path / "bin" / "python"
        if not python.exists():
            raise Impossible(f"{word} is a folder without bin/python and without a run; {EXPECTED}")
        return of_interpreter(word, str(python))
    if path.is_file():
        if not os.access(path, os.X_OK):
            raise Impossible(f"{word} cannot be executed; {EXPECTED}")
        return of_interpreter(word, word)
    if word.lower() == NIGHTLY:
        return of_nightly(word, url)
    version = normal(word)
    if version is not None:
        return of_version(word, version, url)
    program = None if "/" in word or word.startswith("-") else shutil.which(word)
    if program is None:
        raise Impossible(f"found {shlex.quote(word[:200])}, {EXPECTED}")
    return of_interpreter(word, program)


# --- setting up ---


def provide(torch: Torch) -> None:
    """Makes the environment and its eager worker where they are missing. Raises Refusal."""
    if torch.wanted and not torch.is_ready():
        with places.locked(places.cache(), "sets up an environment"):
            log = f"torch-{torch.version}.log"
            what = f"torch {torch.version}"
            provide_venv(folder_of(torch.version), what, torch.wanted, log, torch.index)
    eager.provide(torch.recipe())


def order_of(version: str) -> tuple:
    """By which versions are sorted: 2.14.0.dev…, 2.14.0rc1, 2.14.0."""
    found = VERSION.fullmatch(version)
    assert found is not None, version
    major, minor, patch, pre, local = found.groups()
    kind = "z" if pre is None else pre.lstrip(".")
    number = int(re.sub(r"\D", "", kind) or 0)
    rank = 0 if kind.startswith("dev") else 2 if pre is None else 1
    return int(major), int(minor), int(patch or 0), rank, kind[:1], number, local or ""


def wheels(old: str, new: str, url: str | None) -> list[str]:
    """The versions between two, both included, that pip's index has for this Python, the oldest
    first. Raises Impossible, Refusal."""
    ends = [normal(each) for each in (old, new)]
    if None in ends:
        raise Impossible(f"found {old} and {new}, expected two versions of torch, such as 2.13.0")
    command = [pip_python(), "-m", "pip", "index", "versions", "torch", "--pre"]
    asked = subprocess.run(
        [*command, "--disable-pip-version-check", *asked_index(url)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    found = re.search(r"Available versions: (.*)", asked.stdout)
    if asked.returncode != 0 or found is None:
        raise why_not(f"{old} to {new}", asked.stderr)
    versions = {each for each in map(normal, found[1].split(", ")) if each is not None}
    first, last = (order_of(str(each)) for each in ends)
    if first > last:
        first, last = last, first
    between = [each for each in versions if first[:-1] <= order_of(each)[:-1] <= last[:-1]]
    return sorted(between, key=order_of)


def main() -> int:
    parser = argparse.ArgumentParser(prog="environments.py")
    parser.add_argument("what", choices=["find", "provide", "wheels"])
    parser.add_argument("--index-url")
    parser.add_argument("words", nargs="+")
    asked = parser.parse_args()
    try:
        if asked.what == "wheels":
            if len(asked.words) != 2:
                raise Impossible(f"found {len(asked.words)} words, expected two versions")
            old, new = asked.words
            print(json.dumps(wheels(old, new, asked.index_url)))
            return 0
        torches = [meant(word, asked.index_url) for word in asked.words]
        for each in torches if asked.what == "provide" else []:
            provide(each)
        print(json.dumps([each.told() for each in torches]))
        return 0
    except Impossible as no:
        say(str(no))
        return 2
    except (Refusal, torch_facts.NoTorch, subprocess.TimeoutExpired) as no:
        say(str(no))
        return 3


if __name__ == "__main__":
    sys.exit(main())
