"""The mutation score of Lockstep's suite: which of many faulty backends each level kills.

A mutant is killed by a verdict that fails on its path, of an instance on which the faultless twin
conforms. The instances on which the fault makes a difference come first, the greatest difference
before the others; the first kill is enough."""

import argparse
import fnmatch
import json
import os
import pathlib
import random
import sys
import time
from collections.abc import Callable, Sequence

import held_out
import inside
from campaign import FAILING, HERE, LEVELS, LIMITS, Campaign, Failed, Probed
from lockstep_mutants.interpret import FAULTLESS
from lockstep_mutants.registry import CLASSES, MUTANTS, PROBED, Mutant

#: What the last whole run killed, and why nothing can kill the others.
SCORE, UNOBSERVABLE = HERE / "score.json", HERE / "unobservable.json"
#: What is demanded of each level, as a share of what can be observed.
TARGETS = {"smoke": 0.80, "core": 0.97, "all": 1.0}
#: Classes that no whole run has tried yet: they count for no target, and what is recorded of them
#: is a kill by some instance of `all`, whether or not a lower level has one.
NEW = ("structure",)
#: Instances of a level on which a mutant is tried: where no probe knows whether it differs, and
#: where one does.
_BLIND, _MOST = 16, 60


def candidates(mutant: Mutant, probed: dict[str, Probed]) -> list[str]:
    """The instances to try, best first; where the probe cannot tell, some that are spread
    evenly."""
    conform = {instance: each for instance, each in probed.items() if each.status == "conform"}
    if mutant.kind in PROBED:
        differ = [
            (instance, each.mutants.get(mutant.name, 0.0)) for instance, each in conform.items()
        ]
        return [
            instance
            for instance, differs in sorted(differ, key=lambda pair: -pair[1])
            if differs > 0
        ][:_MOST]
    found = [instance for instance, each in conform.items() if {*mutant.needs} <= {*each.facts}]
    return spread(found, _BLIND)


def spread(found: list[str], n: int) -> list[str]:
    """`n` of them, evenly."""
    return found if len(found) <= n else [found[i * len(found) // n] for i in range(n)]


def worth_probing(
    instances: dict[str, tuple[str, list[str]]], alive: dict[str, Mutant]
) -> dict[str, tuple[str, list[str]]]:
    """Without those instances of sweeps that call no operator which a mutant that is still alive
    replaces; some of them are left for the others."""
    names = {
        name.partition(".")[0].removesuffix("_backward")
        for mutant in alive.values()
        for name in mutant.ops
    }
    sweeps = [instance for instance in instances if instance.startswith("sweeps/")]
    some = set(spread(sweeps, 4 * _BLIND))
    return {
        instance: (file, operators)
        for instance, (file, operators) in instances.items()
        if not instance.startswith("sweeps/")
        or instance in some
        or names
        & {
            each.partition("::")[2].partition(".")[0].removesuffix("_backward")
            for each in operators
        }
    }


def hunt(
    campaign: Campaign,
    tries: dict[str, list[str]],
    save: Callable[[dict[str, tuple[str, str]]], None] = lambda killed: None,
) -> dict[str, tuple[str, str]]:
    """Mutant → (instance, status) of its first kill, for those that are killed. `save` is handed
    what is known after each round."""
    killed: dict[str, tuple[str, str]] = {}
    tries, size = {name: list(instances) for name, instances in tries.items() if instances}, 1
    while tries:
        campaign.say(
            f"{len(tries)} mutants, {sum(min(size, len(each)) for each in tries.values())} "
            "executions" + (f": {' '.join(tries)}" if len(tries) < 20 else "")
        )
        for hangs in (False, True):
            pairs = [
                (instance, name)
                for name, instances in tries.items()
                if MUTANTS[name].hangs == hangs
                for instance in instances[:size]
            ]
            if not pairs:
                continue
            statuses = campaign.run(pairs, LIMITS if hangs else ())
            for instance, name in pairs:
                if statuses[instance, name] in FAILING and name not in killed:
                    killed[name] = instance, statuses[instance, name]
        save(killed)
        tries = {
            name: instances[size:]
            for name, instances in tries.items()
            if name not in killed and instances[size:]
        }
        size = min(2 * size, 32)
    return killed


def whole(
    campaign: Campaign,
    mutants: dict[str, Mutant],
    levels: Sequence[str],
    recorded: dict,
    save: Callable[[dict], None],
    without: Sequence[str] = (),
) -> dict:
    """The result of a run, without cases of such names: `mutants` (name → class, level, by, status,
    reached, differed, breaks), `defects` of the twin. What is known after a level is handed to
    `save`."""
    result: dict = {
        "mutants": {
            name: {
                "class": mutant.cls,
                "level": None,
                "by": None,
                "status": None,
                "reached": {},
                "differed": {},
                "breaks": [],
            }
            for name, mutant in mutants.items()
        },
        "defects": [],
    }
    before: set[str] = set()
    for level in levels:
        alive = {
            name: mutants[name] for name, each in result["mutants"].items() if each["level"] is None
        }
        if not alive:
            break
        instances = {
            instance: of
            for instance, of in campaign.instances(level).items()
            if instance not in before
            and not any(fnmatch.fnmatchcase(instance.partition("[")[0], each) for each in without)
        }
        instances = worth_probing(instances, alive)
        probed = campaign.probe(instances)
        result["defects"] += campaign.defects(probed)
        before |= {*instances}
        for name in mutants:
            seen = [each.mutants[name] for each in probed.values() if name in each.mutants]
            result["mutants"][name]["breaks"] += [
                each.breaks[name] for each in probed.values() if name in each.breaks
            ][:1]
            if mutants[name].kind in PROBED:
                (
                    result["mutants"][name]["reached"][level],
                    result["mutants"][name]["differed"][level],
                ) = len(seen), sum(differs > 0 for differs in seen)
        tries = {name: candidates(mutant, probed) for name, mutant in alive.items()}
        for name, order in tries.items():
            if (by := recorded.get(name, {}).get("by")) in order:
                order.insert(0, order.pop(order.index(by)))

        def keep(killed: dict[str, tuple[str, str]], level: str = level) -> None:
            for name, (instance, status) in killed.items():
                result["mutants"][name].update(level=level, by=instance, status=status)
            save(result)

        hunt(campaign, tries, keep)
        for name in tries:
            if mutants[name].kind not in PROBED:
                seen = list(campaign.records.get(name, {}).values())
                (
                    result["mutants"][name]["reached"][level],
                    result["mutants"][name]["differed"][level],
                ) = len(seen), sum(differs > 0 for differs in seen)
        save(result)
    return result


def again(campaign: Campaign, mutants: dict[str, Mutant], recorded: dict) -> dict:
    """The result of trying each mutant only where it was killed last."""
    tries = {name: [recorded[name]["by"]] for name in mutants if name in recorded}
    conform = campaign.run(
        [(instance, FAULTLESS) for instance in sorted({each[0] for each in tries.values()})]
    )
    killed = hunt(campaign, tries)
    return {
        "defects": sorted(
            instance for (instance, _), status in conform.items() if status != "conform"
        ),
        "mutants": {
            name: {
                "class": mutant.cls,
                "level": recorded[name]["level"] if name in killed else None,
                "by": recorded.get(name, {}).get("by"),
                "status": killed.get(name, (None, None))[1],
                "reached": {},
                "differed": {},
                "breaks": [],
            }
            for name, mutant in mutants.items()
        },
    }


def table(result: dict, unobservable: dict) -> str:
    """Killed of observable ones by class and level, as text."""
    rows = [["class", *LEVELS, "survive", "unobservable"]]
    for cls in [*CLASSES, "total"]:
        of = {
            name: each
            for name, each in result["mutants"].items()
            if cls in (each["class"], "total")
        }
        seen = {name: each for name, each in of.items() if name not in unobservable}
        if not of:
            continue
        row = [cls]
        for level in LEVELS:
            n = sum(killed_by(each, level) for each in seen.values())
            row.append(f"{n}/{len(seen)} {100 * n / max(len(seen), 1):5.1f} %")
        rows.append(
            [
                *row,
                str(sum(each["level"] is None for each in seen.values())),
                str(len(of) - len(seen)),
            ]
        )
    return aligned(rows)


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows as text, the first column to the left."""
    width = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            text.ljust(n) if at == 0 else text.rjust(n)
            for at, (text, n) in enumerate(zip(row, width))
        )
        for row in rows
    )


def killed_by(each: dict, level: str) -> bool:
    """Whether a level kills a mutant: that of its first kill and those above it."""
    return each["level"] is not None and LEVELS.index(each["level"]) <= LEVELS.index(level)


def is_better(each: dict, recorded: dict, name: str) -> bool:
    """Whether a lower level kills a mutant than is recorded, or one where none is."""
    return each["level"] is not None and (
        name not in recorded or killed_by(each, recorded[name]["level"])
    )


def why(each: dict) -> str:
    """Of one that survives: how far it came."""
    reached, differed = sum(each["reached"].values()), sum(each["differed"].values())
    if each["breaks"] and not differed:
        return f"cannot be computed: {each['breaks'][0]}"
    return (
        "reached nowhere"
        if not reached
        else f"reached in {reached} instances, differs in none"
        if not differed
        else f"differs in {differed} instances"
    )


def problems(
    result: dict, recorded: dict, unobservable: dict, levels: Sequence[str], whole_set: bool
) -> list[str]:
    """What makes the exit status 1: defects of the twin, mutants that were killed and are not, and,
    of a whole run, levels below their targets."""
    found = [f"the faultless twin fails on {instance}" for instance in result["defects"]]
    for name, each in result["mutants"].items():
        was = recorded.get(name)
        if was and was["level"] in levels and not killed_by(each, was["level"]):
            found.append(
                f"{name} was killed by the level {was['level']} ({was['by']})"
                + (f", and now by {each['level']}" if each["level"] else ", and survives")
            )
        whole = "all" in levels and each["class"] not in NEW
        if each["level"] is None and name not in unobservable and (was or whole):
            found.append(f"{name} survives: {MUTANTS[name].doc} ({why(each)})")
        if each["level"] is not None and name in unobservable:
            found.append(
                f"{name} is killed by {each['by']}: {UNOBSERVABLE.name} says that nothing can"
            )
    seen = {
        name: each
        for name, each in result["mutants"].items()
        if name not in unobservable and each["class"] not in NEW
    }
    for level in levels if whole_set and seen else ():
        share = sum(killed_by(each, level) for each in seen.values()) / len(seen)
        if share < TARGETS[level]:
            found.append(
                f"{level} kills {100 * share:.1f} %, and should kill {100 * TARGETS[level]:.0f} %"
            )
    return list(dict.fromkeys(found))


def read(file: pathlib.Path) -> dict:
    """The `mutants` of a data file; nothing where there is none."""
    return json.loads(file.read_text("utf-8"))["mutants"] if file.exists() else {}


def chosen(arguments: argparse.Namespace, recorded: dict) -> dict[str, Mutant]:
    """The mutants that the command line asks for. Raises SystemExit for names that there are
    not."""
    if unknown := [name for name in arguments.names if name not in MUTANTS]:
        sys.exit(f"mutants: there is no mutant {unknown[0]}; --list prints them")
    found = {
        name: mutant
        for name, mutant in MUTANTS.items()
        if (not arguments.names or name in arguments.names)
        and (not arguments.cls or mutant.cls in arguments.cls)
        and (not arguments.recorded or name in recorded)
    }
    if arguments.sample is None or arguments.sample >= len(found):
        return found
    # One of each class in turn, so that ten of them are not all numerics.
    shuffled = random.Random(arguments.seed)
    groups = [
        shuffled.sample(
            sorted(name for name, each in found.items() if each.cls == cls),
            len([1 for each in found.values() if each.cls == cls]),
        )
        for cls in shuffled.sample(CLASSES, len(CLASSES))
    ]
    turns = [
        group[at] for at in range(max(map(len, groups))) for group in groups if at < len(group)
    ]
    return {name: found[name] for name in turns[: arguments.sample]}


def parse(words: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="ci/mutants",
        description=(
            "Which of many faulty backends does Lockstep's suite kill? Exit status: 0 as recorded "
            "and on target, 1 not so, 2 wrong usage, 3 Lockstep failed."
        ),
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="these mutants (default: all)")
    parser.add_argument(
        "--level",
        choices=LEVELS,
        default="all",
        help="the cases of this level, and of those below it (default: all)",
    )
    parser.add_argument(
        "--class",
        dest="cls",
        action="append",
        choices=CLASSES,
        help="mutants of this class (repeatable)",
    )
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="CASES",
        help="leave out these cases, as `structured/*`: what is killed all the same is killed by "
        "cases that nobody wrote for it (repeatable)",
    )
    parser.add_argument(
        "--held-out",
        action="store_true",
        help="each class without the folder of cases that kills most of it",
    )
    parser.add_argument("--sample", type=int, metavar="N", help="N of them, classes in turn")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="which N (default: 0)")
    parser.add_argument(
        "--recorded",
        action="store_true",
        help=f"only those that {SCORE.name} has as killed, and each only where it was killed",
    )
    parser.add_argument(
        "--record", action="store_true", help=f"write what was tried to {SCORE.name}"
    )
    parser.add_argument(
        "--json", type=pathlib.Path, metavar="FILE", help="write the result to FILE"
    )
    parser.add_argument(
        "--list", action="store_true", help="print the mutants and what is wrong with each"
    )
    parser.add_argument(
        "--models",
        action="store_true",
        help="faults inside of models instead; NAME is a model of cases/models/",
    )
    parser.add_argument(
        "-j",
        "--jobs",
        type=int,
        default=os.cpu_count(),
        metavar="N",
        help="executions at a time (default: one for each core)",
    )
    return parser.parse_args(words)


def main(words: Sequence[str]) -> int:
    """Runs, prints the table and what is wrong, and returns the exit status."""
    arguments, start = parse(words), time.monotonic()
    recorded, unobservable = read(SCORE), read(UNOBSERVABLE)
    campaign = Campaign(
        arguments.jobs,
        lambda text: print(
            f"[{time.monotonic() - start:6.0f} s] {text}", file=sys.stderr, flush=True
        ),
    )
    if arguments.models:
        return inside.main(arguments.names, campaign, arguments.record)
    mutants = chosen(arguments, recorded)
    if arguments.list:
        for name, mutant in mutants.items():
            print(f"{mutant.cls:15} {name:45} {mutant.doc}")
        return 0
    levels = LEVELS[: LEVELS.index(arguments.level) + 1]

    def save(result: dict) -> None:
        if arguments.json:
            arguments.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")

    try:
        if arguments.held_out:
            rows = held_out.held_out(
                campaign,
                mutants,
                recorded,
                lambda each: killed_by(each, arguments.level),
                lambda of, without: whole(campaign, of, levels, recorded, save, without),
            )
            print(aligned(held_out.table(rows)))
            return 0
        result = (
            again(campaign, mutants, recorded)
            if arguments.recorded
            else whole(campaign, mutants, levels, recorded, save, arguments.without)
        )
    except Failed as error:
        print(f"mutants: {error}", file=sys.stderr)
        return 3
    save(result)
    everything = len(mutants) == len(MUTANTS) and not arguments.recorded
    if arguments.record and not arguments.recorded:
        tried = result["mutants"]
        if arguments.without:  # what is left out may kill more, and none less
            tried = {name: each for name, each in tried.items() if is_better(each, recorded, name)}
        known = {**recorded, **tried}
        kept = {
            name: {key: known[name][key] for key in ("class", "level", "by")}
            for name in MUTANTS
            if name in known and known[name]["level"]
        }
        SCORE.write_text(
            json.dumps({"format": 1, "mutants": kept}, indent=1) + "\n", encoding="utf-8"
        )
    print(table(result, unobservable))
    for name, each in result["mutants"].items():
        if each["level"] is None:
            print(f"survives  {each['class']:15} {name:45} {unobservable.get(name) or why(each)}")
    wrong = (
        [] if arguments.without else problems(result, recorded, unobservable, levels, everything)
    )
    for line in wrong:
        print(f"mutants: {line}", file=sys.stderr)
    print(
        f"{len(mutants)} mutants, "
        f"{sum(each['level'] is not None for each in result['mutants'].values())} killed in "
        f"{time.monotonic() - start:.0f} s"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
