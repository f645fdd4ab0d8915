"""Captures cases back from the Python scripts that `lockstep repro` writes of them.

    roundtrip.py [SELECT…] [--path PATH] [--count N] [--to TABLE.jsonl]

SELECT takes all cases of the suite unless you say. The first instance of each on the CPU is run,
written as a script, and captured from that. Then what was captured is run. A row has what both
verdicts show: it is the same if they have the same class, and magnitudes within a factor of ten.
Policies play no part, since a program has none: where values are compared, what counts is whether
they differ. How strides and errors are compared is taken over from the case. LOCKSTEP names another
command than ci/lockstep. The Python that runs this needs torch. What TABLE.jsonl has already is not
done again, so that a round trip can be ended and gone on with."""

import argparse
import contextlib
import dataclasses
import json
import pathlib
import sys
import tempfile
from collections import Counter

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1]), str(HERE.parents[2] / "runner" / "python")]

from capture.tool import lockstep  # noqa: E402
from forks import Forks  # noqa: E402

from lockstep.capturing import cases, proof, spool  # noqa: E402

#: So many are run at once, and told.
BATCH = 30
#: Classes of differences that are about NaN or infinity.
NONFINITE = {"nan", "infinity"}


@dataclasses.dataclass
class Row:
    """What became of one instance."""

    id: str
    old: list | None = None
    new: list | None = None
    why: str = ""

    @property
    def same(self) -> bool:
        """Whether the captured case shows what its origin shows."""
        return self.old is not None and self.new is not None and alike(self.old, self.new)


def shown(record: dict) -> list:
    """What a verdict shows, whatever its policies: a class, and how great it is."""
    if record["status"] not in ("conform", "value_diverges", "nonfinite_diverges"):
        return [record["status"], None]
    differing = [each for each in record.get("outputs", []) if each.get("differing")]
    if not differing:
        return [record["status"], None] if record["status"] != "conform" else ["equal", None]
    # Beside outputs that show NaN or an infinity on one side, others may be unwritten memory.
    nonfinite = [each for each in differing if NONFINITE & set(each.get("classes", {}))]
    of = nonfinite or differing
    sizes = [float(each["max_abs"]) for each in of if each.get("max_abs") is not None]
    return ["nonfinite" if nonfinite else "differs", max(sizes, default=None)]


def alike(old: list, new: list) -> bool:
    """Whether two of these are the same."""
    return proof.alike((old[0], "", old[1]), (new[0], "", new[1]))


def instances(select: list[str], path: str) -> list[str]:
    """The first instance of each case that is selected, without its path."""
    listed = lockstep("list", *(select or ["--level", "all"]), "--device", "cpu", "--path", path)
    if listed.returncode:
        raise SystemExit(listed.stderr)
    firsts: dict[str, str] = {}
    for line in listed.stdout.split():
        instance = line.rsplit("/", 1)[0]
        firsts.setdefault(instance.split("[")[0].split("@")[0], instance)
    return list(firsts.values())


def run(words: list[str], path: str, out: pathlib.Path) -> dict[str, list]:
    """What every verdict of a run shows, by the id of its instance."""
    done = lockstep("run", *words, "--path", path, "--out", str(out), "--no-expectations",
                    "--device", "cpu", seconds=7200)  # fmt: skip
    log = out / "run.jsonl"
    if done.returncode not in (0, 1) or not log.exists():
        raise SystemExit(done.stderr)
    records = map(json.loads, log.read_text("utf-8").splitlines())
    return {each["instance"]: shown(each) for each in records if each["type"] == "verdict"}


def capture(forks: Forks, script: pathlib.Path, folder: pathlib.Path, name: str) -> str:
    """Writes the case that a script shows into a folder; why there is none, else empty."""
    worked = script.with_suffix("")
    limits = {"bytes": 1 << 30, "graphs": 64, "functions": False, "calls": False}
    program = pathlib.Path(cases.__file__).with_name("script.py")
    words = [sys.executable, str(program), str(worked), json.dumps(limits), str(script)]
    done = forks.run(words)
    if not worked.is_dir():
        return f"its script imports no torch: {done.stderr[-200:]}"
    found = cases.captured_of(spool.regions_of(worked), worked, "captured")
    reasons = [each["reason"] for each in spool.reasons_of(worked)]
    if len(found) != 1:
        last = (done.stderr.strip().splitlines() or [""])[-1]
        return f"{len(found)} cases: {'; '.join(reasons) or last}"[:300]
    found[0].name = name
    cases.put(found[0], proof.EXACT, folder)
    return ""


def take_over(file: pathlib.Path, of: str) -> None:
    """Has a captured case compare strides and errors as the case does that it comes from."""
    origin = HERE.parents[2] / "cases" / (of.split("[")[0].split("@")[0] + ".json")
    if not file.exists():
        return
    before, made = (json.loads(each.read_text("utf-8")) for each in (origin, file))
    made |= {key: before[key] for key in ("strides", "raises") if key in before}
    file.write_text(cases.text(made))


def rows_of(ids: list[str], path: str, work: pathlib.Path, forks: Forks) -> list[Row]:
    """The round trip of instances."""
    before = run(ids, path, work / "old")
    rows = [Row(each, before.get(each)) for each in ids]
    captured = work / "captured"
    captured.mkdir()
    for at, row in enumerate(rows):
        script = work / f"s{at}.py"
        written = lockstep("repro", f"{row.id}/{path}", "--to", str(script))
        if written.returncode:
            row.old, row.why = None, "not written: " + written.stderr.strip()[-200:]
            continue
        try:
            row.why = capture(forks, script, captured, f"c{at}")
        except Exception as error:
            row.why = f"Lockstep failed: {error!r}"
        take_over(captured / f"c{at}.json", row.id)
    files = sorted(captured.glob("*.json"), key=lambda each: int(each.stem[1:]))
    valid = files
    if files and lockstep("check", *map(str, files)).returncode:
        valid = [each for each in files if not _invalid(each, rows)]
    after = run([str(each) for each in valid], path, work / "new") if valid else {}
    for instance, what in after.items():
        name = instance.split("@")[0].rsplit("/", 1)[-1]
        rows[int(name[1:])].new = what
    return rows


def _invalid(file: pathlib.Path, rows: list[Row]) -> bool:
    """Whether `check` refuses what was captured; the row then says so."""
    checked = lockstep("check", str(file))
    if checked.returncode:
        said = checked.stdout + checked.stderr
        rows[int(file.stem[1:])].why = "invalid: " + said.replace(f"{file}:", "")[:300]
    return bool(checked.returncode)


def in_words(row: Row) -> str:
    """A row as a line."""
    word = "same" if row.same else "not written" if row.old is None else "other"
    return f"{word:<12} {row.id:<60} {row.old} -> {row.new} {row.why}"


def summary_of(rows: list[Row]) -> str:
    """What the rows say together."""
    written = [row for row in rows if row.old is not None]
    same = sum(row.same for row in written)
    kinds = Counter(
        row.why.split(":")[0] if row.new is None else f"{row.old[0]} -> {row.new[0]}"  # type: ignore[index]
        for row in written
        if not row.same
    )
    rest = "".join(f"\n{count:5} {kind}" for kind, count in kinds.most_common())
    share = 100 * same / max(len(written), 1)
    return (
        f"{same} of {len(written)} ({share:.1f} %) the same; {len(rows) - len(written)} that repro "
        f"does not write{rest}"
    )


def _known(table: pathlib.Path | None) -> dict[str, Row]:
    """The rows that a table has already, by their instances."""
    if table is None or not table.exists():
        return {}
    found = map(json.loads, table.read_text("utf-8").splitlines())
    return {each["id"]: Row(each["id"], each["old"], each["new"], each["why"]) for each in found}


def _tell(rows: list[Row], table: pathlib.Path | None) -> None:
    """Prints rows, and appends them to a table."""
    for row in rows:
        print(in_words(row), flush=True)
        if table:
            with table.open("a", encoding="utf-8") as file:
                file.write(json.dumps(dataclasses.asdict(row) | {"same": row.same}) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("select", nargs="*", metavar="SELECT")
    parser.add_argument("--path", default="inductor")
    parser.add_argument("--count", type=int, help="so many of them, evenly chosen")
    parser.add_argument("--to", type=pathlib.Path, help="append rows to this file, and go on there")
    asked = parser.parse_args()
    ids = instances(asked.select, asked.path)
    if asked.count and asked.count < len(ids):
        ids = [ids[at * len(ids) // asked.count] for at in range(asked.count)]
    known = _known(asked.to)
    rows = [known[each] for each in ids if each in known]
    left = [each for each in ids if each not in known]
    with contextlib.closing(Forks()) as forks:
        for at in range(0, len(left), BATCH):
            with tempfile.TemporaryDirectory(prefix="lockstep-roundtrip-") as work:
                batch = rows_of(left[at : at + BATCH], asked.path, pathlib.Path(work), forks)
            rows += batch
            _tell(batch, asked.to)
    print(summary_of(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
