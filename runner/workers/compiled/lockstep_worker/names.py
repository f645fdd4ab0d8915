"""Names, enumerations and public functions that may appear in generated source.

Everything here looks a text up or refuses it; nothing is evaluated.
"""

import builtins
import keyword
import re
import types
from collections.abc import Callable
from typing import Any

import torch

from .applied import HELPERS
from .problems import Malformed, Unsupported

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_DEVICE = re.compile(r"[a-z][a-z0-9_]*(:[0-9]{1,3})?", re.ASCII)

#: What generated source itself uses.
RESERVED = frozenset(
    {"torch", "math", "program", "deterministic_algorithms", "default_dtype", "self", "cls"}
    | set(HELPERS)
    | set(keyword.kwlist)
    | set(keyword.softkwlist)
    | set(dir(builtins))
)


def checked(name: object, where: str) -> str:
    """`name` itself. Raises `Malformed` unless it is a name of the protocol."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise Malformed(f"{where}: {name!r:.80} is not a name")
    return name


class NameMap:
    """Maps names of a program to Python names that shadow nothing the source needs. A name keeps
    its spelling where it can, since people read the source."""

    def __init__(self, names: set[str]) -> None:
        self._taken = set(names)
        self._map: dict[str, str] = {}

    def __call__(self, name: str) -> str:
        if name not in self._map:
            python = name
            # Leading double underscores: `__debug__` cannot be assigned to.
            if python in RESERVED or python.startswith("__"):
                python = python.strip("_") or "v"
                while python in RESERVED or python in self._taken or not _NAME.fullmatch(python):
                    python = python + "_" if _NAME.fullmatch(python) else "v" + python
                self._taken.add(python)
            self._map[name] = python
        return self._map[name]

    def call(self, name: str, python: str) -> str:
        """Gives a name of the program one that `fresh` has made; that."""
        self._map[name] = python
        return python

    def fresh(self, stem: str) -> str:
        """A Python name that the program does not use."""
        python = stem
        while python in self._taken or python in RESERVED:
            python += "_"
        self._taken.add(python)
        return python


def _torch_word(word: object, kind: type, what: str) -> str:
    """`torch.<word>` where that is an instance of `kind`. Raises `Malformed` or `Unsupported`."""
    checked(word, what)
    if not isinstance(vars(torch).get(word), kind):
        raise Unsupported(f"torch {torch.__version__} has no {what} {word}")
    return f"torch.{word}"


def dtype_text(word: object) -> str:
    """`torch.float16` for `float16`. Raises `Malformed` or `Unsupported`."""
    return _torch_word(word, torch.dtype, "dtype")


def dtype(word: object) -> torch.dtype:
    """The dtype that `word` names. Raises as `dtype_text`."""
    dtype_text(word)
    return vars(torch)[word]


def layout_text(word: object) -> str:
    """`torch.strided` for `strided`. Raises `Malformed` or `Unsupported`."""
    return _torch_word(word, torch.layout, "layout")


def memory_format_text(word: object) -> str:
    """`torch.channels_last` for `channels_last`. Raises `Malformed` or `Unsupported`."""
    return _torch_word(word, torch.memory_format, "memory format")


def device(word: object) -> str:
    """`word` itself. Raises `Malformed` unless it has the form of a device (`cuda:0`)."""
    if not isinstance(word, str) or not _DEVICE.fullmatch(word):
        raise Malformed(f"{word!r:.80} is not a device")
    return word


def public_function(name: object) -> Callable:
    """The public function `torch.….name`. Raises `Malformed` for a text of another form and
    `Unsupported` unless `torch.overrides.get_overridable_functions()` lists it."""
    parts = name.split(".") if isinstance(name, str) else []
    if len(parts) < 2 or parts[0] != "torch" or not all(_NAME.fullmatch(part) for part in parts):
        raise Malformed(f"{name!r:.80} is not the full name of a torch function")
    found: Any = torch
    for i, part in enumerate(parts[1:]):
        # Only modules and the Tensor class are walked: no attributes of functions or instances.
        inside = isinstance(found, types.ModuleType) or found is torch.Tensor
        found = getattr(found, part, None) if inside else None
        if found is None:
            raise Unsupported(f"torch {torch.__version__} has no {'.'.join(parts[: i + 2])}")
    for functions in torch.overrides.get_overridable_functions().values():
        if any(found is function for function in functions):
            return found
    raise Unsupported(f"{name} is not one of torch.overrides.get_overridable_functions()")
