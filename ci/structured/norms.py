"""Normalisations. A mean far above the deviation is where E[x²] - E[x]² has nothing left."""

import math

from .family import Call, Part
from .tensors import LAYOUTS, PLACES, tensor

_FLOAT = ("float32", "float64", "bfloat16")
_X, _W, _B, _N = "%x", "%w", "%b", ["N"]


def _of(shape: tuple, op: str, *args: object, weights: int = 0, **rest: object) -> Call:
    """`shape`: in which `N` is the size; `weights`: the dimension whose size the weights have."""
    rest.setdefault("dtypes", _FLOAT)
    return Call(op, args, flags=frozenset({shape, weights}), **rest)  # type: ignore[arg-type]


CALLS = (
    (
        _of((3, "N"), "layer_norm", _X, _N, _W, _B, weights=1),
        _of((2, "N", 4), "layer_norm", _X, ["N", 4], name="layer-norm-of-two", weights=0),
    ),
    (_of((5, "N"), "native_layer_norm", _X, _N, None, _B, 1e-3, weights=1),),
    (_of((3, "N"), "rms_norm", _X, _N, _W, 1e-3, weights=1),),
    (
        _of((2, 6, "N"), "group_norm", _X, 3, _W, _B, 1e-3, weights=1),
        _of((2, 6, 3, "N"), "group_norm", _X, 2, name="group-norm-plain", weights=1),
        _of((2, 6, "N"), "native_group_norm", _X, _W, None, 2, 6, "N", 3, 1e-3, weights=1),
    ),
    (
        _of(
            (3, 4, "N"), "instance_norm", _X, _W, _B, None, None, True, 0.1, 1e-5, False, weights=1
        ),
        _of(
            (3, 4, "N"),
            "instance_norm",
            _X,
            _W,
            _B,
            "%m",
            "%v",
            False,
            0.1,
            1e-3,
            False,
            weights=1,
            name="instance-norm-running",
        ),
    ),
    (
        _of(("N", 4, 3), "batch_norm", _X, _W, _B, None, None, True, 0.1, 1e-5, False, weights=1),
        _of((2, 3, "N"), "native_batch_norm", _X, _W, None, None, None, True, 0.1, 1e-3, weights=1),
    ),
    (
        _of(
            ("N", 4),
            "batch_norm",
            _X,
            _W,
            _B,
            "%m",
            "%v",
            False,
            0.1,
            1e-3,
            False,
            weights=1,
            name="batch-norm-running",
        ),
    ),
)


def _allowed(call: Call, row: dict) -> bool:
    special, gradient, size = (
        row.get("special", "none"),
        row.get("gradient", "none"),
        row.get("size", 2),
    )
    if special == "far" and row.get("dtype") == "bfloat16":
        return False
    if size == 1 and ("batch" in call.op or "instance" in call.op):
        return False
    # Of one number the gradient is 0, and eager's what rounding leaves.
    return gradient == "none" or size > 1 and special in ("none", "far")


def _instance(call: Call, row: dict) -> tuple[dict, dict]:
    shape = next(flag for flag in call.flags if isinstance(flag, tuple))
    real = [row["size"] if n == "N" else n for n in shape]
    made = {"x": tensor(real, row["dtype"], row["layout"], row["special"], row["place"], seed=1)}
    for seed, name in enumerate("wbmv", 2):
        if f"%{name}" in call.args:
            made[name] = tensor([real[1]], row["dtype"], seed=seed)
            if name == "v":
                made[name]["fill"] = {"uniform": {"low": 0.5, "high": 2}, "seed": seed}
    known: dict = {"N": row["size"], "fixed": ("m", "v")}
    if call.op.startswith("native") and row["special"] == "infinity":
        # What is kept for the backward of a row that is NaN throughout: no document says.
        known["compare"] = {"y1": "metadata", "y2": "metadata"}
    if row["special"] == "far" and row["dtype"] == "float32":
        # One step of float32 at 4096, where the mean lies, times a weight of 4 at most.
        known["compare"] = {"y": "any_of(close(rtol=1e-3, atol=2e-3), no_worse(1))"}
    if row["gradient"] != "none":
        # Two orders of a sum over what has a weight in common.
        terms = math.prod(real) // max(real[1], 1)
        sums = {f"{name}.grad": f"any_of(close(k={terms}), no_worse(1))" for name in "wb"}
        known["compare"] = {
            **known.get("compare", {}),
            **{name: policy for name, policy in sums.items() if name[0] in made},
        }
    return made, known


PART = Part(
    "norms",
    "Normalisations by layer, group, instance, batch, and root of the mean square",
    ("normalization",),
    CALLS,
    {
        "size": (33, 1, 2, 65, 161, 1025),
        "special": ("none", "far", "huge", "ties", "nan", "infinity"),
        "place": PLACES,
        "layout": LAYOUTS,
        "dtype": _FLOAT,
        "gradient": ("none", "expanded", "huge"),
    },
    _allowed,
    _instance,
)
