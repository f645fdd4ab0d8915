"""Sets up a clone: Debian packages, a Python with torch, the builds, what the tests need.

    set_up.py run ARGUMENT…      all that a run takes; then becomes `lockstep ARGUMENT…`
    set_up.py provide WHAT…      packages, test-packages, torch, tests, dask, openvino, eager,
                                 build:PRESET, one after the other (Dask beside what is named after
                                 it); prints assignments for a shell: LOCKSTEP_PYTHON, BUILD …

Stamps are written last, so that an interrupted set-up is never taken for a finished one. Exit
status 3: it failed, and stderr says what to do. What belongs to a torch, and where the cache is,
the package `lockstep` knows (runner/python/lockstep): an installed one does without this file."""

import sys

if sys.version_info < (3, 10):
    sys.exit(
        "python3 is %d.%d, but 3.10 or newer is needed: put one first on PATH."
        % sys.version_info[:2]
    )

import concurrent.futures
import hashlib
import os
import pathlib
import shlex
import shutil
import subprocess

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "runner" / "python"))

from lockstep import eager, environments, places, torch_facts
from lockstep.environments import is_ready, mark_ready, pip_install, provide_venv, step
from lockstep.places import Refusal, say

ROOT = pathlib.Path(__file__).resolve().parents[1]
CI = ROOT / "ci"
#: What the runner is built from; folders count, because their times change when files come and go.
BUILT_FROM = (
    "CMakeLists.txt",
    "CMakePresets.json",
    "ci/cmake",
    "ci/bench/judge",
    "runner",
    "reports",
)
#: What can be provided; and builds.
PARTS = ("packages", "test-packages", "torch", "tests", "dask", "openvino", "eager")
#: Presets whose build links no torch, so that one serves all.
WITHOUT_TORCH = ("release", "core", "asan", "fuzz")


def table(name: str) -> list[list[str]]:
    """The lines of a list in ci/, in words, without comments."""
    lines = (CI / name).read_text("utf-8").splitlines()
    return [line.split() for line in lines if line.strip() and not line.startswith("#")]


def requirements(name: str) -> list[str]:
    """What a list asks of pip or npm; LOCKSTEP_TORCH chooses another torch."""
    given = os.environ.get("LOCKSTEP_TORCH")
    chosen = environments.normal(given) if given else None
    if given and chosen is None:
        raise Refusal(f"found LOCKSTEP_TORCH={given}, expected a version of torch, such as 2.13.0")
    asked = [words[0] for words in table(name)]
    return [f"torch=={chosen}" if chosen and each.startswith("torch==") else each for each in asked]


# --- Debian's packages ---


def prefixes() -> list[pathlib.Path]:
    own = os.environ.get("LOCKSTEP_PREFIX")
    return [pathlib.Path(each) for each in (own, "/usr", "/usr/local") if each]


def has(probe: str) -> bool:
    """Whether a command, a header or something of Python's or of clang's is there."""
    if probe.startswith("python3:"):
        if os.environ.get("LOCKSTEP_PYTHON"):
            return True  # a user's own needs no venv, and no Debian package would give it Python.h
        if probe.endswith(":ensurepip"):
            code = "import ensurepip, venv"
        else:
            code = "import os, sysconfig as s; os.stat(s.get_paths()['include'] + '/Python.h')"
        return (
            subprocess.run(["python3", "-c", code], capture_output=True, check=False).returncode
            == 0
        )
    if probe.startswith("clang:"):
        if shutil.which("clang++") is None:
            return False
        asked = ["clang++", "-print-resource-dir"]
        own = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
        return (pathlib.Path(own) / "include" / probe.removeprefix("clang:")).is_file()
    if probe.endswith((".h", ".hpp")):
        return any((prefix / "include" / probe).is_file() for prefix in prefixes())
    return shutil.which(probe) is not None


def provide_packages(*names: str) -> None:
    """Installs what is missing (root on Debian), or says how to. Raises Refusal."""
    missing = [words for name in names for words in table(name) if not has(words[2])]
    if not missing:
        return
    packages = [words[0] for words in missing]
    prefix = "to a prefix that has them in include/ and lib/."
    found = f"missing: {' '.join(words[2] for words in missing)}."
    if shutil.which("apt-get") is None:
        raise Refusal(
            f"{found} Install them (ci/packages.txt has their Debian names), or set "
            f"LOCKSTEP_PREFIX {prefix}"
        )
    if os.geteuid() != 0:
        raise Refusal(
            f"{found} This brings them:\n  sudo apt-get install -y {' '.join(packages)}\n"
            "They may also lie in include/ and lib/ of a prefix of your own: set LOCKSTEP_PREFIX."
        )
    install = "apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends " + " ".join(
        packages
    )
    # The lists of a fresh container are empty, and those of an old one name files that are gone.
    command = ["sh", "-c", f"{install} || {{ apt-get update && {install}; }}"]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    what = f"installing Debian packages: {' '.join(packages)}"
    if not step(what, "apt.log", command, env=environment):
        raise Refusal(f"Is there a network? Otherwise set LOCKSTEP_PREFIX {prefix}")


# --- Pythons ---


def own_venv() -> pathlib.Path | None:
    """The finished environment that has the wanted torch and what requirements.txt asks for now."""
    wanted = requirements("requirements.txt")
    for ready in sorted((places.cache() / "venv").glob(f"torch-{wanted_torch()}-py*/.ready")):
        if is_ready(ready, wanted) and (ready.parent / "bin/python").exists():
            return ready.parent
    return None


def wanted_torch() -> str:
    (torch,) = (each for each in requirements("requirements.txt") if each.startswith("torch=="))
    return torch.removeprefix("torch==")


def users_python() -> str | None:
    """LOCKSTEP_PYTHON, as a path; None where it is not set, or is of an environment of ours."""
    given = os.environ.get("LOCKSTEP_PYTHON")
    if not given:
        return None
    path = shutil.which(given)
    if path is None:
        raise Refusal(f"LOCKSTEP_PYTHON={given} is not a program.")
    path = os.path.abspath(path)
    ours = str(places.cache() / "venv") + "/"
    if not path.startswith(ours):
        return path
    # We are called by something that we set up: that torch, and no interpreter of the user's.
    name = path.removeprefix(ours).split("/")[0]
    torch = name.removeprefix("torch-").rsplit("-py", 1)[0]
    if torch != wanted_torch():
        os.environ["LOCKSTEP_TORCH"] = torch
    del os.environ["LOCKSTEP_PYTHON"]
    return None


def facts_of(python: str) -> dict:
    """torch_facts of another interpreter. Raises Refusal."""
    try:
        found = torch_facts.facts_of(python)
    except torch_facts.NoTorch as no:
        raise Refusal(
            f"{no}\nGive LOCKSTEP_PYTHON an interpreter that has torch, or unset it to let "
            "ci/lockstep install torch."
        ) from no
    wanted = (environments.normal(os.environ.get("LOCKSTEP_TORCH", "")) or "").split("+")[0]
    if wanted and wanted != found["version"].split("+")[0]:
        raise Refusal(
            f"LOCKSTEP_TORCH asks for {wanted}, but LOCKSTEP_PYTHON={python} has "
            f"{found['version']}: unset one of them."
        )
    if not found["Python.h"]:
        say(f"warning: {python} has no Python.h, which Inductor's C++ wrapper includes.")
    return found


def provide_torch() -> str:
    """An interpreter that has torch: the user's, or one in an environment of ours."""
    theirs = users_python()
    if theirs:
        return theirs
    folder = own_venv()
    if folder is None:
        torch = wanted_torch()
        folder = environments.folder_of(torch)
        wanted = requirements("requirements.txt")
        provide_venv(folder, f"torch {torch}", wanted, f"torch-{torch}.log")
    facts_of(str(folder / "bin" / "python"))
    return str(folder / "bin" / "python")


# --- what tests need ---


def provide_tests(python: str) -> None:
    """What the Python tests import; an example's packages are named by the example."""
    npm = requirements("packages-npm.txt")
    wanted = requirements("../examples/onnxruntime/requirements.txt")
    wanted += requirements("requirements-test.txt")
    if users_python():
        code = "import importlib.metadata as m, sys; m.version(sys.argv[1])"
        for name in (each.split("==")[0] for each in wanted):
            asked = subprocess.run([python, "-c", code, name], capture_output=True, check=False)
            if asked.returncode != 0:
                say(
                    f"warning: {python} lacks {name}; tests that import it will fail or be skipped."
                )
        return
    venv = pathlib.Path(python).parents[1]
    stamp = venv / ".ready-test"
    if is_ready(stamp, wanted + npm):
        return
    pip_install(python, "the test packages", "pip-test.log", wanted)
    command = [venv / "bin/npm", "install", "--prefix", venv / "npm", "--no-audit", "--no-fund"]
    path = f"{venv / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    what = f"installing {' '.join(npm)} with npm"
    if not step(what, "npm.log", [*command, "--no-save", *npm], env=environment):
        say(f"warning: tests that need {' '.join(npm)} will be skipped.")
    mark_ready(stamp, wanted + npm)


def provide_dask() -> str:
    """An interpreter that has Dask: the user's, or one in an environment of its own."""
    given = os.environ.get("LOCKSTEP_DASK")
    if given:
        return given
    wanted = requirements("requirements-dask.txt")
    return str(provide_venv(places.cache() / "dask", "Dask", wanted, "pip-dask.log") / "python")


def provide_openvino(python: str) -> str:
    """A folder for PYTHONPATH that has the packages of examples/openvino: beside torch's
    environment, which stays as it is, and one for each Python, since they have modules in C++."""
    given = os.environ.get("LOCKSTEP_OPENVINO")
    if given:
        return given
    wanted = requirements("../examples/openvino/requirements.txt")
    folder = places.cache() / "openvino" / f"py{facts_of(python)['python']}"
    stamp = folder / ".ready"
    if not is_ready(stamp, wanted):
        shutil.rmtree(folder, ignore_errors=True)
        # Without what they depend on: NumPy is where torch is, and no second one comes before it.
        options = ["--no-deps", "--target", str(folder)]
        pip_install(python, " ".join(wanted), "pip-openvino.log", [*options, *wanted])
        mark_ready(stamp, wanted)
    return str(folder)


# --- builds ---


class Build:
    """A build of a preset: of the runner alone, or with what links one torch."""

    def __init__(self, preset: str, python: str | None):
        self.preset, self.python = preset, python
        name = preset
        if preset not in WITHOUT_TORCH:
            assert python, "a build with torch takes an interpreter that has it"
            facts = facts_of(python)
            # Interpreters that have the same torch, such as environments over one, share a build.
            folder = hashlib.sha256(facts["folder"].encode()).hexdigest()[:8]
            name = f"{preset}-torch-{facts['version']}-{folder}"
        self.folder = places.cache() / "build" / name
        chosen = [
            os.environ.get(each, "") for each in ("LOCKSTEP_PREFIX", "CXX", "CXXFLAGS", "LDFLAGS")
        ]
        self.wanted = " ".join([str(ROOT), str(places.cache()), name, *chosen]) + "\n"

    def is_current(self) -> bool:
        stamp = self.folder / ".built"
        if not (stamp.exists() and stamp.read_text("utf-8") == self.wanted):
            return False
        find = ["find", *BUILT_FROM, "-name", "__pycache__", "-prune", "-o"]
        find += [*"! -name *.py ! -name *.md -newer".split(), str(stamp), "-print", "-quit"]
        newer = subprocess.run(find, cwd=ROOT, capture_output=True, check=False)
        return newer.returncode == 0 and not newer.stdout

    def make(self) -> None:
        """Configures and builds what changed. Raises Refusal."""
        if self.is_current():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        configured, built = self.folder / ".configured", self.folder / ".built"
        building, fresh = self.folder / ".building", []
        if not configured.exists() or configured.read_text("utf-8") != self.wanted:
            configured.unlink(missing_ok=True)
            built.unlink(missing_ok=True)
            fresh = ["--fresh"]
        # As old as the start of the build, so that what is edited meanwhile is newer.
        building.write_text(self.wanted, "utf-8")
        name = self.folder.name
        configure = ["cmake", "-S", ROOT, "--preset", self.preset, "-B", self.folder, *fresh]
        configure += [f"-DLOCKSTEP_PYTHON={self.python or ''}"]
        configure += [f"-DLOCKSTEP_PREFIX={os.environ.get('LOCKSTEP_PREFIX', '')}"]
        if not step(f"configuring {name}", f"configure-{name}.log", configure):
            raise Refusal("CMake 3.25 and g++ 11 or newer are needed.")
        configured.write_text(self.wanted, "utf-8")
        if not step(f"building {name}", f"build-{name}.log", ["cmake", "--build", self.folder]):
            raise Refusal(
                "If the compiler was killed for want of memory: CMAKE_BUILD_PARALLEL_LEVEL=1 and "
                "the same command again."
            )
        building.rename(built)


def how_called() -> str:
    """What to type to call ci/lockstep from here with the same torch."""
    words = [
        f"{name}={shlex.quote(os.environ[name])}"
        for name in ("LOCKSTEP_PYTHON", "LOCKSTEP_TORCH")
        if os.environ.get(name)
    ]
    here = os.getcwd() == str(ROOT)
    return " ".join([*words, "ci/lockstep" if here else shlex.quote(str(CI / "lockstep"))])


def run(arguments: list[str]) -> None:
    """Becomes the built `lockstep`, through the package's own way in."""
    preset = os.environ.get("LOCKSTEP_PRESET", "release")
    users_python()  # settles what LOCKSTEP_PYTHON and LOCKSTEP_TORCH mean
    command = how_called()
    venv = None if os.environ.get("LOCKSTEP_PYTHON") else own_venv()
    python = users_python() or (str(venv / "bin" / "python") if venv else None)
    build = Build(preset, python) if python or preset in WITHOUT_TORCH else None
    if python is None or build is None or not build.is_current():
        with places.locked(places.cache(), "sets up this clone"):
            provide_packages("packages.txt")
            python = provide_torch()
            build = Build(preset, python)
            build.make()
    os.environ.update(
        LOCKSTEP_RUNNER=str(build.folder / "bin" / "lockstep"), LOCKSTEP_COMMAND=command
    )
    os.environ.update(LOCKSTEP_HOME=str(ROOT), LOCKSTEP_CACHE=str(places.cache()))
    beside = build.folder / "bin" / "lockstep-eager"
    if preset not in WITHOUT_TORCH:
        os.environ.setdefault("LOCKSTEP_EAGER", str(beside))
    way_in = ROOT / "runner" / "python" / "lockstep" / "__main__.py"
    os.execv(python, [python, str(way_in), *arguments])


def provide(what: list[str]) -> dict[str, str]:
    """Provides parts one after the other, and Dask, which takes as long as torch and needs nothing
    of it, beside those that are named after it; the variables that a shell goes on with."""
    for each in what:
        if each not in PARTS and not each.startswith("build:"):
            raise Refusal(f"found {each}, expected {', '.join(PARTS)}, build:PRESET")
    python = users_python()
    told = {"LOCKSTEP_HOME": str(ROOT), "LOCKSTEP_CACHE": str(places.cache())}
    told["OURS"] = "no" if python else "yes"
    with (
        places.locked(places.cache(), "sets up this clone"),
        concurrent.futures.ThreadPoolExecutor(1) as beside,
    ):
        dask = None
        for each in what:
            if each == "packages":
                provide_packages("packages.txt")
            elif each == "test-packages":
                provide_packages("packages.txt", "packages-test.txt")
            elif each == "dask":
                dask = beside.submit(provide_dask)
            else:
                python = python or provide_torch()
                told |= provide_with_torch(each, python)
        if dask:
            told["LOCKSTEP_DASK"] = dask.result()
    if python:
        told["LOCKSTEP_PYTHON"] = python
    told["LOCKSTEP_COMMAND"] = how_called()
    return told


def provide_with_torch(part: str, python: str) -> dict[str, str]:
    """Provides a part that belongs to an interpreter's torch; the variables that tell of it."""
    if part == "tests":
        provide_tests(python)
    elif part == "openvino":
        return {"LOCKSTEP_OPENVINO": provide_openvino(python)}
    elif part == "eager":
        recipe = eager.Recipe(facts_of(python), eager.compiler())
        return {"LOCKSTEP_EAGER": str(eager.provide(recipe))}
    elif part.startswith("build:"):
        build = Build(part.removeprefix("build:"), python)
        build.make()
        return {"BUILD": str(build.folder)}
    return {}


def main() -> int:
    word, arguments = (sys.argv[1], sys.argv[2:]) if sys.argv[1:] else ("", [])
    try:
        if word == "run":
            run(arguments)
        elif word == "provide":
            for name, value in provide(arguments).items():
                print(f"{name}={shlex.quote(value)}")
            return 0
        else:
            raise Refusal(
                "found no word, expected `run` or `provide`; the head of set_up.py has more"
            )
    except (Refusal, torch_facts.NoTorch) as no:
        say(str(no))
    return 3


if __name__ == "__main__":
    sys.exit(main())
