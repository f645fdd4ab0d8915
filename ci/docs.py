"""Builds the site of docs/ with MkDocs (mkdocs.yml), strictly: a dead link, or a page outside the
navigation, is an error. The site goes to site/ in the cache; --serve shows it on this machine and
builds again whenever a page changes. MkDocs lives in an environment of its own (docs/ in the
cache, requirements-docs.txt): the first call fetches it, and no later one needs a network."""

import argparse
import os
import pathlib
import subprocess
import sys
import venv

ROOT = pathlib.Path(__file__).resolve().parents[1]
CACHE = pathlib.Path(os.environ.get("LOCKSTEP_CACHE") or ROOT / ".lockstep").absolute()
REQUIREMENTS = ROOT / "ci" / "requirements-docs.txt"


def environment() -> pathlib.Path:
    """The Python that has MkDocs; made where it is missing or the requirements have changed."""
    folder = CACHE / "docs"
    python, ready = folder / "bin" / "python", folder / "ready"
    wanted = REQUIREMENTS.read_text("utf-8")
    if not (ready.is_file() and ready.read_text("utf-8") == wanted):
        venv.create(folder, with_pip=True, clear=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "-r", str(REQUIREMENTS)]
        if subprocess.run(install, check=False).returncode != 0:
            sys.exit("docs: pip could not install requirements-docs.txt. Is an index in reach?")
        ready.write_text(wanted, "utf-8")
    return python


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", action="store_true", help="show the site on this machine")
    parser.add_argument("--out", type=pathlib.Path, default=CACHE / "site", help="the folder")
    arguments = parser.parse_args()
    command = [str(environment()), "-m", "mkdocs", "serve" if arguments.serve else "build"]
    command += ["--strict", "--config-file", str(ROOT / "ci" / "mkdocs.yml")]
    if not arguments.serve:
        command += ["--clean", "--site-dir", str(arguments.out)]
    # Without a colour scheme in the pages' own warnings, and without Material's note on its future.
    told = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPYCACHEPREFIX": str(CACHE / "pyc")}
    done = subprocess.run(command, env=told, check=False)
    if done.returncode == 0 and not arguments.serve:
        print(f"docs: {arguments.out / 'index.html'}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
