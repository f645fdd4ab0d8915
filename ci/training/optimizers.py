"""Optimizers: each writes the parameters and its state, as torch.optim does it."""

from __future__ import annotations

from .program import Program, Value


def sgd(p: Program, parameters: list[str], grads: list[Value], lr: Value) -> None:
    """Momentum of 0.9, tensor by tensor."""
    for name, grad in zip(parameters, grads):
        momentum = p.state(f"m_{name}", name)
        p.do("mul_.Scalar", momentum, 0.9)
        p.do("add_.Tensor", momentum, grad)
        p.do("sub_.Tensor", f"%{name}", p.op("mul.Tensor", momentum, lr))


def adam(
    p: Program, parameters: list[str], grads: list[Value], lr: Value, decay: float = 0.0
) -> None:
    """Adam, or AdamW with `decay`, tensor by tensor; the step is counted in a tensor."""
    p.carry["step"] = "step"
    step = p.number("step", 0.0)
    p.do("add_.Scalar", step, 1)
    first = p.op("rsub.Scalar", p.op("pow.Scalar", 0.9, step), 1)
    second = p.op("rsub.Scalar", p.op("pow.Scalar", 0.999, step), 1)
    for name, grad in zip(parameters, grads):
        m, v = p.state(f"m_{name}", name), p.state(f"v_{name}", name)
        if decay:
            kept = p.op("rsub.Scalar", p.op("mul.Tensor", lr, decay), 1)
            p.do("mul_.Tensor", f"%{name}", kept)
        p.do("lerp_.Scalar", m, grad, 0.1)
        p.do("mul_.Scalar", v, 0.999)
        p.do("addcmul_", v, grad, grad, value=0.001)
        root = p.op("sqrt", p.op("div.Tensor", v, second))
        size = p.op("div.Tensor", lr, first)
        moved = p.op("div.Tensor", m, p.op("add.Scalar", root, 1e-8))
        p.do("sub_.Tensor", f"%{name}", p.op("mul.Tensor", moved, size))


def adamw(p: Program, parameters: list[str], grads: list[Value], lr: Value) -> None:
    """Adam whose weights decay."""
    adam(p, parameters, grads, lr, 0.01)


def adamw_foreach(p: Program, parameters: list[str], grads: list[Value], lr: Value) -> None:
    """AdamW by operators of lists, without the corrections of the first steps."""
    m = [p.state(f"m_{name}", name) for name in parameters]
    v = [p.state(f"v_{name}", name) for name in parameters]
    weights = [f"%{name}" for name in parameters]
    p.do("_foreach_mul_.Scalar", weights, 0.9999)
    p.do("_foreach_lerp_.Scalar", m, grads, 0.1)
    p.do("_foreach_mul_.Scalar", v, 0.999)
    p.do("_foreach_addcmul_.Scalar", v, grads, grads, 0.001)
    names: list[str | None] = [f"r_{name}" for name in parameters]
    roots = p.ops("_foreach_sqrt", names, v)
    p.do("_foreach_add_.Scalar", roots, 1e-8)
    moves: list[str | None] = [f"d_{name}" for name in parameters]
    moved = p.ops("_foreach_div.List", moves, m, roots)
    p.do("_foreach_mul_.Tensor", moved, lr)
    p.do("_foreach_sub_.List", weights, moved)


def sgd_fused(p: Program, parameters: list[str], grads: list[Value], lr: Value) -> None:
    """Momentum of 0.9 by the fused kernel, at a rate that is a constant: Dynamo takes no other."""
    momenta = [p.state(f"m_{name}", name) for name in parameters]
    p.do(
        "_fused_sgd_",
        [f"%{name}" for name in parameters],
        grads,
        momenta,
        weight_decay=0.01,
        momentum=0.9,
        lr=0.01,
        dampening=0.0,
        nesterov=True,
        maximize=False,
        is_first_step=False,
    )


def adamw_fused(p: Program, parameters: list[str], grads: list[Value], lr: Value) -> None:
    """AdamW by the fused kernel, likewise; with AMSGrad, for functionalisation takes no other."""
    m = [p.state(f"m_{name}", name) for name in parameters]
    v = [p.state(f"v_{name}", name) for name in parameters]
    most = [p.state(f"n_{name}", name) for name in parameters]
    steps = [p.number(f"step_{name}", 0.0) for name in parameters]
    p.carry |= {f"step_{name}": f"step_{name}" for name in parameters}
    p.do("_foreach_add_.Scalar", steps, 1)
    p.do(
        "_fused_adamw_",
        [f"%{name}" for name in parameters],
        grads,
        m,
        v,
        most,
        steps,
        lr=0.01,
        beta1=0.9,
        beta2=0.999,
        weight_decay=0.01,
        eps=1e-8,
        amsgrad=True,
        maximize=False,
    )


#: Those that take no rate from outside.
OF_CONSTANT_RATE = (sgd_fused, adamw_fused)
