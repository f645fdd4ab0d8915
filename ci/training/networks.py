"""Networks: each gives its loss, and the names of its parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .program import Program, Value


class Network(NamedTuple):
    """What a network has been written as."""

    parameters: list[str]
    #: The loss of a batch, by the number of the micro-batch.
    loss: Callable[[int], Value]


def _parameter(p: Program, found: list[str], name: str, shape: list[int], std: float) -> Value:
    found.append(name)
    return p.normal(name, shape, std, requires_grad=True)


def mlp(p: Program, calls: int, dropout: bool = False) -> Network:
    """Three layers, GELU and ReLU, a squared error."""
    found: list[str] = []
    sizes = [12, 20, 8, 1]
    layers = [
        (
            _parameter(p, found, f"w{at}", [out, into], into**-0.5),
            _parameter(p, found, f"b{at}", [out], 0.1),
        )
        for at, (into, out) in enumerate(zip(sizes, sizes[1:]))
    ]

    def loss(batch: int) -> Value:
        x = p.normal(f"x{batch}", [16, sizes[0]])
        y = p.normal(f"y{batch}", [16, 1])
        for name in (f"x{batch}", f"y{batch}"):
            p.fresh(name, calls)
        h = x
        for at, (w, b) in enumerate(layers):
            h = p.op("linear", h, w, b)
            if at == 0:
                h = p.op("gelu", h)
                if dropout:
                    h = p.op("dropout", h, 0.25, True)
            elif at == 1:
                h = p.op("relu", h)
        return p.op("mse_loss", h, y)

    return Network(found, loss)


def cnn(p: Program, calls: int) -> Network:
    """A convolution, a batch norm with running statistics, a pool, classes."""
    found: list[str] = []
    kernel = _parameter(p, found, "kernel", [6, 3, 3, 3], 0.2)
    scale = _parameter(p, found, "scale", [6], 1.0)
    shift = _parameter(p, found, "shift", [6], 0.1)
    w = _parameter(p, found, "w", [5, 96], 0.1)
    b = _parameter(p, found, "b", [5], 0.1)
    mean, variance = p.state("mean", "shift"), p.state("variance", "shift", 1.0)

    def loss(batch: int) -> Value:
        x = p.normal(f"x{batch}", [8, 3, 10, 10])
        p.fresh(f"x{batch}", calls)
        of = p.given(
            f"y{batch}",
            {
                "dtype": "int64",
                "shape": [8],
                "fill": {"integers": {"low": 0, "high": 4}, "seed": 7},
            },
        )
        p.fresh(f"y{batch}", calls)
        h = p.op("conv2d", x, kernel)
        h = p.op("batch_norm", h, scale, shift, mean, variance, True, 0.1, 1e-5, False)
        h = p.op("max_pool2d", p.op("relu", h), [2, 2])
        h = p.op("linear", p.op("flatten.using_ints", h, 1), w, b)
        return p.op("cross_entropy_loss", h, of)

    return Network(found, loss)


def transformer(p: Program, calls: int) -> Network:
    """An embedding, one head of attention, layer norms, GELU, the next token."""
    found: list[str] = []
    tokens, width, words = 7, 16, 11
    table = _parameter(p, found, "table", [words, width], 0.5)
    qkv = _parameter(p, found, "qkv", [3 * width, width], 0.25)
    out = _parameter(p, found, "out", [width, width], 0.25)
    norms = [
        (
            _parameter(p, found, f"scale{at}", [width], 1.0),
            _parameter(p, found, f"shift{at}", [width], 0.1),
        )
        for at in range(2)
    ]
    up = _parameter(p, found, "up", [2 * width, width], 0.25)
    down = _parameter(p, found, "down", [width, 2 * width], 0.2)

    def loss(batch: int) -> Value:
        fill = {"integers": {"low": 0, "high": words - 1}, "seed": 3}
        x = p.given(f"x{batch}", {"dtype": "int64", "shape": [4, tokens], "fill": fill})
        p.fresh(f"x{batch}", calls)
        h = p.op("embedding", table, x)
        q, k, v = p.ops("chunk", ["q", "k", "v"], p.op("linear", h, qkv), 3, -1)
        scores = p.op("mul.Tensor", p.op("matmul", q, p.op("transpose.int", k, -2, -1)), 0.25)
        seen = p.op("tril", p.op("ones_like", scores))
        masked = p.op("masked_fill.Scalar", scores, p.op("eq.Scalar", seen, 0), -1e9)
        mixed = p.op("matmul", p.op("softmax.int", masked, -1), v)
        h = p.op("add.Tensor", h, p.op("linear", mixed, out))
        h = p.op("layer_norm", h, [width], *norms[0])
        inner = p.op("linear", p.op("gelu", p.op("linear", h, up)), down)
        h = p.op("layer_norm", p.op("add.Tensor", h, inner), [width], *norms[1])
        logits = p.op("linear", h, table)
        said = p.op("reshape", p.op("narrow", logits, 1, 0, tokens - 1), [-1, words])
        true = p.op("reshape", p.op("narrow", x, 1, 1, tokens - 1), [-1])
        return p.op("cross_entropy_loss", said, true)

    return Network(found, loss)
