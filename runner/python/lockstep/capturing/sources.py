"""Places in the user's source: relative, and never opened again."""

import ast
import functools
import linecache
import os
import re
import sys
import sysconfig
from typing import Any

_FRAME = re.compile(r'File "([^"\n]+)", line (\d+), in ([^\n]+)')


_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def relative(file: str) -> str | None:
    """A file as cases name it: below the program's folder or the working directory, or below where
    packages are; else its name alone. None for what is no file."""
    if file.startswith("<"):
        return None
    roots = [sys.path[0] if sys.path else "", os.getcwd()]
    roots += [sysconfig.get_paths()["purelib"], sysconfig.get_paths()["stdlib"]]
    for root in roots:
        root = os.path.abspath(root or ".")
        if file.startswith(root.rstrip(os.sep) + os.sep):
            return os.path.relpath(file, root).replace(os.sep, "/")
    return os.path.basename(file)


def place_of(trace: str | None, own_only: bool = False) -> dict | None:
    """The innermost frame of a traceback's text that is the user's: file, line and qualified name.
    Where none is, the innermost one, unless `own_only`; None where there is none."""
    frames = _FRAME.findall(trace or "")
    own = [each for each in frames if is_own(each[0])]
    for file, line, function in reversed(own or ([] if own_only else frames)):
        found = place_at(file, int(line), function)
        if found is not None:
            return found
    return None


def is_own(file: str) -> bool:
    """Whether a file is the user's: no part of torch, of Python or of Lockstep."""
    return (
        not file.startswith("<")
        and "/torch/" not in file
        and not file.startswith((_HERE, sysconfig.get_paths()["stdlib"] + os.sep))
    )


def place_at(file: str, line: int, function: str) -> dict | None:
    """A place in a file, with its qualified name; None if it is no file."""
    found = relative(file)
    if found is None:
        return None
    return {"file": found, "line": line, "name": _names(file).get(line, function)}


@functools.cache
def _names(file: str) -> dict[int, str]:
    """The qualified name of the function at each line of a file."""
    found: dict[int, str] = {}
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError, RecursionError):
        return found
    places: list[tuple[ast.AST, str]] = [(tree, "")]
    while places:
        node, prefix = places.pop()
        for each in ast.iter_child_nodes(node):
            name = prefix
            if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = f"{prefix}.{each.name}" if prefix else each.name
                if not isinstance(each, ast.ClassDef):
                    found |= dict.fromkeys(range(each.lineno, (each.end_lineno or 0) + 1), name)
            places.append((each, name))
    return found


def place_of_code(module: Any) -> dict | None:
    """Where the class of a module, or a function, is defined: file, line and name."""
    code = getattr(getattr(type(module), "forward", module), "__code__", None)
    code = getattr(module, "__code__", code)
    if code is None:
        return {"file": None, "line": None, "name": type(module).__qualname__}
    name = getattr(module, "__qualname__", None) or type(module).__qualname__
    return {"file": relative(code.co_filename), "line": code.co_firstlineno, "name": name}
