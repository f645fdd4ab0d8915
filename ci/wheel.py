"""Builds the wheel and the sdist that pip installs, and tests them: ci/wheel [STEP…]

    build   the sdist, and from it the wheel, named for the systems that it runs on
    pack    the same around the runner of a developers' build, whose bin/ is in LOCKSTEP_BINARY_DIR:
            for trials of everything but the compiler's flags
    check   what is in them, and what the index and auditwheel say of them
    venv    installs the wheel beside the torch of ci/lockstep, and gets one verdict by it
    roots   minimal Debian 12 and 13, without root and network, site-packages read-only: smoke,
    explain, doctor; without g++ the error; two torches side by side; uninstall (root; long)

Without a word: build, check, venv. What is built lies in wheel/dist of the cache. The last line
says what passed; exit status 1 where something did not."""

import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import set_up

from lockstep import places
from lockstep.places import Refusal, say

ROOT = set_up.ROOT
HOME = places.cache() / "wheel"
DIST = HOME / "dist"
#: The oldest glibc that the wheel's runner needs, with the compiler of Debian 12.
PLATFORM = f"manylinux_2_34_{os.uname().machine}"
#: The most that the wheel may weigh.
MOST_BYTES = 15 * 2**20
SEED = "185337-half-round-trip"


def run(*words, **more) -> str:
    """Runs a command to its end; what it printed. Raises Refusal with it if it fails."""
    more.setdefault("cwd", HOME)
    done = subprocess.run(
        [str(word) for word in words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        **more,
    )
    if done.returncode != 0:
        called = " ".join(str(word) for word in words)[:300]
        raise Refusal(f"exit status {done.returncode} of {called}:\n{done.stdout[-4000:]}")
    return done.stdout


def expect(holds: bool, what: str) -> None:
    if not holds:
        raise Refusal(f"expected {what}")


def wheel() -> pathlib.Path:
    found = sorted(DIST.glob("*.whl"))
    expect(len(found) == 1, f"one wheel in {DIST}, found {len(found)}: `ci/wheel build` makes it")
    return found[0]


def tools() -> pathlib.Path:
    """The bin/ of an environment that has what requirements-wheel.txt names."""
    wanted = set_up.requirements("requirements-wheel.txt")
    return set_up.provide_venv(HOME / "tools", "the wheel's tools", wanted, "pip-wheel.log")


# --- build and check ---


def step_build() -> None:
    make_both("wheel")


def step_pack() -> None:
    build = pathlib.Path(os.environ.get("LOCKSTEP_BINARY_DIR", ""))
    with tempfile.TemporaryDirectory(dir=HOME) as raw:
        runner = pathlib.Path(raw) / "lockstep"
        run("strip", "-o", runner, build / "bin" / "lockstep")
        make_both("wheel around a runner", f"-Ccmake.define.LOCKSTEP_CARRIED={runner}")
    (source,) = DIST.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        carried = {name.partition("/")[2] for name in archive.getnames()}
    lacking = sorted(compiled_of(build) - carried)
    expect(not lacking, f"all that the runner is compiled from in the sdist, without {lacking}")


def compiled_of(build: pathlib.Path) -> set[str]:
    """The files of ours that the runner of a build was compiled from, by Ninja's account."""
    found, wanted = set(), False
    for line in run("ninja", "-C", build, "-t", "deps").splitlines():
        if line and not line.startswith(" "):
            wanted = bool(re.match(r"CMakeFiles/lockstep(_core|_commands|_elements)?\.dir/", line))
        elif wanted and line:
            file = pathlib.Path(os.path.normpath(build / line.strip()))
            if file.is_relative_to(ROOT) and not file.is_relative_to(build):
                found.add(str(file.relative_to(ROOT)))
    expect(len(found) > 100, f"the files of the runner in {build}, found {len(found)}")
    return found


def make_both(what: str, *settings: str) -> None:
    """The sdist and the wheel, in DIST; `settings` are those of the build backend."""
    set_up.provide_packages("packages.txt")
    bin_ = tools()
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=HOME) as raw:
        log = places.log_file("wheel.log")
        say(f"building the sdist, and the {what} from it (tail -f {log})")
        build = [bin_ / "python", "-m", "build", *settings, "--outdir", raw, ROOT]
        log.write_text(run(*build), "utf-8")
        (built,) = pathlib.Path(raw).glob("*.whl")
        path = f"{bin_}{os.pathsep}{os.environ['PATH']}"
        repair = [bin_ / "auditwheel", "repair", "--plat", PLATFORM, "--wheel-dir", DIST, built]
        run(*repair, env={**os.environ, "PATH": path})
        (source,) = pathlib.Path(raw).glob("*.tar.gz")
        shutil.copy(source, DIST)


def step_check() -> None:
    bin_, file = tools(), wheel()
    expect(
        file.stat().st_size <= MOST_BYTES,
        f"at most {MOST_BYTES} bytes, found {file.stat().st_size}",
    )
    expect(f"-py3-none-{PLATFORM}" in file.name, f"py3-none-{PLATFORM} in the name {file.name}")
    shown = run(bin_ / "auditwheel", "show", file)
    expect(PLATFORM in shown, f"{PLATFORM} of auditwheel, found {shown}")
    run(bin_ / "twine", "check", "--strict", *DIST.iterdir())
    # W004: a library that nobody imports has a name that nobody could.
    run(bin_ / "check-wheel-contents", "--ignore", "W004", file)
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
    tests = [name for name in names if re.search(r"(^|/)(test_|conftest|testdata)|_test\.", name)]
    expect(not tests, f"no tests in the wheel, found {tests[:5]}")
    for part in (
        "bin/lockstep",
        "cli.py",
        "suite/cases/bugs/" + SEED + ".json",
        "suite/expected/levels/smoke-1.json",
        "suite/runner/paths/inductor.json",
        "suite/runner/run/dask_bridge.py",
        "suite/runner/workers/compiled/lockstep_worker/__main__.py",
        "suite/runner/workers/eager/units/process.cpp",
        "prefix/lib/libmpfr.a",
    ):
        expect(f"lockstep/{part}" in names, f"lockstep/{part} in the wheel")


# --- beside a torch that is there ---


def made_environment(folder: pathlib.Path, torch_of: str) -> pathlib.Path:
    """An environment with the wheel, which finds the torch of another interpreter; its bin/."""
    run(sys.executable, "-m", "venv", "--clear", folder)
    code = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    (packages,) = (folder / "lib").glob("python*/site-packages")
    (packages / "torch.pth").write_text(run(torch_of, "-c", code), "utf-8")
    run(folder / "bin" / "python", "-m", "pip", "install", "--no-deps", "--no-index", wheel())
    return folder / "bin"


def step_venv() -> None:
    """One verdict, from another directory, with an empty cache."""
    torch_of = set_up.provide_torch()
    with tempfile.TemporaryDirectory(dir=HOME) as temporary:
        folder = pathlib.Path(temporary)
        bin_ = made_environment(folder / "venv", torch_of)
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("LOCKSTEP_")
        }
        environment |= {"XDG_CACHE_HOME": str(folder / "cache"), "HOME": str(folder)}
        here = {"cwd": folder, "env": environment}
        lockstep = bin_ / "lockstep"
        expect("lockstep doctor" in run(lockstep, **here), "a page for who types `lockstep` alone")
        run(lockstep, "list", "--count", "--level", "all", **here)
        began = time.monotonic()
        said = run(bin_ / "python", "-m", "lockstep", "run", f"bugs/{SEED}", **here)
        say(f"  the first verdicts {time.monotonic() - began:.0f} s after the installation")
        expect("0 failing" in said, f"a verdict of {SEED} that is known, found {said}")
        expect(str(folder / "cache" / "lockstep" / "runs") in said, "a run below the user's cache")
        (folder / ".lockstep" / "runs").mkdir(parents=True)
        said = run(lockstep, "run", f"bugs/{SEED}", **here)
        expect(
            str(folder / ".lockstep" / "runs") in said, "a run in .lockstep/runs, which there is"
        )
        run(bin_ / "python", "-m", "pip", "uninstall", "-y", "torch-lockstep")
        (packages,) = (folder / "venv" / "lib").glob("python*/site-packages")
        left = [each.name for each in packages.iterdir() if "lockstep" in each.name]
        expect(not left, f"nothing left in site-packages, found {left}")


# --- in roots of their own ---

#: What a minimal Debian gets on top; nothing else may bring a -dev package.
ROOT_PACKAGES = ("python3", "python3-venv", "g++")
#: What every kernel of Inductor includes on a CPU: torch.compile itself does not go without it.
HEADER_PACKAGE = "python3-dev"
SUITES = ("bookworm", "trixie")
#: What manylinux_2_17 and others were called.
OLD_TAGS = ("manylinux2014", "manylinux2010", "manylinux1")


def mirror() -> str:
    """Where this machine gets its Debian packages from."""
    sources = [pathlib.Path("/etc/apt/sources.list"), *pathlib.Path("/etc/apt").glob("*.d/*.list")]
    sources += pathlib.Path("/etc/apt").glob("*.d/*.sources")
    for file in sources:
        if file.is_file():
            found = re.search(r"^(?:URIs:|deb(?: \[.*?\])?) *(\S+)", file.read_text(), re.MULTILINE)
            if found:
                return found.group(1)
    raise Refusal("found no mirror of Debian in /etc/apt")


class Minimal:
    """A minimal Debian in a folder, in which commands are executed as a user without network."""

    def __init__(self, suite: str):
        self.suite, self.folder = suite, HOME / "roots" / suite

    def make(self) -> None:
        if any(self.folder.glob("usr/include/python3*")):  # of an earlier trial
            self.as_root("apt-get", "purge", "-y", "--auto-remove", HEADER_PACKAGE)
        if not (self.folder / ".ready").exists():
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            say(f"making a minimal Debian {self.suite}")
            run("debootstrap", "--variant=minbase", self.suite, self.folder, mirror())
            install = ["apt-get", "install", "-y", "--no-install-recommends", *ROOT_PACKAGES]
            self.as_root(*install)
            self.as_root("useradd", "--create-home", "user")
            (self.folder / ".ready").touch()
        listed = self.as_root("dpkg-query", "-W", "-f", "${Package}\n").split()
        other = {each for each in listed if each.endswith("-dev")}
        allowed = re.compile(
            r"(libc6|libc|libcrypt|libgcc-\d+|libstdc\+\+-\d+|libnsl|libtirpc|linux-libc)-dev"
        )
        wrong = sorted(each for each in other if not allowed.fullmatch(each))
        expect(not wrong, f"no development packages but g++'s own, found {wrong}")

    def as_root(self, *words: str) -> str:
        return run("chroot", self.folder, *words, env=self.environment())

    def environment(self) -> dict[str, str]:
        return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/home/user", "LANG": "C.UTF-8"}

    def as_user(self, command: str, status: int = 0, **more: str) -> str:
        """A command of a shell, in the user's home, without a network; what it printed."""
        set_ = "".join(f"{name}={value} " for name, value in more.items())
        script = f"cd /home/user && {set_}{command}"
        # A namespace of networks of its own has none.
        words = [
            "unshare",
            "--net",
            "chroot",
            "--userspec=user",
            str(self.folder),
            "sh",
            "-c",
            script,
        ]
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            env=self.environment(),
        )
        expect(
            done.returncode == status,
            f"exit status {status} of `{command}`, found {done.returncode}:\n{done.stdout[-4000:]}",
        )
        return done.stdout

    @contextlib.contextmanager
    def mounted(self):
        """With the kernel's file systems, which Python and torch read."""
        points = [("proc", "/proc"), ("sysfs", "/sys")]
        try:
            for kind, point in points:
                run("mount", "-t", kind, kind, str(self.folder) + point)
            run("mount", "--bind", "/dev", f"{self.folder}/dev")
            run("mount", "-t", "tmpfs", "-o", "size=2g,mode=1777", "shm", f"{self.folder}/dev/shm")
            yield
        finally:
            for point in ("/dev/shm", "/dev", "/sys", "/proc"):
                subprocess.run(
                    ["umount", "-l", str(self.folder) + point], check=False, capture_output=True
                )


def torch_wheels(version: str, python: str) -> pathlib.Path:
    """A folder with the wheels of a torch and all that it needs, for a Python."""
    folder = HOME / "torch" / f"{version}-{python}"
    if not (folder / ".ready").exists():
        folder.mkdir(parents=True, exist_ok=True)
        download = ["-m", "pip", "download", "--dest", folder, "--only-binary=:all:"]
        download += ["--python-version", python, f"torch=={version}"]
        # pip takes these names as they are, and not the older ones that each of them includes.
        for tag in (*(f"manylinux_2_{minor}" for minor in range(28, 4, -1)), *OLD_TAGS, "linux"):
            download += ["--platform", f"{tag}_{os.uname().machine}"]
        say(f"downloading torch {version} for Python {python}")
        run(sys.executable, *download)
        (folder / ".ready").touch()
    return folder


def install_torch(root: Minimal, name: str, version: str) -> None:
    """An environment of root's in /opt with a torch and the wheel, which the user may only read."""
    python = root.as_root(
        "python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"
    ).strip()
    wheels = root.folder / "opt" / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    shutil.copytree(torch_wheels(version, python), wheels)
    shutil.copy(wheel(), wheels)
    root.as_root("python3", "-m", "venv", "--clear", f"/opt/{name}")
    install = [f"/opt/{name}/bin/python", "-m", "pip", "install", "--no-index", "--find-links"]
    root.as_root(*install, "/opt/wheels", f"torch=={version}", "torch-lockstep")
    shutil.rmtree(wheels)


def try_root(suite: str) -> None:
    root = Minimal(suite)
    root.make()
    first, second = set_up.wanted_torch(), newer_torch()
    with root.mounted():
        shutil.rmtree(root.folder / "home/user/.cache", ignore_errors=True)
        install_torch(root, "first", first)
        lockstep = "/opt/first/bin/lockstep"
        # Without a compiler: what lacks, and how to get it.
        said = root.as_user(f"{lockstep} run bugs/{SEED}", status=3, PATH="/opt/none")
        expect("apt-get install g++" in said, f"the command that brings g++, found {said}")
        # Without what torch.compile itself includes, the same.
        said = root.as_user(f"{lockstep} run bugs/{SEED}", status=3)
        expect(HEADER_PACKAGE in said, f"the package that brings Python.h, found {said}")
        root.as_root("apt-get", "install", "-y", "--no-install-recommends", HEADER_PACKAGE)
        shutil.rmtree(root.folder / "home/user/.cache")
        began = time.monotonic()
        root.as_user(f"{lockstep} run bugs/{SEED}")
        say(f"  {suite}: the first seed after {time.monotonic() - began:.0f} s")
        said = root.as_user(f"{lockstep} run")
        say(f"  {suite}: all of smoke after {time.monotonic() - began:.0f} s")
        expect(" 0 failing" in said, f"a run of smoke in which nothing fails, found {said[-1500:]}")
        root.as_user(f"{lockstep} explain bugs/{SEED}@cpu/inductor", status=1)  # it diverges
        asked = time.monotonic()
        root.as_user(f"{lockstep} doctor")
        took = time.monotonic() - asked
        expect(took <= 10, f"a doctor of at most 10 s, found {took:.0f}")
        install_torch(root, "second", second)
        root.as_user(f"/opt/second/bin/lockstep run bugs/{SEED}")
        root.as_user(f"{lockstep} run bugs/{SEED}")
        built = list((root.folder / "home/user/.cache/lockstep/eager").glob("torch-*"))
        expect(len(built) == 2, f"an eager worker for each of two torches, found {built}")
        root.as_root("/opt/first/bin/python", "-m", "pip", "uninstall", "-y", "torch-lockstep")
        (packages,) = (root.folder / "opt/first/lib").glob("python*/site-packages")
        left = [each.name for each in packages.iterdir() if "lockstep" in each.name]
        expect(not left, f"nothing left in site-packages, found {left}")


def newer_torch() -> str:
    (torch,) = (
        words[0]
        for words in set_up.table("requirements-newer.txt")
        if words[0].startswith("torch==")
    )
    return torch.removeprefix("torch==")


def step_roots() -> None:
    expect(os.geteuid() == 0, "root, since a root of its own is made and entered")
    set_up.provide_packages("packages-wheel.txt")
    for suite in SUITES:
        try_root(suite)


STEPS = {
    "build": step_build,
    "pack": step_pack,
    "check": step_check,
    "venv": step_venv,
    "roots": step_roots,
}


def main() -> int:
    chosen = sys.argv[1:] or ["build", "check", "venv"]
    unknown = [word for word in chosen if word not in STEPS]
    if unknown:
        print(__doc__, file=sys.stderr)
        return 0 if unknown[0] in ("-h", "--help") else 2
    HOME.mkdir(parents=True, exist_ok=True)
    failed = 0
    for word in chosen:
        began = time.monotonic()
        try:
            STEPS[word]()
            say(f"{word}: ok, {places.since(began)}")
        except Refusal as no:
            failed += 1
            say(f"{word}: FAILED after {places.since(began)}: {no}")
    say(f"{len(chosen) - failed} passed, {failed} failed")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
