"""Captures every Python program of a folder, and says of each what became of it.

    bench.py [FOLDER] [--numbers GLOB…] [--to TABLE.jsonl] [--seconds S]

The folder holds programs that show a divergence, one a file, such as reproducers of reports;
without it, those of programs/, of which some show none.
LOCKSTEP names another command than ci/lockstep. A row of the table has:

    program, exit   the file, and how `lockstep capture` ended
    route           how it was captured: from Dynamo's `graph`, by a `trace`, by the `operators`
                    below transforms, or not
    shows           whether a written case, run anew, diverges on the path that the program asked
                    for as the program's graph did with the recorded values
    magnitudes      of each such case: the program's greatest difference, and the case's
    kept            how it is written
    checks          whether `lockstep check` accepts what was written
    why             what was said where it does not show"""

import argparse
import fnmatch
import json
import os
import pathlib
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[2] / "runner" / "python")]

from capture.tool import lockstep  # noqa: E402
from ratios import tell  # noqa: E402

from lockstep.capturing import proof  # noqa: E402


def verdict_of(file: pathlib.Path, path: str, seconds: float) -> dict | None:
    """The verdict on a written case on a path, if there is one."""
    with tempfile.TemporaryDirectory(prefix="lockstep-bench-") as folder:
        out = pathlib.Path(folder) / "run"
        words = ["run", str(file), "--path", path, "--out", str(out), "--no-expectations"]
        for each in sorted((file.parent / "paths").glob("*.json")):
            words += ["--path-file", str(each)]
        lockstep(*words, seconds=seconds)
        log = out / "run.jsonl"
        records = map(json.loads, log.read_text("utf-8").splitlines()) if log.exists() else ()
        return next((each for each in records if each["type"] == "verdict"), None)


def shown_again(case: dict, seconds: float) -> dict | None:
    """What a captured case shows when it is run, beside what the program showed; None where the
    program showed nothing."""
    shown = case.get("shown")
    if shown is None or not proof.diverges(shown):
        return None
    verdict = verdict_of(pathlib.Path(case["file"]), shown["path"], seconds)
    status, output, great = proof.magnitude(verdict) if verdict else ("none", "", None)
    program = (shown["status"], shown["output"], shown["max_abs"])
    return {
        "program": program,
        "case": (status, output, great),
        "same": proof.alike((status, output, great), program),
    }


def row_of(program: pathlib.Path, seconds: float) -> dict:
    """Captures one program: its row."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lockstep-bench-") as folder:
        out = os.path.join(folder, "cases")
        words = ["capture", "--json", "--as-shown", "--out", out, "--", str(program)]
        done = lockstep(*words, seconds=seconds)
        row: dict = {"program": program.name, "exit": done.returncode}
        found = json.loads(done.stdout) if done.returncode == 0 and done.stdout else []
        again = [(each, shown_again(each, seconds)) for each in found]
        showing = [(each, shown) for each, shown in again if shown is not None]
        row["shows"] = any(shown["same"] for _, shown in showing)
        row["magnitudes"] = [shown for _, shown in showing]
        row["cases"] = [
            {key: each.get(key) for key in ("route", "paths", "kept", "says", "shown", "replay")}
            for each in found
        ]
        row["route"] = ", ".join(dict.fromkeys(each["route"] for each in found)) or "none"
        row["kept"] = ", ".join(dict.fromkeys(str(each.get("kept")) for each, _ in showing))
        if found:
            checked = lockstep("check", *[each["file"] for each in found])
            row["checks"] = checked.returncode == 0
            if checked.returncode:
                row["check"] = (checked.stdout + checked.stderr)[-600:]
        if not showing:
            said = [line for line in done.stderr.splitlines() if line.startswith("lockstep: ")]
            telling = [line for line in said if "captured" in line or "judged" in line]
            telling += [f"{each['name']}: {each['says']}" for each in found if each.get("says")]
            row["why"] = (done.stderr[-600:] if done.returncode == 3 else "\n".join(telling))[-900:]
    row["seconds"] = round(time.monotonic() - began, 1)
    return row


def in_words(row: dict) -> str:
    """A row as a line."""
    if row["magnitudes"]:
        first = next((each for each in row["magnitudes"] if each["same"]), row["magnitudes"][0])
        (status, _, program), (_, _, case) = first["program"], first["case"]
        last = f"{status} {_short(program)} -> {_short(case)} ({row['kept']})"
    else:
        last = " ".join(row.get("why", "").splitlines()[-1:])
    return f"{row['program']:<24} {row['route']:<9} {'shows' if row['shows'] else '-':<6} {last}"


def _short(great: float | None) -> str:
    return "" if great is None else f"{great:.3g}"


def summary_of(rows: list[dict]) -> str:
    """What the rows say together."""
    shown = sum(row["shows"] for row in rows)
    checked = [row for row in rows if "checks" in row]
    passed = sum(row["checks"] for row in checked)
    other = sum(bool(row["magnitudes"]) and not row["shows"] for row in rows)
    return (
        f"{shown} of {len(rows)} show with their magnitude, {other} otherwise; "
        f"{passed} of {len(checked)} written pass `check`"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, nargs="?", default=HERE / "programs")
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
    print(summary_of(rows))
    tell("capture, programs that show", sum(row["shows"] for row in rows) / len(rows), "more")
    return 0


if __name__ == "__main__":
    sys.exit(main())
