"""Products of matrices, whose factors are small whole numbers: every order of a sum gives the same
bits."""

from .family import GRADIENTS, Call, Part
from .tensors import LAYOUTS, PLACES, tensor

_ALL = ("float32", "float64", "bfloat16", "int64", "complex64")
_FLOAT = ("float32", "float64", "bfloat16")
_A, _B, _C = "%a", "%b", "%c"
#: Shapes of `a`, `b` and `c`; k is what is summed over.
SHAPES: dict[str, tuple[list, list, list]] = {
    "mm": (["m", "k"], ["k", 5], ["m", 5]),
    "mv": (["m", "k"], ["k"], ["m"]),
    "dot": (["k"], ["k"], []),
    "bmm": ([3, "m", "k"], [3, "k", 5], [3, "m", 5]),
    "addbmm": ([3, "m", "k"], [3, "k", 5], ["m", 5]),
    "wide": ([2, 1, "m", "k"], [3, "k", 5], [5]),
    "broadcast": (["k"], [2, 3, "k", 5], [5]),
    "linear": ([2, 3, "k"], ["m", "k"], ["m"]),
    "bilinear": (["m", "k"], ["m", 3], [4, "k", 3]),
    "outer": (["m"], ["k"], ["m", "k"]),
    "tensordot": ([2, "k", 3], [3, 4, "k"], []),
}


def _of(shape: str, op: str, *args: object, c: bool = False, **rest: object) -> Call:
    """A call whose operands have the shapes of that name; `c`: there is a third."""
    flags = frozenset({shape, "c"} if c else {shape})
    rest.setdefault("dtypes", _ALL)
    return Call(op, args, flags=flags, **rest)  # type: ignore[arg-type]


CALLS = (
    (_of("mm", "mm", _A, _B),),
    (
        _of("mm", "addmm", _C, _A, _B, c=True),
        _of(
            "mm", "addmm", _C, _A, _B, c=True, kwargs={"beta": 2, "alpha": -1}, name="addmm-scaled"
        ),
        _of("mm", "addmm", _C, _A, _B, c=True, kwargs={"beta": 0}, name="addmm-alone"),
    ),
    (
        _of("mv", "mv", _A, _B),
        _of("mv", "addmv", _C, _A, _B, c=True, kwargs={"beta": -1, "alpha": 2}),
        _of("dot", "dot", _A, _B),
        _of("dot", "vdot", _A, _B),
    ),
    (
        _of("bmm", "bmm", _A, _B),
        _of("bmm", "baddbmm", _C, _A, _B, c=True, kwargs={"beta": 2, "alpha": 3}),
        _of("addbmm", "addbmm", _C, _A, _B, c=True, kwargs={"beta": 2, "alpha": -1}),
    ),
    (
        _of("wide", "matmul", _A, _B, name="matmul-wide"),
        _of("broadcast", "matmul", _A, _B, name="matmul-vector"),
    ),
    (
        _of("linear", "linear", _A, _B, name="linear-plain", dtypes=_FLOAT),
        _of("linear", "linear", _A, _B, _C, c=True, dtypes=_FLOAT),
    ),
    (_of("bilinear", "bilinear", _A, _B, _C, c=True, dtypes=_FLOAT, least=1),),
    (
        _of("outer", "outer", _A, _B),
        _of("outer", "addr", _C, _A, _B, c=True, kwargs={"beta": 2, "alpha": 3}),
        _of("mm", "kron", _A, _B, least=1),
    ),
    (
        _of("tensordot", "tensordot", _A, _B, [1, 2], [2, 0]),
        _of("bmm", "einsum", "bik,bkj->jb", [_A, _B]),
    ),
    (
        _of("mm", "chain_matmul", [_A, _B], dtypes=_FLOAT),
        _of("mm", "linalg_multi_dot", [_A, _B], dtypes=_FLOAT),
    ),
)


def _allowed(call: Call, row: dict) -> bool:
    size, special = row.get("size", 31), row.get("special", "none")
    if size == 0 and (special != "ties" or row.get("gradient", "none") != "none"):
        return False
    if row.get("dtype") == "int64" and (special != "ties" or row.get("gradient", "none") != "none"):
        return False
    if row.get("dtype") == "complex64" and special != "ties":
        return False
    return not ("kron" in call.op and (size > 65 or row.get("batch", 1) > 33))


def _instance(call: Call, row: dict) -> tuple[dict, dict]:
    shapes = next(SHAPES[name] for name in SHAPES if name in call.flags)
    sizes = {"k": row["size"], "m": row["batch"]}
    made = {}
    layouts = {"a": row["layout"], "b": row["second"], "c": "contiguous"}
    for seed, (name, shape) in enumerate(zip("abc", shapes), 1):
        if name == "c" and "c" not in call.flags:
            continue
        real = [sizes.get(n, n) for n in shape]
        # An infinity times zero is NaN: the special number stands in the first operand alone.
        special = row["special"] if name == "a" else "ties"
        made[name] = tensor(real, row["dtype"], layouts[name], special, row["place"], seed=seed)
    exact = row["special"] == "ties" and row["dtype"] in ("float32", "float64")
    return made, {"compare": {"y": "equal"} if exact else {}}


PART = Part(
    "products",
    "Products of vectors, matrices and batches of them, exact in any order",
    ("matmul",),
    CALLS,
    {
        "size": (0, 1, 2, 31, 33, 65, 129, 161, 1025),
        "batch": (1, 2, 33),
        "special": ("ties", "nan", "infinity", "minus-zero", "huge"),
        "place": PLACES,
        "layout": LAYOUTS,
        "second": ("contiguous", "transposed", "expanded", "misaligned"),
        "dtype": _ALL,
        "gradient": GRADIENTS,
    },
    _allowed,
    _instance,
)
