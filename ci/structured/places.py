"""Reading and writing at places: gather and scatter with repeated indices, masks, bags, searches.
Numbers are small and whole where they are added, so that every order gives the same bits."""

from .family import Call, Part
from .tensors import LAYOUTS, PLACES, tensor

_ALL = ("float32", "float64", "bfloat16", "int64")
_FLOAT = ("float32", "float64", "bfloat16")
_WIDE = ("float32", "float64")
_X, _I, _S, _M, _O, _P = "%x", "%i", "%s", "%m", "%o", "%p"


def _of(kind: str, op: str, *args: object, **rest: object) -> Call:
    """`kind`: what the indices and sources look like, of `_KINDS`."""
    return Call(op, args, flags=frozenset({kind}), **rest)  # type: ignore[arg-type]


CALLS = (
    (
        _of("signed", "take", _X, _I),
        _of("signed", "index.Tensor", _X, [_I], name="index"),
        _of("signed", "index.Tensor", _X, [None, "%j"], name="index-columns"),
    ),
    (
        _of("grid", "gather", _X, 0, _I),
        _of("grid", "take_along_dim", _X, _I, 0),
        _of("rows", "index_select", _X, 0, _I),
    ),
    (_of("rows", "index_add", _X, 0, _I, _S, kwargs={"alpha": 2}),),
    (
        _of("unique", "index_copy", _X, 0, _I, _S),
        _of("rows", "index_fill.int_Scalar", _X, 0, _I, 3),
        _of("unique", "index_put", _X, [_I], _S, name="index-put-once"),
    ),
    (
        _of("signed", "index_put", _X, [_I], _S, True),
        _of("signed", "put", _X, _I, "%f", True, name="put-adding"),
    ),
    (
        _of(
            "rows",
            "index_reduce",
            _X,
            0,
            _I,
            _S,
            "amax",
            kwargs={"include_self": False},
            name="index-reduce-amax",
        ),
        _of(
            "rows",
            "index_reduce",
            _X,
            0,
            _I,
            _S,
            "mean",
            kwargs={"include_self": False},
            name="index-reduce-mean",
            dtypes=_WIDE,
        ),
        _of(
            "rows",
            "index_reduce",
            _X,
            0,
            _I,
            _S,
            "prod",
            name="index-reduce-prod",
            dtypes=_WIDE,
            grad=False,
        ),
    ),
    (
        _of("grid", "scatter_add", _X, 0, _I, _S),
        _of(
            "grid",
            "scatter.reduce",
            _X,
            0,
            _I,
            _S,
            kwargs={"reduce": "add"},
            name="scatter-reduce-add",
            grad=False,
        ),
    ),
    (
        _of("grid", "scatter.value", _X, 0, _I, 2.5, dtypes=_FLOAT),
        _of(
            "grid", "scatter.value_reduce", _X, 0, _I, 2, kwargs={"reduce": "multiply"}, grad=False
        ),
    ),
    (_of("grid", "scatter_reduce.two", _X, 0, _I, _S, "amax", name="scatter-reduce-amax"),),
    (
        _of(
            "grid",
            "scatter_reduce.two",
            _X,
            0,
            _I,
            _S,
            "amin",
            kwargs={"include_self": False},
            name="scatter-reduce-amin",
        ),
    ),
    (
        _of(
            "grid",
            "scatter_reduce.two",
            _X,
            0,
            _I,
            _S,
            "mean",
            kwargs={"include_self": False},
            name="scatter-reduce-mean",
            dtypes=_WIDE,
        ),
        _of(
            "grid",
            "scatter_reduce.two",
            _X,
            0,
            _I,
            _S,
            "prod",
            name="scatter-reduce-prod",
            dtypes=_WIDE,
        ),
        _of(
            "grid",
            "scatter_reduce.two",
            _X,
            0,
            _I,
            _S,
            "sum",
            kwargs={"include_self": False},
            name="scatter-reduce-sum",
        ),
    ),
    (
        _of("mask", "masked_scatter", _X, _M, _S),
        _of("mask", "masked_select", _X, _M, grad=False),
        _of("mask", "masked_fill.Scalar", _X, _M, -1),
    ),
    (_of("rows", "embedding", _X, _I, "L", dtypes=_FLOAT),),
    (_of("rows", "embedding", _X, _I, -1, True, dtypes=_WIDE, name="embedding-by-frequency"),),
    (
        _of(
            "bag",
            "embedding_bag.padding_idx",
            _X,
            _I,
            _O,
            False,
            0,
            False,
            _P,
            True,
            None,
            dtypes=_WIDE,
            name="bag-weighted-sum",
        ),
        _of(
            "bag",
            "embedding_bag.padding_idx",
            _X,
            _I,
            _O,
            False,
            1,
            False,
            None,
            False,
            "L",
            dtypes=_WIDE,
            least=2,
            name="bag-mean-padded",
        ),
    ),
    (
        _of(
            "bag",
            "embedding_bag.padding_idx",
            _X,
            _I,
            _O,
            False,
            2,
            False,
            None,
            False,
            None,
            dtypes=_WIDE,
            name="bag-max",
        ),
        _of(
            "bag",
            "embedding_bag.padding_idx",
            _X,
            _I,
            _O,
            True,
            0,
            False,
            None,
            False,
            "L",
            dtypes=_WIDE,
            least=2,
            name="bag-sum-padded",
        ),
    ),
    (
        _of(
            "search",
            "searchsorted.Tensor",
            "%q",
            _S,
            kwargs={"right": True, "sorter": "%z"},
            dtypes=_WIDE,
            grad=False,
        ),
        _of(
            "search",
            "searchsorted.Tensor",
            "%q",
            _S,
            kwargs={"side": "right", "out_int32": True, "sorter": "%z"},
            dtypes=_WIDE,
            grad=False,
            name="searchsorted-side",
        ),
        _of(
            "search",
            "bucketize.Tensor",
            _S,
            "%u",
            kwargs={"right": True, "out_int32": True},
            dtypes=_WIDE,
            grad=False,
        ),
    ),
    (
        _of("count", "histc", _X, 7, -2, 2, dtypes=_WIDE, grad=False),
        _of("count", "bincount", "%n", "%w", 12, grad=False, dtypes=_WIDE),
        _of("count", "isin.Tensor_Tensor", _X, _S, kwargs={"invert": True}, grad=False),
    ),
    (
        _of(
            "parts",
            "segment_reduce",
            _X,
            "mean",
            kwargs={"lengths": "%h", "initial": 2},
            dtypes=_WIDE,
        ),
        _of(
            "parts",
            "segment_reduce",
            _X,
            "max",
            kwargs={"lengths": "%h", "initial": -1},
            dtypes=_WIDE,
            grad=False,
            name="segment-reduce-max",
        ),
    ),
)


def _allowed(call: Call, row: dict) -> bool:
    special, gradient = row.get("special", "ties"), row.get("gradient", "none")
    if row.get("dtype") == "int64" and (special not in ("ties", "huge") or gradient != "none"):
        return False
    if special == "huge" and row.get("dtype", "int64") != "int64":
        return False
    # Who gets the gradient of equal elements is eager's choice.
    if gradient != "none" and (
        special != "ties" or any(word in call.label for word in ("amax", "amin", "bag-max"))
    ):
        return False
    return True


def _integers(shape: list[int], low: int, high: int, seed: int) -> dict:
    return {
        "dtype": "int64",
        "shape": shape,
        "fill": {"integers": {"low": low, "high": high}, "seed": seed},
    }


def _instance(call: Call, row: dict) -> tuple[dict, dict]:
    n, m, dtype = row["size"], row["count"], row["dtype"]
    kind = next(iter(call.flags))
    made = {"x": tensor([n, 3], dtype, row["layout"], row["special"], row["place"], 0, seed=1)}
    shapes = {"grid": [m, 3], "unique": [n], "mask": [n, 3]}
    low = -n if kind == "signed" else 0
    if row["index"] == "same":
        made["i"] = {
            "dtype": "int64",
            "shape": shapes.get(kind, [m]),
            "fill": {"constant": low or n - 1},
        }
    else:
        made["i"] = _integers(shapes.get(kind, [m]), low, n, seed=2)
    if kind == "unique":
        made["i"] = {"dtype": "int64", "shape": [n], "fill": {"permutation": {}, "seed": 2}}
    made["s"] = tensor([n if kind in ("unique", "mask") else m, 3], dtype, special="ties", seed=3)
    made["f"] = tensor([m], dtype, special="ties", seed=4)
    made["j"] = _integers([m], -3, 3, seed=5)
    made["m"] = {"dtype": "bool", "shape": [n, 3], "fill": {"mask": 0.5, "seed": 6}}
    made["o"] = {"dtype": "int64", "values": [0, min(2, m), min(2, m), m]}
    made["p"] = tensor([m], dtype, special="ties", seed=7)
    # Boundaries in descending order, which `z` sorts; and in order.
    made["q"] = {"dtype": dtype, "shape": [n], "fill": {"arange": {"start": n // 2, "step": -1}}}
    made["z"] = {"dtype": "int64", "shape": [n], "fill": {"arange": {"start": n - 1, "step": -1}}}
    made["u"] = {"dtype": dtype, "shape": [n], "fill": {"arange": {"start": -(n // 2)}}}
    made["n"] = _integers([m], 0, 9, seed=8)
    made["w"] = tensor([m], dtype, special="ties", seed=9)
    made["h"] = {"dtype": "int64", "values": [n // 2, 0, n - n // 2]}
    used = {
        text[1:] for text in _texts([call.args, [*call.kwargs.values()]]) if text.startswith("%")
    }
    whole = row["special"] == "ties" and dtype in _WIDE and row["gradient"] == "none"
    exact = whole and not call.flags & {"search", "count", "parts"}
    known = {"L": n - 1, "compare": {"y": "equal"} if exact else {}}
    return {name: spec for name, spec in made.items() if name in used}, known


def _texts(value: object) -> list[str]:
    if isinstance(value, (list, tuple)):
        return [text for each in value for text in _texts(each)]
    return [value] if isinstance(value, str) else []


def _none() -> tuple[dict, ...]:
    """Rows without a place."""
    row = {"size": 31, "count": 0, "index": "any", "special": "ties", "place": "first"}
    row |= {"layout": "contiguous", "dtype": "float32", "gradient": "none"}
    wanted = ("take", "gather", "index_add", "index_put", "scatter_add", "embedding", "bincount")
    named = {call.label: call for group in CALLS for call in group}
    return tuple({"call": named[label], **row} for label in wanted)


PART = Part(
    "places",
    "Reading and writing at places, with repeated and negative indices, masks, bags and searches",
    ("indexing",),
    CALLS,
    {
        "size": (31, 1, 2, 65, 1025),
        "count": (70, 7),
        "index": ("any", "same"),
        "special": ("ties", "nan", "minus-infinity", "huge"),
        "place": PLACES,
        "layout": LAYOUTS,
        "dtype": _ALL,
        "gradient": ("none", "expanded", "transposed"),
    },
    _allowed,
    _instance,
    _none(),
)
