"""Puts in force what a path says: the modules it imports, its settings, its compiler."""

import contextlib
import importlib
import os
import sys
from collections.abc import Callable

import torch

from .compat import device, inductor, operators
from .problems import Malformed, Unsupported


def load_module(name: str) -> None:
    """Imports a module of the user's by its name, or from the file that ends with `.py`, beside
    which it finds others. Raises `Unsupported`."""
    stem = name
    if name.endswith(".py"):
        folder, stem = os.path.split(name.removesuffix(".py"))
        sys.path.insert(0, folder)
    try:
        importlib.import_module(stem)
    except Exception as error:
        raise Unsupported(
            f"cannot import the module {name}: {type(error).__name__}: {error}"
        ) from None


def import_modules(modules: list | None) -> None:
    """Imports what a path asks for. Raises `Unsupported` where that fails."""
    if modules:
        device.abandon()
    for name in modules or []:
        if not isinstance(name, str) or not all(part.isidentifier() for part in name.split(".")):
            raise Malformed(f"path.import: {name!r:.80} is not a module")
        try:
            importlib.import_module(name)
        except Exception as error:
            raise Unsupported(f"cannot import {name}: {type(error).__name__}: {error}") from None
    device.adopt()


def apply_config(config: dict | None) -> None:
    """Sets configuration: full dotted name → value. Raises `Unsupported` for a name that this
    torch does not have, before anything is set."""
    patches = []
    for name, value in (config or {}).items():
        parts = name.split(".")
        if len(parts) < 2 or not all(part.isidentifier() for part in parts):
            raise Malformed(f"path.config: {name!r:.80} is not a dotted name")
        owner, at = None, 0
        # The longest prefix that is a module; what is left are its attributes.
        for at in range(len(parts) - 1, 0, -1):
            with contextlib.suppress(ImportError):
                owner = importlib.import_module(".".join(parts[:at]))
                break
        for part in parts[at:-1]:
            owner = getattr(owner, part, None)
        if owner is None or not hasattr(owner, parts[-1]):
            raise Unsupported(f"torch {torch.__version__} has no {name}")
        patches.append((owner, parts[-1], value))
    for owner, attribute, value in patches:
        try:
            setattr(owner, attribute, value)
        except Exception as error:
            raise Unsupported(f"cannot set {attribute} to {value!r:.80}: {error}") from None


def fall_back(written: list) -> None:
    """Has Inductor call torch's own kernels for some overloads (`aten::exp.default`). Raises
    `Unsupported` where this torch does not let it."""
    overloads = []
    for text in written:
        space, _, rest = str(text).partition("::")
        name, _, word = rest.partition(".")
        found = operators.overload(space, name, word or "default")
        if found is None:
            raise Unsupported(f"torch {torch.__version__} has no {text!s:.80}")
        overloads.append(found)
    try:
        inductor.fall_back(overloads)
    except (ImportError, AttributeError) as error:
        raise Unsupported(
            f"torch {torch.__version__} does not fall back on demand: {error}"
        ) from None


def compiled(path: dict, function: Callable) -> Callable:
    """`function` through `torch.compile` as a path wants it. Raises `Unsupported` for a backend,
    a mode or an option that this torch lacks."""
    backend = path["backend"]
    if backend not in torch.compiler.list_backends(exclude_tags=()):
        raise Unsupported(f"torch {torch.__version__} has no backend {backend!r:.80}")
    try:
        return torch.compile(
            function,
            backend=backend,
            mode=path.get("mode"),
            options=path.get("options"),
            dynamic=path.get("dynamic"),
            fullgraph=path.get("fullgraph", True),
        )
    except RuntimeError as error:
        raise Unsupported(str(error)) from None
