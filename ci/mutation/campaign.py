"""What `ci/mutants` asks of Lockstep: one path for each mutant, the faultless twin as a probe, and
runs of many pairs of instance and mutant at once."""

import hashlib
import json
import os
import pathlib
import re
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from lockstep_mutants.interpret import FAULTLESS, RECORDS
from lockstep_mutants.registry import MUTANTS, Mutant

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
#: Every level takes what the one before takes, and more.
LEVELS = ("smoke", "core", "all")
_STATUSES = json.loads((ROOT / "reports" / "words.json").read_text("utf-8"))["statuses"]
#: Verdicts that fail a run and say something of the path: `harness` is between eager and eager.
FAILING = frozenset(status["name"] for status in _STATUSES if status["accuses"])
#: What a mutant that hangs or devours memory is given, instead of a minute and all of the machine.
LIMITS = ("--timeout", "6", "--compile-timeout", "6", "--memory", "8")
#: Arguments of one process: below every system's limit.
_PAIRS = 800


class Failed(Exception):
    """Lockstep did not do what was asked of it; the message has its output."""


@dataclass
class Probed:
    """What the faultless twin saw on an instance: its status; mutant → greatest difference (0:
    reached, and nothing differed); facts; mutant → error of a fault that could not be computed."""

    status: str
    mutants: dict[str, float] = field(default_factory=dict)
    facts: list[str] = field(default_factory=list)
    breaks: dict[str, str] = field(default_factory=dict)


def path_file(folder: pathlib.Path, mutant: Mutant | None, twin: str = FAULTLESS) -> pathlib.Path:
    """The path of a mutant, or of a twin (None)."""
    name = mutant.name if mutant else twin
    declared = {
        "format": 2,
        "name": path_of(name),
        "title": f"A mutant: {mutant.doc if mutant else 'none'}"[:200],
        "contract": "values",
        "default": False,
        "worker": "compiled",
        "backend": mutant.backend if mutant else f"lockstep_mutant_{twin.replace('-', '_')}",
        "mode": None,
        "dynamic": False,
        "fullgraph": True,
        "import": ["lockstep_mutants"],
        "may_call": mutant.may_call if mutant else ["*"],
        "config": {"torch._dynamo.config.capture_dynamic_output_shape_ops": True},
        "environment": {"PYTHONPATH": str(HERE), RECORDS: str(folder / "records.jsonl")},
        "devices": ["*"],
    }
    file = folder / f"{name}.json"
    file.write_text(json.dumps(declared), encoding="utf-8")
    return file


def path_of(name: str) -> str:
    """The path's name, which no path of the suite has."""
    return f"mutant-{name}"


def verdicts_of(run: pathlib.Path) -> list[dict]:
    """The verdicts in the log of a run."""
    records = map(json.loads, (run / "run.jsonl").read_text("utf-8").splitlines())
    return [record for record in records if record["type"] == "verdict"]


class Campaign:
    """Runs of the suite at hand with mutants for paths. `jobs`: executions at a time; `say` is told
    what is going on."""

    def __init__(self, jobs: int, say: object = None) -> None:
        self.jobs, self._say = jobs, say or (lambda text: None)
        self.binary = pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "lockstep"
        cache = pathlib.Path(os.environ.get("LOCKSTEP_CACHE") or ROOT / ".lockstep") / "mutants"
        cache.mkdir(parents=True, exist_ok=True)
        self._cache = cache
        self.records: dict[
            str, dict[str, float]
        ] = {}  # mutant → instance → difference, of the mutants' own runs

    def say(self, text: str) -> None:
        """One line for whoever waits."""
        self._say(text)  # type: ignore[operator]

    def instances(self, level: str) -> dict[str, tuple[str, list[str]]]:
        """Instance → case file and operators (`aten::add.Tensor`), in the order of the suite."""
        listed = json.loads(
            self._lockstep("list", "--level", level, "--path", "eager", "--device", "cpu", "--json")
        )
        return {
            each["id"].removesuffix("/eager"): (each["file"], each["operators"]) for each in listed
        }

    # Runs -----------------------------------------------------------------------------------------

    def run(
        self, pairs: Sequence[tuple[str, str]], extra: Sequence[str] = ()
    ) -> dict[tuple[str, str], str]:
        """(instance, mutant or `faultless`) → status of its verdict."""
        found: dict[tuple[str, str], str] = {}
        for at in range(0, len(pairs), _PAIRS):
            found |= self._run(pairs[at : at + _PAIRS], extra)
        return found

    def _run(
        self, pairs: Sequence[tuple[str, str]], extra: Sequence[str]
    ) -> dict[tuple[str, str], str]:
        with tempfile.TemporaryDirectory(prefix="lockstep-mutants-") as name:
            folder = pathlib.Path(name)
            mutants = sorted({mutant for _, mutant in pairs})
            files = [path_file(folder, MUTANTS.get(mutant)) for mutant in mutants]
            self.run_alone(
                folder / "run",
                *extra,
                *(word for file in files for word in ("--path-file", str(file))),
                *(f"{instance}/{path_of(mutant)}" for instance, mutant in pairs),
                "--path",
                *(path_of(mutant) for mutant in mutants),
            )
            self._read(folder / "records.jsonl", mutants)
            found = {
                (each["instance"], each["path"].removeprefix("mutant-")): "waived"
                if each["standing"] == "waived"
                else each["status"]
                for each in verdicts_of(folder / "run")
            }
        # A case may name the paths that it is for.
        return {pair: found.get(pair, "absent") for pair in pairs}

    def _read(self, file: pathlib.Path, mutants: Iterable[str]) -> None:
        self.seen: dict[str, Probed] = {}
        for line in file.read_text("utf-8").splitlines() if file.exists() else ():
            record = json.loads(line)
            probed = self.seen.setdefault(record["instance"], Probed(""))
            probed.facts = sorted({*probed.facts, *record["facts"]})
            probed.breaks |= record["breaks"]
            for mutant, differs in record["mutants"].items():
                probed.mutants[mutant] = max(differs, probed.mutants.get(mutant, 0.0))
                if FAULTLESS not in mutants:
                    of = self.records.setdefault(mutant, {})
                    of[record["instance"]] = max(differs, of.get(record["instance"], 0.0))

    # The probe ------------------------------------------------------------------------------------

    def probe(self, instances: dict[str, tuple[str, list[str]]]) -> dict[str, Probed]:
        """What the faultless twin sees on each instance; kept as long as the mutants, the case file
        and torch stay as they are."""
        file = self._cache / f"probe-{self._digest()}.json"
        kept = json.loads(file.read_text("utf-8")) if file.exists() else {}
        cases = {
            name: hashlib.sha256((ROOT / name).read_bytes()).hexdigest()[:16]
            for name, _ in instances.values()
        }
        new = [
            instance
            for instance, (case, _) in instances.items()
            if kept.get(instance, {}).get("case") != cases[case]
        ]
        for at in range(0, len(new), _PAIRS):
            part = new[at : at + _PAIRS]
            self.say(f"probing {at + len(part)} of {len(new)} instances")
            statuses = self.run([(instance, FAULTLESS) for instance in part])
            for instance in part:
                seen = self.seen.get(instance, Probed(""))
                kept[instance] = {
                    "case": cases[instances[instance][0]],
                    "status": statuses[instance, FAULTLESS],
                    "mutants": seen.mutants,
                    "facts": seen.facts,
                    "breaks": seen.breaks,
                }
            file.write_text(json.dumps(kept), encoding="utf-8")
        return {
            instance: Probed(
                kept[instance]["status"],
                kept[instance]["mutants"],
                kept[instance]["facts"],
                kept[instance]["breaks"],
            )
            for instance in instances
        }

    def defects(self, probed: dict[str, Probed]) -> list[str]:
        """Instances on which the twin fails and torch's own AOT autograd does not: faults of the
        twin."""
        failing = [instance for instance, each in probed.items() if each.status in FAILING]
        if not failing:
            return []
        with tempfile.TemporaryDirectory(prefix="lockstep-mutants-") as name:
            self.run_alone(pathlib.Path(name, "run"), *failing, "--path", "aot_eager")
            verdicts = verdicts_of(pathlib.Path(name, "run"))
        return sorted(each["instance"] for each in verdicts if each["status"] not in FAILING)

    def _digest(self) -> str:
        """Of what a probe hangs on but for the case: the mutants, torch, the workers and the
        judge."""
        digest = hashlib.sha256()
        folders = (
            HERE / "lockstep_mutants",
            ROOT / "runner" / "workers" / "compiled" / "lockstep_worker",
        )
        for file in sorted(file for folder in folders for file in folder.rglob("*.py")):
            digest.update(file.read_bytes())
        # The eager worker of a torch has a folder of its own where it was built for that alone.
        eager = pathlib.Path(os.environ.get("LOCKSTEP_EAGER") or self.binary)
        digest.update((eager.parent / "schemas.json").read_bytes())
        return digest.hexdigest()[:16]

    def run_alone(self, out: pathlib.Path, *arguments: str) -> None:
        """A run in which some may fail, each compiled by itself and judged as if nothing were
        known."""
        jobs = ("-j", str(self.jobs), "--out", str(out))
        self._lockstep(
            "run", "--alone", "--no-expectations", "--quiet", *jobs, *arguments, statuses=(0, 1)
        )

    def _lockstep(self, *arguments: str, statuses: Sequence[int] = (0,)) -> str:
        done = subprocess.run(
            [self.binary, *arguments],
            env={**os.environ, "LOCKSTEP_HOME": str(ROOT)},
            capture_output=True,
            text=True,
        )
        if done.returncode not in statuses:
            words = re.sub(r"\s+", " ", " ".join(arguments))
            raise Failed(
                f"lockstep {words:.200} ended with "
                f"{done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
            )
        return done.stdout
