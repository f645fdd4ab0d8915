"""What two results have besides values: dtype, shape and the rest, and who shares memory with
whom."""

from typing import Any

from .view import View


def metadata_difference(eager: Any, compiled: Any, strides: str) -> str:
    """What differs apart from the values, as a phrase; empty if nothing. `strides` is the case's
    rule."""
    if not isinstance(eager, View) or not isinstance(compiled, View):
        if type(eager) is type(compiled):
            return ""
        return f"eager {described(eager)}, compiled {described(compiled)}"
    for what in ("dtype", "shape", "device", "layout", "requires_grad", "quantizer"):
        if getattr(eager, what) != getattr(compiled, what):
            return f"{what}: eager {getattr(eager, what)}, compiled {getattr(compiled, what)}"
    if strides_differ(eager, compiled, strides):
        return f"strides: eager {eager.strides}, compiled {compiled.strides}"
    return ""


def strides_differ(eager: View, compiled: View, rule: str) -> bool:
    """Significant strides are those along more than one index, of tensors with elements."""
    if rule == "ignore":
        return False
    if rule == "exact":
        return eager.strides != compiled.strides
    return eager.elements > 0 and any(
        size > 1 and a != b
        for size, a, b in zip(eager.shape, eager.strides, compiled.strides, strict=True)
    )


def described(value: Any) -> str:
    return f"{value.dtype}{value.shape}" if isinstance(value, View) else repr(value)


def alias_difference(eager: dict[str, Any], compiled: dict[str, Any]) -> str:
    """What differs in who shares memory with whom among the values of a call, and in the offset of
    what shares; empty if nothing. Names are in the order inputs, outputs, gradients."""
    names = [
        name
        for name in eager
        if isinstance(eager[name], View) and isinstance(compiled.get(name), View)
    ]
    for i, name in enumerate(names):
        for other in names[:i]:
            e, c = (_shares(side[name], side[other]) for side in (eager, compiled))
            if e != c:
                return (
                    f"{name} {'shares' if e else 'does not share'} memory with {other}, "
                    f"compiled {'does' if c else 'does not'}"
                )
            if e and eager[name].offset != compiled[name].offset:
                return (
                    f"{name} shares memory with {other} at storage offset {eager[name].offset}, "
                    f"compiled at {compiled[name].offset}"
                )
    return ""


def _shares(a: View, b: View) -> bool:
    return a.storage == b.storage and a.bytes > 0 and b.bytes > 0
