"""Attention, distances and losses: functions of two tensors and more, whose formulas overflow,
cancel, or divide by what is masked away."""

from .family import Call, Part
from .tensors import LAYOUTS, PLACES, tensor

_FLOAT = ("float32", "float64", "bfloat16")
_WIDE = ("float32", "float64")
_Q, _K, _V, _M = "%q", "%k", "%v", "%m"
_X, _Y, _T, _W = "%x", "%b", "%t", "%w"
_ATTENTION = "scaled_dot_product_attention"


def _of(kind: str, op: str, *args: object, **rest: object) -> Call:
    """`kind`: what the operands look like."""
    rest.setdefault("dtypes", _WIDE)
    return Call(op, args, flags=frozenset({kind}), **rest)  # type: ignore[arg-type]


ATTENTIONS = (
    (_of("plain", _ATTENTION, _Q, _K, _V, name="attention"),),
    (_of("plain", _ATTENTION, _Q, _K, _V, None, 0.0, True, name="attention-causal"),),
    (_of("bool", _ATTENTION, _Q, _K, _V, _M, name="attention-masked-rows"),),
    (_of("float", _ATTENTION, _Q, _K, _V, _M, kwargs={"scale": 0.3}, name="attention-scaled"),),
    (_of("groups", _ATTENTION, _Q, _K, _V, kwargs={"enable_gqa": True}, name="attention-groups"),),
)
DISTANCES = (
    (
        _of("pair", "cdist", _X, _Y, 2, 1),
        _of("pair", "cdist", _X, _Y, 2, 2, name="cdist-without-products"),
        _of("pair", "cdist", _X, _Y, name="cdist-by-size"),
    ),
    (
        _of("pair", "cdist", _X, _Y, 1, name="cdist-1"),
        _of("pair", "cdist", _X, _Y, "inf", name="cdist-inf"),
        _of("pair", "cdist", _X, _Y, 3.5, name="cdist-3.5"),
        _of("pair", "cdist", _X, _Y, 0, name="cdist-0", grad=False),
    ),
    (_of("pair", "pdist", _X, 3), _of("same", "dist", _X, _Y, 1)),
    (
        _of("same", "pairwise_distance", _X, _Y, 3, 1e-2, True),
        _of("same", "cosine_similarity", _X, _Y, 0, 0.5),
    ),
)
LOSSES = (
    (
        _of("same", "mse_loss", _X, _Y, 2),
        _of("same", "l1_loss", _X, _Y, 0, name="l1-loss"),
        _of("same", "smooth_l1_loss", _X, _Y, 2, 0.5),
        _of("same", "huber_loss", _X, _Y, 1, 0.5),
    ),
    (
        _of("class", "nll_loss", _X, _T, _W, 2, 1),
        _of("class", "nll_loss", _X, _T, _W, 1, 0, name="nll-loss-mean"),
        _of("plane", "nll_loss2d", _X, _T, _W, 2, 1, grad=False),
    ),
    (
        _of("class", "cross_entropy_loss", _X, _T, _W, 1, 1, 0.1),
        _of("class", "cross_entropy_loss", _X, _T, None, 0, -100, 0.3, name="cross-entropy-each"),
    ),
    (
        _of("shares", "binary_cross_entropy", "%u", "%s", "%z", 2),
        _of(
            "shares",
            "binary_cross_entropy_with_logits",
            _X,
            "%s",
            None,
            "%z",
            1,
            name="bce-with-logits",
        ),
        _of("shares", "kl_div", _X, "%s", 2),
        _of("same", "kl_div", _X, _Y, 0, kwargs={"log_target": True}, name="kl-div-of-logarithms"),
    ),
    (
        _of("same", "poisson_nll_loss", _X, "%s", True, True, 1e-8, 2),
        _of("signs", "soft_margin_loss", _X, "%o", 2),
        _of("signs", "hinge_embedding_loss", _X, "%o", 0.5, 2),
        _of("signs", "margin_ranking_loss", _X, _Y, "%o", 0.5, 2),
    ),
    (
        _of("same", "triplet_margin_loss", _X, _Y, "%a", 0.5, 3, 1e-3, True, 2),
        _of("rows", "cosine_embedding_loss", _X, _Y, "%r", 0.25, 2),
        _of("class", "multi_margin_loss", _X, _T, 2, 0.5, _W, 2),
        _of("labels", "multilabel_margin_loss", _X, "%l", 2),
    ),
)


def _allowed(call: Call, row: dict) -> bool:
    special, gradient = row.get("special", "none"), row.get("gradient", "none")
    if special == "masked" and call.flags & {"plain", "bool", "groups"}:
        return False
    return gradient == "none" or special in ("none", "far", "masked")


def _attention(call: Call, row: dict) -> tuple[dict, dict]:
    n, rows = row["size"], row["rows"]
    heads = 2 if "groups" in call.flags else 4
    special = "none" if row["special"] == "masked" else row["special"]
    made = {
        "q": tensor([2, 4, rows, 8], row["dtype"], row["layout"], special, row["place"], seed=1),
        "k": tensor([2, heads, n, 8], row["dtype"], seed=2),
        "v": tensor([2, heads, n, 8], row["dtype"], seed=3),
    }
    if "bool" in call.flags:
        # A row is masked whole or not at all.
        made["m"] = {
            "dtype": "bool",
            "shape": [rows, n],
            "strides": [1, 0],
            "fill": {"mask": 0.5, "seed": 5},
        }
    if "float" in call.flags:
        made["m"] = tensor(
            [rows, n],
            row["dtype"],
            special="masked" if row["special"] == "masked" else "none",
            seed=4,
        )
    return made, {}


def _pairs(call: Call, row: dict) -> tuple[dict, dict]:
    n, dtype, width = row["size"], row["dtype"], row["width"]
    made = {"x": tensor([n, width], dtype, row["layout"], row["special"], row["place"], seed=1)}
    far = "far" if row["special"] == "far" else "none"
    made["b"] = tensor([5 if "pair" in call.flags else n, width], dtype, special=far, seed=2)
    made["a"] = tensor([n, width], dtype, special=far, seed=3)
    made["w"] = {**tensor([width], dtype), "fill": {"uniform": {"low": 0.5, "high": 2}, "seed": 4}}
    shares = {
        **tensor([n, width], dtype),
        "fill": {"uniform": {"low": 0.1, "high": 0.9}, "seed": 5},
    }
    made["u"], made["s"] = {**shares, "fill": {**shares["fill"], "seed": 6}}, shares
    made["z"] = {**shares, "fill": {**shares["fill"], "seed": 7}}
    made["o"] = {**shares, "fill": {"powers_of_two": {"least": 0, "greatest": 0}, "seed": 8}}
    made["r"] = {
        **tensor([n], dtype),
        "fill": {"powers_of_two": {"least": 0, "greatest": 0}, "seed": 9},
    }
    integers = {"integers": {"low": 0, "high": width}}
    made["t"] = {"dtype": "int64", "shape": [n], "fill": {**integers, "seed": 10}}
    made["l"] = {
        "dtype": "int64",
        "shape": [n, width],
        "fill": {"integers": {"low": -1, "high": width}, "seed": 11},
    }
    if "plane" in call.flags:
        made["x"] = tensor([n, width, 2, 2], dtype, row["layout"], row["special"], row["place"], 1)
        made["t"]["shape"] = [n, 2, 2]
    used = {each[1:] for each in (*call.args, *call.kwargs.values()) if isinstance(each, str)}
    # Weights and signs are no functions' arguments: eager refuses to differentiate by them.
    known = {"fixed": ("w", "z", "o", "r")}
    return {name: spec for name, spec in made.items() if name in used}, known


_FACTORS = {
    "place": PLACES,
    "layout": LAYOUTS,
    "dtype": _FLOAT,
    "gradient": ("none", "expanded", "transposed"),
}

PARTS = (
    Part(
        "attention",
        "Attention with masks, rows that are masked whole, groups of heads",
        ("attention",),
        ATTENTIONS,
        {
            "size": (2, 33),
            "rows": (5, 33),
            "special": ("none", "masked"),
            "place": ("first",),
            "layout": ("contiguous", "transposed", "expanded"),
            "dtype": _WIDE,
            "gradient": ("none", "expanded"),
        },
        _allowed,
        _attention,
        share=False,  # with dropout it would draw
    ),
    Part(
        "distances",
        "Distances and similarities of rows",
        ("distance",),
        DISTANCES,
        {
            "size": (2, 1, 26, 33),
            "width": (3, 1, 33, 129),
            "special": ("none", "far", "nan", "infinity", "huge"),
            **_FACTORS,
        },
        _allowed,
        _pairs,
    ),
    Part(
        "losses",
        "Losses with weights, margins, ignored targets and each way to reduce",
        ("loss",),
        LOSSES,
        {
            "size": (1, 2, 33, 65),
            "width": (5, 2, 33),
            "special": ("none", "nan", "infinity", "minus-infinity", "huge"),
            **_FACTORS,
        },
        _allowed,
        _pairs,
    ),
)
