"""What the suite would kill of faults for which nobody had written cases: each class of mutants
without the folder of cases that kills most of it.

Cases and mutants of one hand flatter each other. A folder that is left out takes with it what was
written for a class; what the others kill all the same is the generalisation of the suite."""

import collections
from collections.abc import Callable, Sequence
from typing import NamedTuple

from campaign import Campaign
from lockstep_mutants.registry import CLASSES, Mutant


class Held(NamedTuple):
    """Of a class: the folder that was left out, how many mutants the level kills with it, and how
    many without."""

    cls: str
    folder: str
    killed: int
    without: int


def held_out(
    campaign: Campaign,
    mutants: dict[str, Mutant],
    recorded: dict,
    killed: Callable[[dict], bool],
    whole: Callable[[dict[str, Mutant], Sequence[str]], dict],
) -> list[Held]:
    """One for each class of these mutants. `killed` says whether a level kills a mutant of which
    this is recorded; `whole` tries mutants without cases of such names."""
    found = []
    for cls in CLASSES:
        of = {
            name: mutant
            for name, mutant in mutants.items()
            if mutant.cls == cls and name in recorded and killed(recorded[name])
        }
        if not of:
            continue
        folders = collections.Counter(recorded[name]["by"].partition("/")[0] for name in of)
        folder = min(folders, key=lambda each: (-folders[each], each))
        campaign.say(f"{cls}: {len(of)} mutants without {folder}/")
        result = whole(of, [f"{folder}/*"])
        without = sum(each["level"] is not None for each in result["mutants"].values())
        found.append(Held(cls, folder, len(of), without))
    return found


def table(rows: list[Held]) -> list[list[str]]:
    """As rows of text, with the sum."""
    found = [["class", "left out", "killed", "without it"]]
    for row in [
        *rows,
        Held("total", "", sum(r.killed for r in rows), sum(r.without for r in rows)),
    ]:
        share = f"{row.without} {100 * row.without / max(row.killed, 1):5.1f} %"
        found.append([row.cls, row.folder and f"{row.folder}/", str(row.killed), share])
    return found
