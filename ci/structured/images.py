"""Windows over images: convolutions, exact in any order; pools; resampling. Images are square, so
that swapped strides are not seen by their sizes."""

from .family import Call, Part
from .tensors import LAYOUTS, PLACES, tensor

_FLOAT = ("float32", "float64", "bfloat16")
_WIDE = ("float32", "float64")
_X, _W, _B = "%x", "%w", "%b"
IMAGES = (*LAYOUTS, "channels-last")


def _of(
    rank: int, op: str, *args: object, weight: tuple = (), flag: str = "", **rest: object
) -> Call:
    """A call on images of `rank` dimensions; `weight`: the shape of a kernel, in which `C` is the
    number of channels."""
    rest.setdefault("dtypes", _FLOAT)
    return Call(op, args, flags=frozenset({rank, weight, flag} - {"", ()}), **rest)  # type: ignore[arg-type]


def _rank(call: Call) -> int:
    return next(flag for flag in call.flags if isinstance(flag, int))


CONVOLUTIONS = (
    (
        _of(1, "conv1d", _X, _W, _B, [2], [1], weight=(6, "C", 3)),
        _of(
            1,
            "conv1d",
            _X,
            _W,
            None,
            [1],
            [0],
            [2],
            weight=(6, "C", 3),
            least=5,
            name="conv1d-dilated",
        ),
        _of(1, "conv1d.padding", _X, _W, _B, [1], "same", weight=(6, "C", 3), name="conv1d-same"),
    ),
    (
        _of(2, "conv2d", _X, _W, _B, weight=(6, "C", 3, 3), least=3),
        _of(1, "conv_tbc", _X, _W, _B, 1, weight=(3, "N", 6), dtypes=_WIDE),
    ),
    (
        _of(
            2,
            "conv2d",
            _X,
            _W,
            None,
            [2, 1],
            [1, 0],
            weight=(6, "C", 3, 2),
            least=2,
            name="conv2d-strided",
        ),
        _of(
            2,
            "conv2d.padding",
            _X,
            _W,
            _B,
            [1, 1],
            "same",
            [1, 2],
            weight=(6, "C", 3, 2),
            name="conv2d-same",
        ),
    ),
    (
        _of(
            2,
            "conv2d",
            _X,
            _W,
            _B,
            [1, 1],
            [2, 1],
            [2, 1],
            2,
            weight=(6, "C/2", 3, 3),
            name="conv2d-groups",
        ),
    ),
    (
        _of(
            2,
            "conv2d",
            _X,
            _W,
            None,
            [1, 1],
            [1, 1],
            [1, 1],
            "C",
            weight=("C", 1, 3, 3),
            name="conv2d-each-channel",
        ),
    ),
    (_of(2, "conv2d", _X, _W, _B, weight=(6, "C", 1, 1), name="conv2d-of-one"),),
    (_of(3, "conv3d", _X, _W, _B, [1, 2, 1], [1, 0, 1], weight=(6, "C", 2, 2, 3), least=2),),
    (
        _of(1, "conv_transpose1d", _X, _W, _B, [2], [1], [1], weight=("C", 6, 3)),
        _of(
            3,
            "conv_transpose3d.input",
            _X,
            _W,
            None,
            [2, 2, 2],
            [0, 0, 0],
            [1, 1, 1],
            weight=("C", 6, 2, 2, 2),
        ),
    ),
    (
        _of(2, "conv_transpose2d.input", _X, _W, _B, [2, 3], [1, 0], [1, 2], weight=("C", 6, 3, 2)),
        _of(
            2,
            "conv_transpose2d.input",
            _X,
            _W,
            _B,
            [2, 2],
            [1, 1],
            [1, 1],
            2,
            [1, 2],
            weight=("C", 3, 3, 3),
            name="conv-transpose2d-groups",
        ),
    ),
)
POOLS = (
    (
        _of(1, "avg_pool1d", _X, [3], [2], [1], True, False),
        _of(
            3, "avg_pool3d", _X, [2, 3, 2], [2, 2, 2], [1, 1, 0], True, False, dtypes=_WIDE, least=3
        ),
    ),
    (_of(2, "avg_pool2d", _X, [2, 2], least=2),),
    (
        _of(
            2,
            "avg_pool2d",
            _X,
            [3, 2],
            [2, 1],
            [1, 0],
            True,
            False,
            least=2,
            name="avg-pool2d-ceil",
        ),
        _of(2, "avg_pool2d", _X, [3, 3], [2, 2], [1, 1], False, True, 5, name="avg-pool2d-divisor"),
    ),
    (
        _of(1, "max_pool1d_with_indices", _X, [3], [2], [1], [1], True),
        _of(
            3,
            "max_pool3d_with_indices",
            _X,
            [2, 2, 3],
            [1, 2, 2],
            [0, 1, 1],
            [1, 1, 2],
            True,
            least=5,
        ),
    ),
    (_of(2, "max_pool2d_with_indices", _X, [2, 2], least=2),),
    (
        _of(
            2,
            "max_pool2d_with_indices",
            _X,
            [3, 3],
            [2, 2],
            [1, 1],
            [1, 1],
            True,
            name="max-pool2d-ceil",
        ),
        _of(
            2,
            "max_pool2d_with_indices",
            _X,
            [3, 2],
            [1, 2],
            [1, 0],
            [2, 3],
            least=5,
            name="max-pool2d-dilated",
        ),
    ),
    (
        _of(1, "adaptive_avg_pool1d", _X, [5]),
        _of(2, "_adaptive_avg_pool2d", _X, [4, 3]),
        _of(2, "_adaptive_avg_pool2d", _X, [1, 1], name="adaptive-avg-pool2d-to-one"),
        _of(3, "_adaptive_avg_pool3d", _X, [2, 3, 2], dtypes=_WIDE),
    ),
    (
        _of(1, "adaptive_max_pool1d", _X, [5]),
        _of(2, "adaptive_max_pool2d", _X, [4, 3]),
        _of(3, "adaptive_max_pool3d", _X, [2, 3, 2], dtypes=_WIDE),
    ),
    (
        _of(
            2,
            "fractional_max_pool2d",
            _X,
            [2, 2],
            [2, 3],
            "%s",
            flag="samples",
            dtypes=_WIDE,
            least=5,
        ),
        _of(
            3,
            "fractional_max_pool3d",
            _X,
            [2, 2, 2],
            [2, 3, 2],
            "%s",
            flag="samples",
            dtypes=_WIDE,
            least=5,
        ),
    ),
    (
        _of(2, "im2col", _X, [3, 2], [1, 2], [1, 0], [2, 1], least=3),
        _of(2, "col2im", "%s", ["N", "N"], [2, 2], [1, 1], [0, 0], [1, 1], flag="columns", least=2),
        _of(2, "max_unpool2d", _X, "%s", ["N+1", "N+1"], flag="unpool"),
    ),
)
RESAMPLINGS = (
    (
        _of(1, "upsample_nearest1d", _X, [7]),
        _of(2, "upsample_nearest2d", _X, [7, 4]),
        _of(3, "upsample_nearest3d", _X, [3, 4, 7]),
    ),
    (_of(2, "_upsample_nearest_exact2d", _X, [7, 4]),),
    (
        _of(1, "upsample_linear1d", _X, [7], False),
        _of(3, "upsample_trilinear3d", _X, [3, 4, 7], True),
    ),
    (
        _of(2, "upsample_bilinear2d", _X, [9, 4], True, name="upsample-bilinear2d-corners"),
        _of(2, "upsample_bilinear2d", _X, [9, 4], False),
        _of(
            2,
            "upsample_bilinear2d.vec",
            _X,
            None,
            False,
            [1.5, 0.75],
            name="upsample-bilinear2d-factors",
            least=2,
        ),
    ),
    (
        _of(2, "upsample_bicubic2d", _X, [9, 4], True, name="upsample-bicubic2d-corners"),
        _of(2, "upsample_bicubic2d", _X, [9, 4], False),
    ),
    (_of(2, "_upsample_bilinear2d_aa", _X, [4, 3], False, dtypes=_WIDE),),
    (
        _of(2, "grid_sampler_2d", _X, "%s", 0, 0, False, flag="grid", dtypes=_WIDE),
        _of(
            2,
            "grid_sampler_2d",
            _X,
            "%s",
            0,
            1,
            True,
            flag="grid",
            dtypes=_WIDE,
            name="grid-sampler-2d-border",
        ),
        _of(
            2,
            "grid_sampler_2d",
            _X,
            "%s",
            0,
            2,
            False,
            flag="grid",
            dtypes=_WIDE,
            name="grid-sampler-2d-reflected",
        ),
    ),
    (
        _of(
            2,
            "grid_sampler_2d",
            _X,
            "%s",
            1,
            0,
            True,
            flag="grid",
            dtypes=_WIDE,
            name="grid-sampler-2d-nearest",
        ),
        _of(
            2,
            "grid_sampler_2d",
            _X,
            "%s",
            2,
            0,
            False,
            flag="grid",
            dtypes=_WIDE,
            name="grid-sampler-2d-bicubic",
        ),
        _of(3, "grid_sampler_3d", _X, "%s", 0, 1, False, flag="grid", dtypes=_WIDE),
    ),
    (
        _of(1, "reflection_pad1d", _X, [2, 1], least=3),
        _of(2, "reflection_pad2d", _X, [2, 1, 0, 2], least=3),
        _of(3, "reflection_pad3d", _X, [1, 1, 0, 2, 2, 0], least=3),
    ),
    (
        _of(1, "constant_pad_nd", _X, [2, -1, 1, 0], -2, least=2),
        _of(1, "replication_pad1d", _X, [2, 1]),
        _of(2, "replication_pad2d", _X, [2, 1, 0, 2]),
        _of(3, "replication_pad3d", _X, [1, 1, 0, 2, 2, 0]),
    ),
    (
        _of(2, "affine_grid_generator", "%s", ["B", 2, "N", 5], False, flag="theta", dtypes=_WIDE),
        _of(2, "pixel_shuffle", _X, 2, flag="four"),
        _of(2, "channel_shuffle", _X, 2, grad=False),
    ),
)


def _allowed(call: Call, row: dict) -> bool:
    special, gradient = row.get("special", "ties"), row.get("gradient", "none")
    if (
        _rank(call) == 3
        and row.get("size", 1) > 17
        or row.get("layout") == "channels-last"
        and _rank(call) == 1
    ):
        return False
    if "four" in call.flags and row.get("channels", 4) % 4:
        return False
    if row.get("batch") == 0 and (special not in ("none", "ties") or gradient != "none"):
        return False
    return gradient == "none" or special in ("none", "ties", "huge")


def _instance(call: Call, row: dict) -> tuple[dict, dict]:
    rank, channels = _rank(call), row["channels"]
    shape = [row["batch"], channels, *[row["size"]] * rank]
    n, columns = row["size"], [row["batch"], 4 * channels, (row["size"] - 1) ** 2]
    known: dict = {"C": channels, "N": n, "N+1": n + 1, "B": row["batch"]}
    if "columns" in call.flags or "theta" in call.flags:
        real = [row["batch"], 2, 3] if "theta" in call.flags else columns
        layout = "transposed" if row["layout"] == "channels-last" else row["layout"]
        return {
            "s": tensor(real, row["dtype"], layout, row["special"], row["place"], seed=1)
        }, known
    made = {"x": tensor(shape, row["dtype"], row["layout"], row["special"], row["place"], seed=1)}
    weight = next((flag for flag in call.flags if isinstance(flag, tuple)), None)
    if weight is not None:
        sizes: dict = {"C": channels, "C/2": channels // 2, "N": n}
        made["w"] = tensor(
            [sizes[n] if n in sizes else n for n in weight], row["dtype"], special="ties", seed=2
        )
        if _B in call.args:
            made["b"] = tensor([6], row["dtype"], special="ties", seed=3)
        exact = row["special"] == "ties" and row["dtype"] in _WIDE
        known["compare"] = {"y": "equal"} if exact else {}
    if "samples" in call.flags:
        known["fixed"] = ("s",)
        made["s"] = {**tensor([*shape[:2], rank], row["dtype"]), "fill": {"uniform": {}, "seed": 4}}
    if "unpool" in call.flags:
        order = {"permutation": {"block": n * n}, "seed": 4}
        made["s"] = {"dtype": "int64", "shape": shape, "fill": order}
    if "grid" in call.flags:
        grid = tensor([shape[0], *[4, 3, 5][:rank], rank], row["dtype"])
        made["s"] = {**grid, "fill": {"uniform": {"low": -1.25, "high": 1.25}, "seed": 4}}
    if "bicubic" in call.label:  # a sum of four by four, in either order
        known["compare"] = {"y": "any_of(close(k=16), no_worse(1))"}
    return made, known


def _part(file: str, title: str, tag: str, calls: tuple, sizes: tuple, specials: tuple) -> Part:
    return Part(
        file,
        title,
        (tag,),
        calls,
        {
            "size": sizes,
            "batch": (3, 1, 0),
            "channels": (4, 18),
            "layout": IMAGES,
            "special": specials,
            "place": PLACES,
            "dtype": _FLOAT,
            "gradient": ("none", "expanded", "transposed"),
        },
        _allowed,
        _instance,
    )


PARTS = (
    _part(
        "convolutions",
        "Convolutions over square images, exact in any order",
        "convolution",
        CONVOLUTIONS,
        (1, 3, 8, 17),
        ("ties", "nan", "infinity", "huge"),
    ),
    _part(
        "pools",
        "Pools and windows over square images",
        "pooling",
        POOLS,
        (1, 2, 5, 8, 33),
        ("none", "nan", "infinity", "minus-infinity", "minus-zero"),
    ),
    _part(
        "resamplings",
        "Resampling, sampling by a grid, and padding of square images",
        "resampling",
        RESAMPLINGS,
        (1, 2, 5, 8, 17),
        ("none", "nan", "infinity", "huge"),
    ),
)
