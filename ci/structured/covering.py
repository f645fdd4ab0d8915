"""Pairwise covering arrays: few rows in which every two choices of different factors meet."""

import itertools
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

#: Factor → level.
Row = dict[str, Any]


def rows(factors: Mapping[str, Sequence[Hashable]], allowed: Callable[[Row], bool]) -> list[Row]:
    """Rows with a level of each factor, so that every pair of levels of two factors that some
    allowed row can have is in one of them.

    `allowed` also judges rows that have levels of some factors only: it says no where no level of
    the others can help. The result depends on nothing but the arguments. (Greedy, after D. M.
    Cohen et al., The AETG System, 1997, without its random trials.)"""
    open_pairs = {
        (a, x, b, y): None  # a dict, for its order
        for a, b in itertools.combinations(factors, 2)
        for x in factors[a]
        for y in factors[b]
        if allowed({a: x, b: y})
    }
    uses = {(name, level): 0 for name, levels in factors.items() for level in levels}
    found: list[Row] = []
    while open_pairs:
        a, x, b, y = next(iter(open_pairs))
        row = _completed({a: x, b: y}, factors, allowed, open_pairs, uses)
        if row is None:
            del open_pairs[a, x, b, y]  # no row can have it
            continue
        for pair in _pairs(row, factors):
            open_pairs.pop(pair, None)
        for each in row.items():
            uses[each] += 1
        found.append(row)
    return found


def _pairs(row: Row, factors: Mapping[str, Sequence[Hashable]]) -> list[tuple]:
    chosen = [name for name in factors if name in row]
    return [(a, row[a], b, row[b]) for a, b in itertools.combinations(chosen, 2)]


def _completed(
    row: Row,
    factors: Mapping[str, Sequence[Hashable]],
    allowed: Callable[[Row], bool],
    open_pairs: Mapping[tuple, None],
    uses: Mapping[tuple, int],
) -> Row | None:
    """The row with a level of each factor: the allowed one that meets most open pairs, and among
    these the one that was used least. It goes back on a choice that leaves no other allowed."""
    missing = [name for name in factors if name not in row]
    if not missing:
        return row
    name = missing[0]

    def worth(level: Hashable) -> tuple[int, int]:
        pairs = _pairs({**row, name: level}, factors)
        return (-sum(pair in open_pairs for pair in pairs), uses[name, level])

    for level in sorted(factors[name], key=worth):
        if allowed({**row, name: level}):
            whole = _completed({**row, name: level}, factors, allowed, open_pairs, uses)
            if whole is not None:
                return whole
    return None
