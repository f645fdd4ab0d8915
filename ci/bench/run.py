#!/usr/bin/env python3
"""Runs the benchmarks, whole or small, and keeps their ratios.

    ci/bench/run.py [--small] [--keep FILE] [NAME…]

Needs LOCKSTEP_BINARY_DIR (with bin/lockstep and bin/judge-bench) and LOCKSTEP_PYTHON; `cluster`
LOCKSTEP_DASK, `page` chromium, without which they are left out. Appends what they told to
history.jsonl, with the machine and the commit, and says which ratio became worse by more than a
tenth: than the median of the last five of the same machine, or where it has none yet, of the last
five of any. Ends with 1 where a benchmark fails. With --small it only tries whether they run."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from ratios import told  # noqa: E402

HISTORY = HERE / "history.jsonl"
LAST = 5
#: By how much a ratio may become worse before it is said.
SLACK = 0.1
#: What each benchmark is given to run small.
SMALL = {
    "judge": ["--small"],
    "digests": ["1"],
    "page": ["--verdicts", "20", "40", "--rounds", "1"],
    "compiled": "--count 1 --rounds 1 --separate 1 --path aot_eager --once".split(),
    "sharing": ["--select", "sweeps/unary-16[op=abs*]", "--path", "aot_eager", "--once"],
    "replay": ["--instances", "2", "--rounds", "1", "--wanted", "0", "--once"],
    "cluster": ["--select", "bugs/185337-half*", "--path", "aot_eager", "-j", "1", "--once"],
    "capture": ["--numbers", "no_torch"],
    "explain": ["--seconds", "10", "185337-half"],
    "shrink": ["--seconds", "10", "183607-half-product"],
}

#: What it is given to run whole.
WHOLE = {"compiled": ["--cold", "--new"]}


def can_run(name: str) -> bool:
    if name == "cluster":
        return bool(os.environ.get("LOCKSTEP_DASK"))
    return name != "page" or any(
        map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))
    )


def run(name: str, small: bool) -> tuple[int, str]:
    """Exit status and output of a benchmark; a whole one says meanwhile what it does."""
    command = [os.environ["LOCKSTEP_PYTHON"], str(HERE / name / "bench.py")]
    binary = os.path.join(os.environ["LOCKSTEP_BINARY_DIR"], "bin", "lockstep")
    own = {"LOCKSTEP": binary, "LOCKSTEP_HOME": str(HERE.parents[1])}
    done = subprocess.Popen(
        command + (SMALL if small else WHOLE).get(name, []),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **own},
    )
    text = ""
    assert done.stdout is not None
    for line in done.stdout:
        text += line
        if not small:
            print(line, end="", flush=True)
    return done.wait(), text


def machine() -> str:
    """The processor and how many of it there are: what ratios still depend on."""
    model = re.search(
        r"^model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text("utf-8"), re.M
    )
    return f"{model[1] if model else os.uname().machine}, {len(os.sched_getaffinity(0))} cores"


def commit() -> str:
    """The commit that was measured; "-dirty" behind it where more than the history has changed."""

    def git(*words: str) -> subprocess.CompletedProcess:
        command = ["git", "-C", str(HERE), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    found = git("rev-parse", "--short=10", "HEAD").stdout.strip()
    changed = git("diff", "--quiet", "HEAD", "--", ":/", f":(exclude){HISTORY.name}").returncode
    return found + "-dirty" * (changed != 0) if found else "unknown"


def before(history: list[dict], name: str, where: str) -> list[float]:
    """The last values of a ratio that it is held against, latest last."""
    known = [each for each in history if name in each["ratios"]]
    here = [each for each in known if each["machine"] == where]
    return [each["ratios"][name]["value"] for each in (here or known)[-LAST:]]


def worse(history: list[dict], entry: dict) -> list[str]:
    """A sentence for each ratio that became worse."""
    said = []
    for name, ratio in entry["ratios"].items():
        values = before(history, name, entry["machine"])
        if not values:
            continue
        usual, value = statistics.median(values), ratio["value"]
        times = usual / value if ratio["better"] == "more" else value / usual
        if times > 1 + SLACK:
            said.append(f"{name}: {value:.3g}, worse than {usual:.3g} by {times - 1:.0%}")
    return said


def entries(file: pathlib.Path) -> list[dict]:
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    return [json.loads(line) for line in lines]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SMALL)}")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--keep", type=pathlib.Path, default=HISTORY, metavar="FILE")
    given = parser.parse_args()
    if unknown := set(given.names) - set(SMALL):
        parser.error(f"no benchmark is called {', '.join(sorted(unknown))}")
    told_in_all, failed, of = 0, [], commit()  # before the first line makes the tree dirty
    for name in given.names or SMALL:
        print(f"== {name}", flush=True)
        if not can_run(name):
            print("left out: what it needs is not here")
            continue
        status, text = run(name, given.small)
        if status != 0:
            failed.append(name)
        ratios = told(text)
        told_in_all += len(ratios)
        if ratios and not given.small:  # at once: the next one can be ended by hand
            keep(given.keep, ratios, of)
    print(f"{told_in_all} ratios")
    for name in failed:
        print(f"{name} failed", file=sys.stderr)
    return 1 if failed else 0


def keep(file: pathlib.Path, ratios: dict, of: str) -> None:
    """Appends the ratios to the history, and says which became worse."""
    history = entries(file)
    entry = {
        "commit": of,
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "ratios": ratios,
    }
    said = worse(history, entry)
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(entry) + "\n")
    print(f"{len(ratios)} ratios, kept in {file}")
    print("\n".join(said) or "none became worse by more than a tenth")


if __name__ == "__main__":
    sys.exit(main())
