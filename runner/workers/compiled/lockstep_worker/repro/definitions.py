"""Of the modules that scripts consist of, the definitions that one script needs."""

import ast
import dis
import functools
import importlib.resources
import types
from typing import NamedTuple

#: In this order. They import the standard library, torch, and each other; no two of them define the
#: same name.
MODULES = (
    "compat/carry.py",
    "compat/errors.py",
    "compat/device.py",
    "errors.py",
    "state.py",
    "threads.py",
    "repro/execution/inputs.py",
    "repro/script/values.py",
    "repro/script/policies.py",
    "repro/script/judge.py",
    "repro/execution/golds.py",
    "repro/execution/run.py",
)


class Definition(NamedTuple):
    """A function, a class or a constant, with the comment above it."""

    names: frozenset[str]
    uses: frozenset[str]
    text: str
    loose: bool  # whether empty lines stand around it


class Module(NamedTuple):
    imports: dict[str, str]  # lines, and the names that they bind
    definitions: list[Definition]


@functools.cache
def module(name: str) -> Module:
    """A module of this package, taken apart."""
    package = importlib.resources.files(__package__.partition(".")[0])
    text = package.joinpath(name).read_text(encoding="utf-8")
    lines, imports, found = text.splitlines(), {}, []
    for node in ast.parse(text).body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            if not getattr(node, "level", 0):
                imports.update(_imports(node))
            continue
        names = _defined(node)
        if not names:
            continue  # the docstring
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))]) - 1
        while first > 0 and lines[first - 1].startswith("#"):
            first -= 1
        uses = _globals(ast.Module([node], []))
        loose = isinstance(node, (ast.FunctionDef, ast.ClassDef))
        body = "\n".join(lines[first : node.end_lineno])
        found.append(Definition(frozenset(names), uses, body, loose))
    return Module(imports, found)


def _imports(node: ast.Import | ast.ImportFrom) -> dict[str, str]:
    """The lines of an import, and the names that they bind."""
    found = {}
    for alias in node.names:
        text = alias.name + (f" as {alias.asname}" if alias.asname else "")
        prefix = f"from {node.module} " if isinstance(node, ast.ImportFrom) else ""
        found[f"{prefix}import {text}"] = alias.asname or alias.name.partition(".")[0]
    return found


def _defined(node: ast.stmt) -> set[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return {node.name}
    targets = getattr(node, "targets", [getattr(node, "target", None)])
    return {
        name.id
        for target in targets
        if target is not None
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    }


def chosen(text: str) -> tuple[list[str], list[str]]:
    """The lines of imports and the texts of definitions that a text needs, and what these need."""
    wanted = _globals(ast.parse(text)) | {"agree", "main", "SimpleNamespace"}
    everything = [each for name in MODULES for each in module(name).definitions]
    taken: list[Definition] = []
    while new := [d for d in everything if d.names & wanted and d not in taken]:
        taken += new
        wanted |= frozenset().union(*(each.uses for each in new))
    imports = {
        line for name in MODULES for line, bound in module(name).imports.items() if bound in wanted
    }
    kept = [each for each in everything if each in taken]
    texts = [f"\n\n{each.text}" if each.loose else each.text for each in kept]
    return sorted(imports), texts


def _globals(tree: ast.Module) -> frozenset[str]:
    """The names that code looks up outside of its functions."""
    found, codes = set(), [compile(tree, "<definitions>", "exec")]
    while codes:
        code = codes.pop()
        codes += [each for each in code.co_consts if isinstance(each, types.CodeType)]
        found |= {
            each.argval
            for each in dis.get_instructions(code)
            if each.opname in ("LOAD_GLOBAL", "LOAD_NAME")
        }
    return frozenset(found)
