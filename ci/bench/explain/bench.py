#!/usr/bin/env python3
"""Does `explain` name what is known?

    ci/bench/explain/bench.py [--seconds S] [--out FILE] [--json FILE] [GLOB...]

Needs LOCKSTEP_BINARY_DIR (with bin/lockstep) and LOCKSTEP_PYTHON. Explains each divergence of
diagnoses.json, whose layer and operators the reports name, and prints a table of what is named
beside that, misses included (RESULTS.md is one). GLOB chooses some of them by their ids."""

import argparse
import fnmatch
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ratios import tell

HERE = pathlib.Path(__file__).resolve().parent


def explained(one: str, seconds: float) -> dict:
    """What `explain --json` says of a verdict; an object with `failed` where it says nothing."""
    binary = pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "lockstep"
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "explanation.json"
        done = subprocess.run(
            [binary, "explain", one, "--json", "--seconds", str(seconds), "--to", file],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        if not file.exists():
            return {
                "failed": (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[0]
            }
        return json.loads(file.read_text("utf-8"))


def judged(known: dict, found: dict) -> dict:
    """A row of the table."""
    operators = found.get("operators", [])
    return {
        "id": known["id"],
        "known": known,
        "layer": found.get("layer", ""),
        "operators": operators,
        "status": found.get("status", ""),
        "how": found.get("how", ""),
        "seconds": found.get("seconds", 0),
        "ends": [knob["name"] for knob in found.get("knobs", []) if knob.get("ends")],
        "pass": found.get("pass", {}),
        "sentence": found.get("sentence", found.get("failed", "")),
        "diverges": bool(found.get("layer")),
        "same_layer": found.get("layer") == known["layer"],
        "same_operator": bool(set(operators) & set(known["operators"])),
    }


def table(rows: list[dict]) -> str:
    """The rows in Markdown, and the counts."""
    lines = [
        "| divergence | layer | named | operators | named | how | ends with | seconds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        known = row["known"]
        mark = {True: "", False: " **(miss)**"}
        lines.append(
            "| {} | {} | {}{} | {} | {}{} | {} | {} | {:.0f} |".format(
                row["id"],
                known["layer"],
                row["layer"],
                mark[row["same_layer"] or not row["diverges"]],
                ", ".join(known["operators"]),
                ", ".join(row["operators"]),
                mark[row["same_operator"] or not row["diverges"]],
                row["how"] if row["diverges"] else f"does not diverge here: {row['status']}",
                ", ".join(row["ends"]),
                row["seconds"],
            )
        )
    diverges = [row for row in rows if row["diverges"]]
    total = lambda key: sum(row[key] for row in diverges)
    lines += [
        "",
        f"Of {len(diverges)} that diverge here the layer of {total('same_layer')} and an operator"
        f" of {total('same_operator')} is the one that is known;"
        f" {len(rows) - len(diverges)} do not diverge.",
    ]
    if diverges:
        lines[-1] += f" Median {statistics.median(row['seconds'] for row in diverges):.0f} s."
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(prog="ci/bench/explain/bench.py")
    parser.add_argument("globs", nargs="*", metavar="GLOB")
    parser.add_argument("--seconds", type=float, default=120, help="that each may take")
    parser.add_argument(
        "--out", type=pathlib.Path, help="where to write the table; else it is printed"
    )
    parser.add_argument("--json", type=pathlib.Path, help="where to write the rows as JSON")
    options = parser.parse_args()
    known = json.loads((HERE / "diagnoses.json").read_text("utf-8"))["diagnoses"]
    chosen = [
        each
        for each in known
        if not options.globs
        or any(
            fnmatch.fnmatch(each["id"], f"*{glob}*".replace("[", "[[]")) for glob in options.globs
        )
    ]
    if not chosen:
        print("no diagnosis has such an id", file=sys.stderr)
        return 4
    rows = []
    for each in chosen:
        rows.append(judged(each, explained(each["id"], options.seconds)))
        print(f"{each['id']}: {rows[-1]['sentence']}", file=sys.stderr, flush=True)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    if options.out:
        options.out.write_text(table(rows), "utf-8")
    else:
        print(table(rows), end="")
    diverging = [row for row in rows if row["diverges"]]
    for key in ("layer", "operator"):
        right = sum(row[f"same_{key}"] for row in diverging)
        tell(f"explain, {key} named rightly", right / max(1, len(diverging)), "more")
    return 0


if __name__ == "__main__":
    sys.exit(main())
