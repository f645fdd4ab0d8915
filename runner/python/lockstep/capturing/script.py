"""Runs a program as `python model.py ARGUMENT…` would, with torch's compilers replaced.

    script.py SPOOL LIMITS model.py ARGUMENT…

LIMITS is a JSON object: `bytes`, `graphs`, and `functions`, whether the functions of the program
that are called with tensors are captured as if they were compiled. With `calls` no graphs are
captured, but every distinct call of an operator. What is captured lies in the
folder SPOOL at once, so that however the program ends, it stays. The exit status is the
program's."""

import ast
import atexit
import builtins
import importlib.util
import json
import os
import pathlib
import sys
import types
from collections.abc import Callable
from typing import Any

#: What wraps a function of a program, by a name that no program has.
WRAPPER = "__lockstep_outermost__"


def main() -> None:
    """Runs the program of the command line."""
    folder, limits, program, *arguments = sys.argv[1:]
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
    import lockstep.capturing.said as said
    import lockstep.capturing.spool as spools

    asked = json.loads(limits)
    sys.argv = [program, *arguments]
    # The package's place, and that of this file, become the program's.
    sys.path[0:2] = [os.path.dirname(os.path.abspath(program))]
    spool = spools.Spool(folder, asked["bytes"], asked["graphs"])
    log = said.Log(spool.folder / said.FILE)
    said.take_warnings(log)
    outermost: list[Callable] = []  # of the functions of the program, once there is torch
    if asked["functions"]:
        setattr(builtins, WRAPPER, lambda each: outermost[0](each) if outermost else each)

    def imported() -> None:
        said.take_logs(log)
        outermost.append(begin(spool, asked["calls"]))

    when_torch_is_imported(imported)
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=program, __builtins__=builtins)
    sys.modules["__main__"] = module
    exec(code_of(program, asked["functions"]), module.__dict__)


def begin(spool: Any, calls: bool) -> Callable:
    """Begins to capture; what wraps the functions of the program."""
    if calls:
        from lockstep.capturing.calls import Calls

        noted = Calls(spool)
        atexit.register(noted.close)
        noted.__enter__()  # until the program ends
        return lambda each: each
    from lockstep.capturing.hooks import Hooks

    hooks = Hooks(spool)
    hooks.install()
    return hooks.outermost


def when_torch_is_imported(then: Callable[[], Any]) -> None:
    """Calls `then` right after the program has imported torch, and not before: what it sets of its
    environment until then counts. Where Python has imported it at its start, calls it now."""
    if "torch" in sys.modules:
        then()
        return

    class Finder:
        @staticmethod
        def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
            if name != "torch":
                return None
            sys.meta_path.remove(Finder)
            spec = importlib.util.find_spec("torch")
            if spec is not None and spec.loader is not None:
                execute = spec.loader.exec_module

                def executed(module: types.ModuleType) -> None:
                    execute(module)
                    then()

                spec.loader.exec_module = executed  # type: ignore[method-assign]
            return spec

    sys.meta_path.insert(0, Finder)


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
