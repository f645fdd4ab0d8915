"""How an aten overload is written in Python: the binding that has the aten signature, else
`torch.ops.<namespace>.<name>.<overload>` with the overload written out.

The table is torch's own `native_functions.yaml`, which the wheel packages. Bindings choose their
overload by the arguments, so `add.Scalar` is reached as `add.Tensor` with a wrapped number; the
results are the same.
"""

import functools
import re
from typing import NamedTuple

import torch

from .compat import operators
from .compat.operators import Overload, schema
from .problems import Malformed, Unsupported

_OPERATOR = re.compile(r"([A-Za-z_]\w*)::([A-Za-z_]\w*)\.([A-Za-z_]\w*)", re.ASCII)
_ENTRY = re.compile(r"^- func: (?:aten::)?(\w+(?:\.\w+)?)\(", re.ASCII)

#: Operators of the dispatcher that reach out of the process; the runner refuses them as well.
_REFUSED = frozenset({"aten::from_file", "aten::record_stream", "aten::_pin_memory"})
_REFUSED_TYPES = ("Storage", "Stream", "Generator", "__torch__")

#: torch's binding modules: the `python_module` of its table → public module, prefix of the aten
#: name that the public name lacks.
_MODULES = {
    "nn": ("torch.nn.functional", ""),
    "special": ("torch.special", "special_"),
    "linalg": ("torch.linalg", "linalg_"),
    "fft": ("torch.fft", "fft_"),
    "sparse": ("torch.sparse", "sparse_"),
    "nested": ("torch.nested", "nested_"),
}

#: Operators of which torch itself takes a number for a Tensor and wraps it.
_NUMBERS = frozenset(
    {"add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide", "floor_divide"}
)


#: Overloads that return numbers: methods that everybody writes, though their bindings are made by
#: hand and the table does not have them.
_SIZES = {
    "aten::size.int": "size",
    "aten::sym_size.int": "size",
    "aten::stride.int": "stride",
    "aten::sym_stride.int": "stride",
    "aten::sym_numel": "numel",
    "aten::numel": "numel",
    "aten::dim": "dim",
    "aten::sym_storage_offset": "storage_offset",
    "aten::sym_is_contiguous": "is_contiguous",
}


#: Overloads that torch's table says have a binding, and that no binding reaches.
_UNREACHED = frozenset({"aten::_softmax_backward_data.out", "aten::_test_ambiguous_defaults.b"})

#: Namespaces of torch's own operators.
_TORCHS = frozenset({"aten", "prims"})
#: Last arguments that some bindings take by their name alone: `x.add(a, b)` with two numbers is an
#: old form for `x + b * a`, and parsers made by hand know no place for a memory format.
_BY_NAME = {
    "alpha": frozenset({"add", "add_", "sub", "sub_"}),
    "memory_format": frozenset({"to", "is_contiguous", "sym_is_contiguous"}),
}


class Argument(NamedTuple):
    """An argument as text, with what is known of it: `tensor`, `number`, `gaps` (a list that has
    None in it) or `other`."""

    text: str
    kind: str


@functools.cache
def table() -> dict[str, tuple[frozenset, str | None]]:
    """Name with overload (`add.Tensor`, `relu`) → its variants (`function`, `method`) and its
    `python_module`. Scans lines, since torch does not install a YAML parser. Empty where the
    wheel lacks the file: then everything is spelled through `torch.ops`."""
    found: dict[str, tuple[frozenset, str | None]] = {}
    name, variants, module = None, frozenset({"function"}), None
    try:
        with open(operators.declarations(), encoding="utf-8") as file:
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


@functools.cache
def resolve(operator: object) -> Overload:
    """The overload that `aten::name.overload` names. Raises `Malformed` for a text of another
    form, and `Unsupported` where this torch lacks it or the worker will not execute it."""
    match = _OPERATOR.fullmatch(operator) if isinstance(operator, str) else None
    if match is None:
        raise Malformed(f"{operator!r} is not an operator with its overload, like aten::add.Tensor")
    namespace, name, overload = match.groups()
    found = operators.overload(namespace, name, overload)
    if found is None:
        yours = "" if namespace in _TORCHS else "; --library FILE or --module NAME brings yours"
        raise Unsupported(f"torch {torch.__version__} has no operator {operator}{yours}")
    if f"{namespace}::{name}" in _REFUSED:
        raise Unsupported(f"{operator} reaches out of the process and is never executed")
    return found


@functools.cache
def bindings(op: Overload) -> dict[str, str]:
    """The bindings of an overload: `module` or `function` → its dotted name, `method` → its
    name."""
    if op.namespace != "aten":
        return {}
    name = schema(op).name.removeprefix("aten::")
    overload = schema(op).overload_name
    variants, module = table().get(f"{name}.{overload}" if overload else name, (frozenset(), None))
    found = {}
    if module in _MODULES:
        public, prefix = _MODULES[module]
        binding = operators.module_binding(module, name)
        if binding is not None:
            short = name.removeprefix(prefix)
            home = functools.reduce(
                lambda at, part: getattr(at, part, None), public.split(".")[1:], torch
            )
            # The public name reads better and is the very same object for most.
            same = getattr(home, short, None) is binding
            found["module"] = (
                f"{public}.{short}" if same else f"{operators.module_path(module)}.{name}"
            )
        return found
    if "method" in variants and operators.is_method(name):
        found["method"] = name
    if "function" in variants and operators.is_function(name):
        found["function"] = f"torch.{name}"
    return found


def _takes_number(op: Overload, position: int) -> bool:
    """Whether torch's Python API wraps a number given for the Tensor at `position`."""
    name = schema(op).name.split("::")[1]
    if name.rstrip("_") in _NUMBERS:
        return True
    packet = op.overloadpacket
    for overload in packet.overloads():
        arguments = schema(getattr(packet, overload)).arguments
        if position < len(arguments) and operators.is_number(arguments[position]):
            return True
    return False


def _check(op: Overload, args: list[Argument], kwargs: dict[str, Argument]) -> None:
    """Raises `Malformed` where the schema has no such argument, `Unsupported` where a number
    stands for a Tensor and Python has no spelling for that, or where a type is refused."""
    declared = schema(op).arguments
    where = schema(op).name + "." + (schema(op).overload_name or "default")
    positional = [argument for argument in declared if not argument.kwarg_only]
    if len(args) > len(positional):
        raise Malformed(f"{where} takes {len(positional)} positional arguments, not {len(args)}")
    named = {argument.name: i for i, argument in enumerate(declared)}
    given = [(i, argument) for i, argument in enumerate(args)]
    for key, argument in kwargs.items():
        if key not in named or named[key] < len(args):
            raise Malformed(f"{where} has no argument '{key}' left to name")
        given.append((named[key], argument))
    for i, argument in given:
        if (
            any(word in str(declared[i].type) for word in _REFUSED_TYPES)
            and argument.text != "None"
        ):
            raise Unsupported(f"{where} takes a {declared[i].type}, which no case can give")
        if (
            argument.kind == "number"
            and operators.is_tensor(declared[i])
            and not _takes_number(op, i)
        ):
            raise Unsupported(
                f"{where} takes no number for its Tensor '{declared[i].name}' in Python"
            )


def _join(args: list[Argument], kwargs: dict[str, Argument]) -> str:
    return ", ".join(
        [argument.text for argument in args]
        + [f"{key}={argument.text}" for key, argument in kwargs.items()]
    )


def _without_binding(
    op: Overload, found: dict[str, str], args: list[Argument], kwargs: dict[str, Argument]
) -> bool:
    """Whether `op` has no binding that takes these arguments as the schema does."""
    if not found or f"{schema(op).name}.{schema(op).overload_name}" in _UNREACHED:
        return True
    # The parser of `to` knows no layout, and no parser a list of tensors that has None in it.
    return (
        found.get("method") == "to"
        and "layout" in kwargs
        or any(argument.kind == "gaps" for argument in (*args, *kwargs.values()))
    )


def _as_bound(
    op: Overload, args: list[Argument], kwargs: dict[str, Argument]
) -> tuple[list[Argument], dict[str, Argument]]:
    """The arguments as a binding takes them, where that is not how the schema says it."""
    kwargs = dict(kwargs)
    name = schema(op).name.removeprefix("aten::")
    for i, declared in enumerate(schema(op).arguments):
        if i < len(args) and name in _BY_NAME.get(declared.name, ()):
            args, kwargs[declared.name] = args[:i], args[i]
        # Bindings read the default `at::Reduction::Mean` as 0, which is `none`.
        if (
            declared.name == "reduction"
            and declared.has_default_value()
            and i >= len(args)
            and "reduction" not in kwargs
        ):
            kwargs["reduction"] = Argument(repr(declared.default_value), "number")
    outs = [a.name for a in schema(op).arguments if a.is_out]
    if outs and any(name in kwargs for name in outs):
        # Bindings call one result `out`, and several a tuple of that name.
        given = [kwargs[name].text for name in outs if name in kwargs]
        kwargs = {key: value for key, value in kwargs.items() if key not in outs}
        kwargs["out"] = Argument(given[0] if len(outs) == 1 else f"({', '.join(given)})", "other")
    return args, kwargs


def spell(op: Overload, args: list[Argument], kwargs: dict[str, Argument]) -> str:
    """The expression that calls `op`. Positional arguments follow the schema; raises as
    `_check`."""
    _check(op, args, kwargs)
    declared = schema(op)
    size = _SIZES.get(
        declared.name + (f".{declared.overload_name}" if declared.overload_name else "")
    )
    if size and args and args[0].kind == "tensor":
        args, kwargs = _as_bound(op, args, kwargs)
        return f"{args[0].text}.{size}({_join(args[1:], kwargs)})"
    found = bindings(op)
    overload = declared.overload_name or "default"
    written_out = (
        f"torch.ops.{op.namespace}.{declared.name.split('::')[1]}.{overload}({_join(args, kwargs)})"
    )
    if _without_binding(op, found, args, kwargs):
        return written_out
    args, kwargs = _as_bound(op, args, kwargs)
    if "module" in found:
        return f"{found['module']}({_join(args, kwargs)})"
    first = declared.arguments[0].name if declared.arguments else None
    if "method" in found and first == "self" and args and args[0].kind == "tensor":
        return f"{args[0].text}.{found['method']}({_join(args[1:], kwargs)})"
    if "function" in found:
        return f"{found['function']}({_join(args, kwargs)})"
    return written_out
