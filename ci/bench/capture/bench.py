"""Captures every Python program of a folder, and says of each what became of it.

    bench.py FOLDER [--numbers GLOB…] [--to TABLE.jsonl] [--seconds S]

The folder holds programs that show a divergence, one a file, such as reproducers of reports.
LOCKSTEP names another command than ci/lockstep. A row of the table has:

    program, exit   the file, and how `lockstep capture` ended
    route           how it was captured: from the `graph`, by a `trace`, or not
    shows           whether a case diverges on the path that the program asked for
    kept            how it is written
    checks          whether `lockstep check` accepts what was written
    why             what was said where it does not show"""

import argparse
import fnmatch
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]


def lockstep(*words: str, seconds: float = 600) -> subprocess.CompletedProcess:
    """Calls the tool."""
    command = shlex.split(os.environ.get("LOCKSTEP", str(ROOT / "ci" / "lockstep")))
    try:
        return subprocess.run(
            [*command, *words], capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(words, 124, "", f"more than {seconds:.0f} s")


def row_of(program: pathlib.Path, seconds: float) -> dict:
    """Captures one program: its row."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lockstep-bench-") as folder:
        out = os.path.join(folder, "cases")
        words = ["capture", "--json", "--as-shown", "--out", out, "--", str(program)]
        done = lockstep(*words, seconds=seconds)
        row: dict = {"program": program.name, "exit": done.returncode}
        found = json.loads(done.stdout) if done.returncode == 0 and done.stdout else []
        showing = [
            each for each in found if each.get("shown", {}).get("status") not in (None, "conform")
        ]
        row["shows"] = bool(showing)
        row["cases"] = [
            {key: each.get(key) for key in ("route", "paths", "kept", "says", "shown", "replay")}
            for each in found
        ]
        row["route"] = ", ".join(dict.fromkeys(each["route"] for each in found)) or "none"
        row["kept"] = ", ".join(dict.fromkeys(str(each.get("kept")) for each in showing))
        if found:
            checked = lockstep("check", *[each["file"] for each in found])
            row["checks"] = checked.returncode == 0
            if checked.returncode:
                row["check"] = (checked.stdout + checked.stderr)[-600:]
        if not showing:
            said = [line for line in done.stderr.splitlines() if line.startswith("lockstep: ")]
            telling = [line for line in said if "captured" in line or "judged" in line]
            row["why"] = (done.stderr[-600:] if done.returncode == 3 else "\n".join(telling))[-900:]
    row["seconds"] = round(time.monotonic() - began, 1)
    return row


def in_words(row: dict) -> str:
    """A row as a line."""
    last = row["kept"] or " ".join(row.get("why", "").splitlines()[-1:])
    return f"{row['program']:<24} {row['route']:<8} {'shows' if row['shows'] else '-':<6} {last}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--numbers", nargs="*", default=["*"], help="globs of names without .py")
    parser.add_argument("--to", type=pathlib.Path, help="append rows to this file")
    parser.add_argument("--seconds", type=float, default=600)
    asked = parser.parse_args()
    rows = []
    for program in sorted(asked.folder.glob("[!_]*.py")):
        if not any(fnmatch.fnmatch(program.stem, glob) for glob in asked.numbers):
            continue
        rows.append(row_of(program, asked.seconds))
        line = json.dumps(rows[-1])
        if asked.to:
            with asked.to.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        print(in_words(rows[-1]), flush=True)
    shown = sum(row["shows"] for row in rows)
    checked = [row for row in rows if "checks" in row]
    passed = sum(row["checks"] for row in checked)
    print(f"{shown} of {len(rows)} show; {passed} of {len(checked)} written pass `check`")
    return 0


if __name__ == "__main__":
    sys.exit(main())
