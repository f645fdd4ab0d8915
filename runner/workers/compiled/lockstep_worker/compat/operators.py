"""The dispatcher's overloads and their bindings in Python, as torch keeps them."""

import functools
import os
import types
from typing import Any, TypeAlias

import torch

#: Where torch has `while_loop`, `scan` and `associative_scan`, as a program writes it.
HIGHER_ORDER = "torch._higher_order_ops"

Overload: TypeAlias = torch._ops.OpOverload
Schema: TypeAlias = torch._C.FunctionSchema
#: Before the schema, in what a profiler sees of a kernel that Python asked for.
REDISPATCHED = "lockstep redispatched "


def overload(namespace: str, name: str, word: str) -> Overload | None:
    """The overload `namespace::name.word`, `default` for the nameless one; None where this torch
    has none."""
    try:
        # The dispatcher is asked first: `torch.ops` also finds methods of its own classes
        # (`torch.ops.import_module`) and TorchScript's operators (`aten::save` writes files).
        suffix = "" if word == "default" else f".{word}"
        if not torch._C._dispatch_has_kernel(f"{namespace}::{name}{suffix}"):
            return None
        found = getattr(getattr(getattr(torch.ops, namespace), name), word)
    except (RuntimeError, AttributeError):
        return None
    return found if isinstance(found, torch._ops.OpOverload) else None


def schema(op: Overload) -> Schema:
    """The schema of an overload."""
    return op._schema


def names() -> list[str]:
    """Every overload that the dispatcher knows, as `aten::add.Tensor`; a nameless one as
    `aten::relu`."""
    return sorted(torch._C._dispatch_get_all_op_names())


@functools.cache
def written(text: str) -> Overload | None:
    """The overload whose schema is written so: "aten::mm(Tensor self, …) -> Tensor"; None where
    there is none."""
    space, _, rest = text.partition("(")[0].partition("::")
    name, _, word = rest.partition(".")
    return overload(space, name, word or "default")


def is_composite(op: Overload) -> bool:
    """Whether an overload is nothing but calls of others, with or without gradients."""
    return torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), "CompositeImplicitAutograd")


def writes(op: Overload) -> bool:
    """Whether an overload writes to an argument."""
    return op._schema.is_mutable


def returns(op: Overload) -> tuple[bool, bool]:
    """Whether an overload returns tensors, and whether each of its results is a view of an
    argument."""
    views = [
        result.alias_info is not None and not result.alias_info.is_write
        for result in op._schema.returns
    ]
    return any("Tensor" in str(result.type) for result in op._schema.returns), bool(views) and all(
        views
    )


def show_redispatched() -> None:
    """Has a profiler see a kernel that Python asks for past the dispatcher, as `REDISPATCHED` and
    its schema. Raises `AttributeError` where this torch does not let it."""
    redispatch, past_modes = torch._ops.OpOverload.redispatch, torch._C._DisableTorchDispatch

    def shown(self: Overload, *args: Any, **kwargs: Any) -> Any:
        # What marks it is an operator itself, which must be nobody's to trace.
        mark = torch.profiler.record_function(f"{REDISPATCHED}{self._schema}")
        with past_modes():
            mark.__enter__()
        try:
            return redispatch(self, *args, **kwargs)
        finally:
            with past_modes():
                mark.__exit__(None, None, None)

    torch._ops.OpOverload.redispatch = shown


def is_tensor(declared: Any) -> bool:
    """Whether an argument of a schema is a Tensor."""
    return isinstance(declared.type, torch._C.TensorType)


def is_number(declared: Any) -> bool:
    """Whether an argument of a schema is a Scalar."""
    return isinstance(declared.type, torch._C.NumberType)


def _is_builtin(value: object) -> bool:
    """Whether a binding is C: Python wrappers have other parameters than the aten signature."""
    return isinstance(value, (types.BuiltinFunctionType, types.MethodDescriptorType))


def module_binding(module: str, name: str) -> Any:
    """The C binding `name` of one of torch's binding modules (`nn`, `linalg`), or None."""
    binding = getattr(getattr(torch._C, f"_{module}", None), name, None)
    return binding if _is_builtin(binding) else None


def module_path(module: str) -> str:
    """The dotted name of a module of C bindings."""
    return f"torch._C._{module}"


def is_method(name: str) -> bool:
    """Whether tensors have a method of this name that is C."""
    return _is_builtin(vars(torch.Tensor).get(name, getattr(torch._C.TensorBase, name, None)))


def is_function(name: str) -> bool:
    """Whether `torch.<name>` is C."""
    return _is_builtin(getattr(torch, name, None))


def declarations() -> str:
    """The path of torch's table of operators, which its wheel packages."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(torch.__file__)))
    return os.path.join(root, "torchgen", "packaged", "ATen", "native", "native_functions.yaml")


def opinfo() -> list[Any]:
    """The entries of torch's OpInfo database; ImportError where what it needs is not installed
    (`expecttest`)."""
    from torch.testing._internal.common_methods_invocations import op_db

    return list(op_db)
