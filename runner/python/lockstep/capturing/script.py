"""Runs a program as `python model.py ARGUMENT…` would, with torch's compilers replaced.

    script.py SPOOL LIMITS model.py ARGUMENT…

LIMITS is a JSON object: `bytes`, `graphs`, and `functions`, whether the functions of the program
that are called with tensors are captured as if they were compiled. What is captured lies in the
folder SPOOL at once, so that however the program ends, it stays. The exit status is the
program's."""

import ast
import builtins
import json
import os
import pathlib
import sys
import types

#: What wraps a function of a program, by a name that no program has.
WRAPPER = "__lockstep_outermost__"


def main() -> None:
    """Runs the program of the command line."""
    folder, limits, program, *arguments = sys.argv[1:]
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
    from lockstep.capturing import hooks as capturing
    from lockstep.capturing.spool import Spool

    asked = json.loads(limits)
    sys.argv = [program, *arguments]
    # The package's place, and that of this file, become the program's.
    sys.path[0:2] = [os.path.dirname(os.path.abspath(program))]
    hooks = capturing.Hooks(Spool(folder, asked["bytes"], asked["graphs"]), as_if=True)
    hooks.install()
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=program, __builtins__=builtins)
    sys.modules["__main__"] = module
    if asked["functions"]:
        setattr(builtins, WRAPPER, hooks.outermost)
    exec(code_of(program, asked["functions"]), module.__dict__)


def code_of(program: str, functions: bool) -> types.CodeType:
    """The program compiled; with `functions`, each function that it defines at its top is given to
    `WRAPPER` first. Lines stay what they are."""
    with open(program, "rb") as file:
        tree = ast.parse(file.read(), program)
    for each in tree.body if functions else []:
        if isinstance(each, ast.FunctionDef):
            place = each.decorator_list[0] if each.decorator_list else each
            wrapper = ast.copy_location(ast.Name(WRAPPER, ast.Load()), place)
            each.decorator_list.insert(0, wrapper)
    return compile(tree, program, "exec")


if __name__ == "__main__":
    main()
