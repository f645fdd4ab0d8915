"""How an aten overload is written in Python: the binding that has the aten signature, else
`torch.ops.<namespace>.<name>.<overload>` with the overload written out.

The table is torch's own `native_functions.yaml`, which the wheel packages. Bindings choose their
overload by the arguments, so `add.Scalar` is reached as `add.Tensor` with a wrapped number; the
results are the same.
"""

import functools
import os
import re
import types
from typing import NamedTuple

import torch

from .problems import Malformed, Unsupported

_OPERATOR = re.compile(r"([A-Za-z_]\w*)::([A-Za-z_]\w*)\.([A-Za-z_]\w*)", re.ASCII)
_ENTRY = re.compile(r"^- func: (?:aten::)?(\w+(?:\.\w+)?)\(", re.ASCII)

#: Operators of the dispatcher that reach out of the process; the runner refuses them as well.
_REFUSED = frozenset({"aten::from_file", "aten::record_stream", "aten::_pin_memory"})
_REFUSED_TYPES = ("Storage", "Stream", "Generator", "__torch__")

#: torch's binding modules: the part of the yaml's `python_module` → module of the C bindings,
#: public module, prefix of the aten name that the public name lacks.
_MODULES = {
    "nn": ("torch._C._nn", "torch.nn.functional", ""),
    "special": ("torch._C._special", "torch.special", "special_"),
    "linalg": ("torch._C._linalg", "torch.linalg", "linalg_"),
    "fft": ("torch._C._fft", "torch.fft", "fft_"),
    "sparse": ("torch._C._sparse", "torch.sparse", "sparse_"),
    "nested": ("torch._C._nested", "torch.nested", "nested_"),
}

#: Operators of which torch itself takes a number for a Tensor and wraps it.
_NUMBERS = frozenset(
    {"add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide", "floor_divide"})


#: Overloads that return numbers: methods that everybody writes, though their bindings are made by
#: hand and the table does not have them.
_SIZES = {"aten::size.int": "size", "aten::sym_size.int": "size", "aten::stride.int": "stride",
          "aten::sym_stride.int": "stride", "aten::sym_numel": "numel", "aten::numel": "numel",
          "aten::dim": "dim", "aten::sym_storage_offset": "storage_offset"}


#: Overloads that torch's table promises a binding, and that no binding reaches.
_UNREACHED = frozenset({"aten::_softmax_backward_data.out", "aten::_test_ambiguous_defaults.b"})

#: Last arguments that some bindings take by their name alone: `x.add(a, b)` with two numbers is an old form for
#: `x + b * a`, and parsers made by hand know no place for a memory format.
_BY_NAME = {"alpha": frozenset({"add", "add_", "sub", "sub_"}), "memory_format": frozenset({"to", "is_contiguous"})}


class Argument(NamedTuple):
    """An argument as text, with what is known of it: `tensor`, `number`, `gaps` (a list that has
    None in it) or `other`."""

    text: str
    kind: str


@functools.lru_cache(maxsize=None)
def table() -> dict[str, tuple[frozenset, str | None]]:
    """Name with overload (`add.Tensor`, `relu`) → its variants (`function`, `method`) and its
    `python_module`. Scans lines, since torch does not install a YAML parser. Empty where the
    wheel lacks the file: then everything is spelled through `torch.ops`."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(torch.__file__)))
    path = os.path.join(root, "torchgen", "packaged", "ATen", "native", "native_functions.yaml")
    found: dict[str, tuple[frozenset, str | None]] = {}
    name, variants, module = None, frozenset({"function"}), None
    try:
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.startswith("- func:"):
                    if name is not None:
                        found[name] = (variants, module)
                    match = _ENTRY.match(line)
                    name = match.group(1) if match else None
                    variants, module = frozenset({"function"}), None
                elif line.startswith("  variants:"):
                    words = line.split("#")[0].split(":", 1)[1]
                    variants = frozenset(word.strip() for word in words.split(","))
                elif line.startswith("  python_module:"):
                    module = line.split("#")[0].split(":", 1)[1].strip()
    except OSError:
        return {}
    if name is not None:
        found[name] = (variants, module)
    return found


@functools.lru_cache(maxsize=None)
def resolve(operator: str) -> torch._ops.OpOverload:
    """The overload that `aten::name.overload` names. Raises `Malformed` for a text of another
    form, and `Unsupported` where this torch lacks it or the worker will not execute it."""
    match = _OPERATOR.fullmatch(operator) if isinstance(operator, str) else None
    if match is None:
        raise Malformed(f"{operator!r} is not an operator with its overload, like aten::add.Tensor")
    namespace, name, overload = match.groups()
    try:
        # The dispatcher is asked first: `torch.ops` also finds methods of its own classes
        # (`torch.ops.import_module`) and TorchScript's operators (`aten::save` writes files).
        suffix = "" if overload == "default" else f".{overload}"
        if not torch._C._dispatch_has_kernel(f"{namespace}::{name}{suffix}"):
            raise AttributeError(operator)
        found = getattr(getattr(getattr(torch.ops, namespace), name), overload)
    except (RuntimeError, AttributeError):
        raise Unsupported(f"torch {torch.__version__} has no operator {operator}") from None
    if not isinstance(found, torch._ops.OpOverload):
        raise Unsupported(f"torch {torch.__version__} has no operator {operator}")
    if f"{namespace}::{name}" in _REFUSED:
        raise Unsupported(f"{operator} reaches out of the process and is never executed")
    return found


def _is_builtin(value: object) -> bool:
    """Whether a binding is C: Python wrappers have other parameters than the aten signature."""
    return isinstance(value, (types.BuiltinFunctionType, types.MethodDescriptorType))


@functools.lru_cache(maxsize=None)
def bindings(op: torch._ops.OpOverload) -> dict[str, str]:
    """The bindings of an overload: `module` or `function` → its dotted name, `method` → its name."""
    if op.namespace != "aten":
        return {}
    name = op._schema.name.removeprefix("aten::")
    overload = op._schema.overload_name
    variants, module = table().get(f"{name}.{overload}" if overload else name, (frozenset(), None))
    found = {}
    if module in _MODULES:
        private, public, prefix = _MODULES[module]
        binding = getattr(getattr(torch._C, private.rsplit(".", 1)[1], None), name, None)
        if _is_builtin(binding):
            short = name.removeprefix(prefix)
            home = functools.reduce(lambda at, part: getattr(at, part, None), public.split(".")[1:], torch)
            # The public name reads better and is the very same object for most.
            same = getattr(home, short, None) is binding
            found["module"] = f"{public}.{short}" if same else f"{private}.{name}"
        return found
    if "method" in variants and _is_builtin(vars(torch.Tensor).get(name, getattr(torch._C.TensorBase, name, None))):
        found["method"] = name
    if "function" in variants and _is_builtin(getattr(torch, name, None)):
        found["function"] = f"torch.{name}"
    return found


def _takes_number(op: torch._ops.OpOverload, position: int) -> bool:
    """Whether torch's Python API wraps a number given for the Tensor at `position`."""
    name = op._schema.name.split("::")[1]
    if name.rstrip("_") in _NUMBERS:
        return True
    packet = op.overloadpacket
    for overload in packet.overloads():
        arguments = getattr(packet, overload)._schema.arguments
        if position < len(arguments) and isinstance(arguments[position].type, torch._C.NumberType):
            return True
    return False


def _check(op: torch._ops.OpOverload, args: list[Argument], kwargs: dict[str, Argument]) -> None:
    """Raises `Malformed` where the schema has no such argument, `Unsupported` where a number
    stands for a Tensor and Python has no spelling for that, or where a type is refused."""
    schema = op._schema
    where = op._schema.name + "." + (op._schema.overload_name or "default")
    positional = [argument for argument in schema.arguments if not argument.kwarg_only]
    if len(args) > len(positional):
        raise Malformed(f"{where} takes {len(positional)} positional arguments, not {len(args)}")
    named = {argument.name: i for i, argument in enumerate(schema.arguments)}
    given = [(i, argument) for i, argument in enumerate(args)]
    for key, argument in kwargs.items():
        if key not in named or named[key] < len(args):
            raise Malformed(f"{where} has no argument '{key}' left to name")
        given.append((named[key], argument))
    for i, argument in given:
        declared = schema.arguments[i].type
        if any(word in str(declared) for word in _REFUSED_TYPES) and argument.text != "None":
            raise Unsupported(f"{where} takes a {declared}, which no case can give")
        if argument.kind == "number" and isinstance(declared, torch._C.TensorType):
            if not _takes_number(op, i):
                raise Unsupported(f"{where} takes no number for its Tensor '{schema.arguments[i].name}' in Python")


def _join(args: list[Argument], kwargs: dict[str, Argument]) -> str:
    return ", ".join([argument.text for argument in args]
                     + [f"{key}={argument.text}" for key, argument in kwargs.items()])


def _without_binding(op: torch._ops.OpOverload, found: dict[str, str], args: list[Argument],
                     kwargs: dict[str, Argument]) -> bool:
    """Whether `op` has no binding that takes these arguments as the schema does."""
    schema = op._schema
    if not found or f"{schema.name}.{schema.overload_name}" in _UNREACHED:
        return True
    # The parser of `to` knows no layout, and no parser a list of tensors that has None in it.
    return found.get("method") == "to" and "layout" in kwargs or any(
        argument.kind == "gaps" for argument in (*args, *kwargs.values()))


def _as_bound(op: torch._ops.OpOverload, args: list[Argument],
              kwargs: dict[str, Argument]) -> tuple[list[Argument], dict[str, Argument]]:
    """The arguments as a binding takes them, where that is not how the schema says it."""
    schema, kwargs = op._schema, dict(kwargs)
    name = schema.name.removeprefix("aten::")
    for i, declared in enumerate(schema.arguments):
        if i < len(args) and name in _BY_NAME.get(declared.name, ()):
            args, kwargs[declared.name] = args[:i], args[i]
        # Bindings read the default `at::Reduction::Mean` as 0, which is `none`.
        if declared.name == "reduction" and declared.has_default_value() and i >= len(args) and "reduction" not in kwargs:
            kwargs["reduction"] = Argument(repr(declared.default_value), "number")
    outs = [a.name for a in schema.arguments if a.is_out]
    if outs and any(name in kwargs for name in outs):
        # Bindings call one result `out`, and several a tuple of that name.
        given = [kwargs[name].text for name in outs if name in kwargs]
        kwargs = {key: value for key, value in kwargs.items() if key not in outs}
        kwargs["out"] = Argument(given[0] if len(outs) == 1 else f"({', '.join(given)})", "other")
    return args, kwargs


def spell(op: torch._ops.OpOverload, args: list[Argument], kwargs: dict[str, Argument]) -> str:
    """The expression that calls `op`. Positional arguments follow the schema; raises as `_check`."""
    _check(op, args, kwargs)
    schema = op._schema
    size = _SIZES.get(schema.name + (f".{schema.overload_name}" if schema.overload_name else ""))
    if size and not kwargs and args and args[0].kind == "tensor":
        return f"{args[0].text}.{size}({_join(args[1:], kwargs)})"
    found = bindings(op)
    overload = schema.overload_name or "default"
    written_out = f"torch.ops.{op.namespace}.{schema.name.split('::')[1]}.{overload}({_join(args, kwargs)})"
    if _without_binding(op, found, args, kwargs):
        return written_out
    args, kwargs = _as_bound(op, args, kwargs)
    if "module" in found:
        return f"{found['module']}({_join(args, kwargs)})"
    first = schema.arguments[0].name if schema.arguments else None
    if "method" in found and first == "self" and args and args[0].kind == "tensor":
        return f"{args[0].text}.{found['method']}({_join(args[1:], kwargs)})"
    if "function" in found:
        return f"{found['function']}({_join(args, kwargs)})"
    return written_out
