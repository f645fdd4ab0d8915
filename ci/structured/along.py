"""Operators along a dimension: reductions, scans, softmaxes, sorts, searches in a row."""

from .family import GRADIENTS, Call, Part
from .tensors import LAYOUTS, PLACES, tensor

_FLOAT = ("float32", "float64", "bfloat16")
_WIDE = ("float32", "float64")
_ALL = (*_FLOAT, "int64", "complex64")

#: Where the size of a row stands: shape with `n`, and the dimension that is reduced. `batch` has
#: the size beside it.
FORMS: dict[str, tuple[list, int]] = {
    "last": ([3, "n"], -1),
    "first": (["n", 3], 0),
    "middle": ([2, "n", 3], 1),
    "batch": (["n", 5], 1),
    "vector": (["n"], 0),
    "six": ([2, 1, 2, "n", 1, 3], 3),
    "eight": ([1, 2, 1, 2, 1, "n", 1, 2], -3),
    "cube": (["n", "n", "n"], -2),
}
SIZES = (0, 1, 2, 31, 33, 65, 129, 161, 1025)
SPECIALS = (
    "none",
    "ties",
    "nan",
    "infinity",
    "minus-infinity",
    "minus-zero",
    "far",
    "huge",
    "masked",
)

X, D, DS, K = "%x", "D", ["D"], "K"

REDUCTIONS = (
    (
        Call("sum.dim_IntList", (X, DS), dtypes=_ALL),
        Call("sum.dim_IntList", (X, DS, True), {"dtype": "float64"}, name="sum-wide"),
        Call("mean.dim", (X, DS), dtypes=(*_FLOAT, "complex64")),
    ),
    (Call("prod.dim_int", (X, D, True), dtypes=_ALL),),
    (
        Call("amax", (X, DS), least=1),
        Call("amin", (X, DS, True), least=1),
        Call("aminmax", (X,), {"dim": D, "keepdim": True}, grad=False, least=1),
    ),
    (
        Call("argmax", (X, D, True), grad=False, least=1),
        Call("argmin", (X, D), grad=False, least=1),
    ),
    (Call("max.dim", (X, D), least=1), Call("min.dim", (X, D, True), least=1)),
    (
        Call("all.dim", (X, D, True), grad=False),
        Call("any.dims", (X, DS), grad=False),
        Call("count_nonzero.dim_IntList", (X, DS), grad=False),
    ),
    (
        Call("var.correction", (X, DS), {"correction": 0}, dtypes=_FLOAT, least=1),
        Call(
            "var_mean.correction",
            (X, DS),
            {"correction": 3, "keepdim": True},
            dtypes=_FLOAT,
            least=31,
        ),
        Call("std.correction", (X, DS), {"correction": 2}, dtypes=_FLOAT, least=31),
        Call("std_mean.correction", (X, DS), {"correction": 0}, dtypes=_FLOAT, least=2),
    ),
    (Call("logsumexp", (X, DS, True), dtypes=_FLOAT, least=1),),
    (Call("nansum", (X, DS)), Call("nanmean", (X, DS, True), dtypes=_FLOAT)),
    (
        Call("linalg_vector_norm", (X, 2, DS), dtypes=(*_FLOAT, "complex64"), name="norm-2"),
        Call("linalg_vector_norm", (X, 1, DS, True), dtypes=_FLOAT, name="norm-1"),
        Call("linalg_vector_norm", (X, 3.5, DS), dtypes=_WIDE, name="norm-3.5"),
    ),
    (
        Call("linalg_vector_norm", (X, "inf", DS), dtypes=_FLOAT, least=1, name="norm-inf"),
        Call("linalg_vector_norm", (X, "-inf", DS), dtypes=_FLOAT, least=1, name="norm-least"),
        Call("linalg_vector_norm", (X, 0, DS), dtypes=_FLOAT, name="norm-0"),
    ),
)
ROWS = (
    (
        Call("median.dim", (X, D), grad=False, least=1, unstable="y1"),
        Call("nanmedian.dim", (X, D, True), grad=False, least=1, unstable="y1"),
        Call("mode", (X, D), grad=False, least=1, unstable="y1"),
    ),
    (
        Call("kthvalue", (X, K, D, True), least=1, unstable="y1"),
        Call("topk", (X, K, D), least=1, unstable="y1"),
        Call("topk", (X, K, D, False), least=1, unstable="y1", name="least-k"),
    ),
    (
        Call("sort", (X, D, True), unstable="y1"),
        Call("sort.stable", (X,), {"stable": True, "dim": D}, name="sort-stable"),
        Call("argsort.stable", (X,), {"stable": True, "dim": D, "descending": True}, grad=False),
    ),
    (Call("cumsum", (X, D), dtypes=_ALL), Call("cumprod", (X, D), dtypes=_ALL)),
    (Call("cummax", (X, D), least=1), Call("cummin", (X, D), least=1)),
    (Call("logcumsumexp", (X, D), dtypes=_FLOAT),),
    (
        Call("softmax.int", (X, D), dtypes=_FLOAT),
        Call("softmax.int", (X, D), {"dtype": "float64"}, dtypes=_FLOAT, name="softmax-wide"),
        Call("log_softmax.int", (X, D), dtypes=_FLOAT),
    ),
    (
        Call(
            "quantile.scalar", (X, 0.3, D, True), {"interpolation": "lower"}, dtypes=_WIDE, least=1
        ),
        Call("nanquantile.scalar", (X, 0.7, D), {"interpolation": "higher"}, dtypes=_WIDE, least=1),
    ),
    (Call("renorm", (X, 3, D, 1.5), dtypes=_WIDE, least=1, flags=frozenset({"matrix"})),),
    (
        Call("trapezoid.dx", (X,), {"dx": 0.5, "dim": D}, dtypes=_FLOAT, least=2),
        Call("cumulative_trapezoid.dx", (X,), {"dx": 0.5, "dim": D}, dtypes=_FLOAT, least=2),
        Call("diff", (X, 2, D), least=31),
    ),
)


def _long(calls: tuple[tuple[Call, ...], ...], specials: dict[str, str]) -> tuple[dict, ...]:
    """Rows of a million numbers and one, of calls whose time and memory grow with them alone; a
    special number is the last."""
    row = {"size": 2**20 + 1, "form": "vector", "place": "last", "layout": "misaligned"}
    row |= {"dtype": "float32", "gradient": "none"}
    named = {call.label: call for group in calls for call in group}
    return tuple({"call": named[label], **row, "special": s} for label, s in specials.items())


def _allowed(call: Call, row: dict) -> bool:
    size, form, special = row.get("size", 31), row.get("form", "last"), row.get("special", "none")
    dtype, gradient = row.get("dtype", "float32"), row.get("gradient", "none")
    if form == "cube" and size > 33 or special == "masked" and size > 65:
        return False
    if form == "vector" and "matrix" in call.flags:
        return False
    if form == "batch" and size == 0 and special != "none":
        return False
    if size == 0 and special != "none":
        return False
    if dtype == "int64" and special not in ("none", "ties", "huge"):
        return False
    if dtype == "bfloat16" and special == "far" or dtype == "complex64" and special != "none":
        return False
    # A gradient where eager's own is NaN, or rests on the order of equal elements, says nothing.
    if gradient != "none" and (dtype == "int64" or special not in ("none", "far", "huge")):
        return False
    # Of two numbers far from 0 the rounding of their mean is all that a gradient has.
    return gradient == "none" or size > (2 if special == "far" else 0)


def _instance(call: Call, row: dict) -> tuple[dict, dict]:
    shape, dim = FORMS[row["form"]]
    shape = [row["size"] if n == "n" else n for n in shape]
    n = shape[dim]
    x = tensor(shape, row["dtype"], row["layout"], row["special"], row["place"], dim, seed=1)
    known: dict = {"D": dim, "K": max(1, min(3, n) if n < 65 else n // 2)}
    if n > 2**20 and call.op.startswith("sum"):
        known["compare"] = {"y": f"close(k={n})"}  # two orders of a sum
    return {"x": x}, known


_FACTORS = {
    "size": SIZES,
    "form": tuple(FORMS),
    "special": SPECIALS,
    "place": PLACES,
    "layout": LAYOUTS,
    "dtype": _ALL,
    "gradient": GRADIENTS,
}
PARTS = (
    Part(
        "reductions",
        "Reductions of a dimension",
        ("reduction",),
        REDUCTIONS,
        _FACTORS,
        _allowed,
        _instance,
        _long(
            REDUCTIONS,
            {
                "sum": "none",
                "mean": "far",
                "amax": "nan",
                "argmax": "infinity",
                "max": "ties",
                "min": "minus-infinity",
                "any": "nan",
                "var": "far",
                "logsumexp": "none",
                "norm-2": "none",
            },
        ),
    ),
    Part(
        "along-a-dimension",
        "Sorts, scans, softmaxes and searches along a dimension",
        ("scan",),
        ROWS,
        _FACTORS,
        _allowed,
        _instance,
        _long(ROWS, {"cumsum": "ties", "softmax": "none"}),
    ),
)
