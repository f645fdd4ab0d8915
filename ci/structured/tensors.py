"""Tensors of the family: shapes, layouts, and numbers at which formulas and kernels go wrong, as
case files write them."""

import math

#: Where one special number stands among those of its row.
PLACES = ("first", "middle", "last")
#: Numbers that stand alone among ordinary ones.
SINGLE = {"nan": "nan", "infinity": "inf", "minus-infinity": "-inf", "minus-zero": "-0.0"}
LAYOUTS = ("contiguous", "transposed", "stepped", "expanded", "misaligned")
#: Dtypes that have gradients.
FLOATS = ("float32", "float64", "bfloat16", "float16", "complex64")
#: Far beyond the root of the greatest number: squares overflow, the sum of a few does not.
_HUGE = {"float32": 1e30, "float64": 1e200, "bfloat16": 1e30, "float16": 1e4}


def contiguous(shape: list[int]) -> list[int]:
    """Strides of rows behind rows."""
    return [math.prod(max(n, 1) for n in shape[at + 1 :]) for at in range(len(shape))]


def channels_last(shape: list[int]) -> list[int]:
    """Strides of images [n, c, …] whose channels lie side by side."""
    order = [0, *range(2, len(shape)), 1]
    steps = contiguous([shape[at] for at in order])
    return [steps[order.index(at)] for at in range(len(shape))]


def placed(shape: list[int], layout: str, dim: int = -1) -> tuple[list[int], int]:
    """Strides and offset. `expanded` repeats one row of a dimension other than `dim`, or, where
    there is none, one element."""
    strides = contiguous(shape)
    if layout == "transposed":
        return contiguous(shape[::-1])[::-1], 0
    if layout == "channels-last":
        return channels_last(shape), 0
    if layout == "stepped":
        return [2 * step for step in strides], 3
    if layout == "misaligned":
        return strides, 1
    if layout == "expanded":
        if not shape:
            return [], 0
        others = [at for at, n in enumerate(shape) if n > 1 and at != dim % len(shape)]
        at = others[0] if others else dim % len(shape)
        kept = contiguous([n for i, n in enumerate(shape) if i != at])
        return [*kept[:at], 0, *kept[at:]], 0
    return strides, 0


def fill(special: str, dtype: str, seed: int) -> dict:
    """The ordinary numbers of a tensor."""
    rules: dict[str, dict] = {"ties": {"small_integers": {"magnitude": 2}}}
    if dtype == "int64":
        usual: dict = {"integers": {"low": -9, "high": 10}}
        rules["huge"] = {"integers": {"low": 2**31, "high": 2**34}}
    else:
        usual = {"normal": {}}
        rules["far"] = {"normal": {"mean": 4096, "std": 1}}
        rules["huge"] = {"normal": {"std": _HUGE.get(dtype, 1e30)}}
    return {"fill": {**rules.get(special, usual), "seed": seed}}


def tensor(
    shape: list[int],
    dtype: str = "float32",
    layout: str = "contiguous",
    special: str = "none",
    place: str = "first",
    dim: int = -1,
    seed: int = 1,
    grad: bool = False,
) -> dict:
    """A tensor of a case. A special number stands in the last row along `dim`, at `place`;
    `masked` makes all of that row -infinity."""
    strides, offset = placed(shape, layout, dim)
    made: dict = {"dtype": dtype, "shape": shape}
    if strides != contiguous(shape):
        made["strides"] = strides
    if offset:
        made["offset"] = offset
    made |= fill(special, dtype, seed)
    if math.prod(shape) and (special in SINGLE or special == "masked"):
        n = shape[dim]
        along = (
            range(n) if special == "masked" else [{"first": 0, "middle": n // 2}.get(place, n - 1)]
        )
        at = [size - 1 for size in shape]
        found = set()
        for at[dim] in along:
            found.add(offset + sum(i * step for i, step in zip(at, strides)))
        made["except"] = {SINGLE.get(special, "-inf"): sorted(found)}
    if grad:
        made["requires_grad"] = True
    return made
