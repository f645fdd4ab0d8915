"""The cases: a network, an optimizer, what stands around them, so many steps."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Callable

from lockstep.capturing import cases

from . import networks, optimizers
from .program import Program, Value

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "cases" / "training"


@dataclasses.dataclass
class Training:
    """One case."""

    name: str
    title: str
    network: Callable
    optimizer: Callable
    steps: int
    #: The rate of each step: the same, or warmed up and then on a cosine.
    schedule: bool = False
    accumulated: int = 1  #: micro-batches whose gradients are added
    clipped: bool = False  #: the norm of all gradients together is at most 0.5
    dropout: bool = False
    #: Autocast to this dtype; float16 with a scaler that skips steps.
    autocast: str = ""
    #: Whether the network alone is compiled, and gradients and optimizer stand beside it.
    beside: bool = False


FAMILY = [
    Training("mlp-sgd-5", "An MLP, SGD with momentum, 5 steps", networks.mlp, optimizers.sgd, 5),
    Training(
        "mlp-adam-20", "An MLP, Adam with a schedule, 20 steps", networks.mlp, optimizers.adam, 20,
        schedule=True,
    ),
    Training(
        "mlp-adamw-foreach-20", "An MLP, AdamW by operators of lists, 20 steps", networks.mlp,
        optimizers.adamw_foreach, 20,
    ),
    Training(
        "mlp-adamw-fused-5", "An MLP, the fused AdamW, 5 steps", networks.mlp,
        optimizers.adamw_fused, 5,
    ),
    Training(
        "mlp-accumulated-clipped-20",
        "An MLP, gradients of three micro-batches, clipped, SGD, 20 steps", networks.mlp,
        optimizers.sgd, 20, accumulated=3, clipped=True,
    ),
    Training(
        "mlp-dropout-5", "An MLP with dropout, Adam, 5 steps", networks.mlp, optimizers.adam, 5,
        dropout=True,
    ),
    Training(
        "mlp-scaler-20", "An MLP in float16 with a scaler that skips steps, SGD, 20 steps",
        networks.mlp, optimizers.sgd, 20, autocast="float16",
    ),
    Training(
        "cnn-sgd-20", "A CNN with a batch norm, SGD with a schedule, 20 steps", networks.cnn,
        optimizers.sgd, 20, schedule=True,
    ),
    Training(
        "cnn-adamw-5", "A CNN with a batch norm, AdamW, 5 steps", networks.cnn, optimizers.adamw, 5
    ),
    Training(
        "cnn-sgd-fused-5", "A CNN with a batch norm, the fused SGD, 5 steps", networks.cnn,
        optimizers.sgd_fused, 5,
    ),
    Training(
        "transformer-adam-5", "A small transformer, Adam, 5 steps", networks.transformer,
        optimizers.adam, 5,
    ),
    Training(
        "transformer-adamw-clipped-20", "A small transformer, AdamW with a schedule, clipped, 20 "
        "steps", networks.transformer, optimizers.adamw, 20, schedule=True, clipped=True,
    ),
    Training(
        "transformer-bfloat16-5", "A small transformer in bfloat16, AdamW, 5 steps",
        networks.transformer, optimizers.adamw, 5, autocast="bfloat16",
    ),
    Training(
        "mlp-adam-beside-20", "An MLP that is compiled, Adam beside it, 20 steps", networks.mlp,
        optimizers.adam, 20, beside=True,
    ),
    Training(
        "cnn-sgd-beside-20", "A CNN with a batch norm that is compiled, SGD beside it, 20 steps",
        networks.cnn, optimizers.sgd, 20, beside=True,
    ),
    Training(
        "transformer-adamw-foreach-beside-5",
        "A small transformer that is compiled, AdamW by operators of lists beside it, 5 steps",
        networks.transformer, optimizers.adamw_foreach, 5, beside=True,
    ),
]  # fmt: skip


def rate(step: int, steps: int) -> float:
    """Three steps of warming up, then down in a straight line."""
    return round(0.01 * min(step + 1, 3) / 3 * (1 - step / (2 * steps)), 6)


def accumulate(p: Program, of: Training, network: networks.Network, scale: Value) -> list[Value]:
    """The gradients of all micro-batches, each scaled; the losses are outputs."""
    totals: list[Value] = []
    for batch in range(of.accumulated):
        if of.autocast:
            p.begin({"autocast": {"device": "cpu", "dtype": of.autocast}})
        loss = network.loss(batch)
        if of.autocast:
            p.end()
        # A result may not hang on the graph that its gradients have used up.
        name = f"loss{batch}" if of.accumulated > 1 else "loss"
        if of.beside:
            p.begin({"compiled": False})
        p.outputs.append(p.op("detach", loss, let=name))
        scaled = p.op("mul.Tensor", loss, scale) if scale else loss
        grads = p.grad(scaled, [f"%{name}" for name in network.parameters])
        totals = [p.op("add.Tensor", a, b) for a, b in zip(totals, grads)] or grads
    return totals


def clip(p: Program, grads: list[Value]) -> list[Value]:
    """As torch.nn.utils.clip_grad_norm_ does it; the norm is an output."""
    norms = p.op("stack", [p.op("linalg_vector_norm", grad) for grad in grads])
    norm = p.op("linalg_vector_norm", norms, let="norm")
    p.outputs.append(norm)
    factor = p.op(
        "clamp", p.op("mul.Tensor", p.op("reciprocal", p.op("add.Scalar", norm, 1e-6)), 0.5),
        None, 1.0,
    )  # fmt: skip
    return [p.op("mul.Tensor", grad, factor) for grad in grads]


def unscale(p: Program, grads: list[Value], scale: Value) -> tuple[list[Value], Value]:
    """The gradients as they are without the scaler, and whether they are all finite; those that are
    not become zeros, and the scaler learns of it."""
    inverse = p.op("reciprocal", scale)
    plain = [p.op("mul.Tensor", grad, inverse) for grad in grads]
    all_finite = p.op("stack", [p.op("all", p.op("isfinite", grad)) for grad in plain])
    finite = p.op("all", all_finite, let="finite")
    p.outputs.append(finite)
    grown, halved = p.op("mul.Tensor", scale, 2.0), p.op("mul.Tensor", scale, 0.5)
    p.do("copy_", scale, p.op("where.self", finite, grown, halved))
    return [p.op("nan_to_num", grad, 0.0, 0.0, 0.0) for grad in plain], finite


def written(of: Training) -> dict:
    """The case of one training."""
    p = Program()
    more = {"dropout": True} if of.dropout else {}
    network = of.network(p, of.steps, **more)
    lr = ""
    if of.optimizer not in optimizers.OF_CONSTANT_RATE:
        lr = p.number("lr", rate(0, of.steps) if of.schedule else 0.01)
    if of.schedule:
        p.later["lr"] = [{"values": [rate(step, of.steps)]} for step in range(of.steps)]
    scale = ""
    if of.autocast == "float16":
        p.carry["scale"] = "scale"
        scale = p.number("scale", 2.0**14)
    grads = accumulate(p, of, network, scale)
    p.begin({"grad": False})
    if scale:
        grads, _ = unscale(p, grads, scale)
    if of.clipped:
        grads = clip(p, grads)
    of.optimizer(p, network.parameters, grads, lr)
    p.end()
    if of.beside:
        p.end()
    p.carry |= {name: name for name in network.parameters}
    return p.case(of.title, of.steps)


def document(of: Training) -> str:
    """The text of its file: a line for each step, input and call."""
    return cases.text(written(of))


def main(arguments: list[str]) -> int:
    """Writes the files, or says which differ."""
    FOLDER.mkdir(exist_ok=True)
    differing = []
    for each in FAMILY:
        file, text = FOLDER / f"{each.name}.json", document(each)
        if file.exists() and file.read_text("utf-8") == text:
            continue
        differing.append(each.name)
        if arguments != ["--check"]:
            file.write_text(text, "utf-8")
    print("\n".join(differing))
    return int(arguments == ["--check"] and bool(differing))
