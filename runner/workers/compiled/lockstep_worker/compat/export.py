"""torch.export and the packages that AOTInductor makes of what it exports."""

import re
import zipfile
from typing import Any, TypeAlias

import torch

from . import interface
from .shims import shims

Program: TypeAlias = torch.export.ExportedProgram
#: A size, or a number, of which torch.export finds out itself whether it may vary.
AUTO = torch.export.Dim.AUTO
#: What an exported graph has besides the operators of its program.
_BESIDES = re.compile(r"_assert\w*|sym_\w+|getitem")
#: Generated code: a kernel of Inductor's that is called, and a function of torch's.
_KERNEL = re.compile(
    r"^\s+(?:kernels\.|call_)?((?:cpp|triton)\w*?_fused_\w+?)(?:_\d+)?\(", re.MULTILINE
)


def export(module: torch.nn.Module, args: tuple, dynamic_shapes: dict | None) -> Program:
    """What torch.export makes of a module, as it does by default: without Dynamo."""
    return torch.export.export(module, args, dynamic_shapes=dynamic_shapes, strict=False)


def dynamic_shapes(varying: list) -> dict | None:
    """What of `args` may vary, as torch.export takes it: of each argument the dimensions whose size
    may, or whether a number may. None: nothing."""
    specs = [AUTO if each is True else dict.fromkeys(each or (), AUTO) or None for each in varying]
    return {"args": tuple(specs)} if any(spec is not None for spec in specs) else None


def operators(program: Program) -> int:
    """The calls of operators in an exported graph."""
    return sum(
        node.op == "call_function" and not _BESIDES.fullmatch(_base(node.target))
        for node in program.graph.nodes
    )


def _base(target: Any) -> str:
    return str(getattr(target, "_opname", getattr(target, "__name__", target)))


def text(path_export: str) -> list[str]:
    """The lines of a function `exported` that executes the module `Program` as a path with this
    `export` does."""
    run = "torch.export.export(Program(), args)"
    if path_export != "aot_inductor":
        return ["def exported(*args):", f"    return {run}.module()(*args)"]
    return [
        "def exported(*args):",
        "    import torch._inductor",
        "",
        "    return torch._inductor.aoti_load_package"
        f"(torch._inductor.aoti_compile_and_package({run}))(*args)",
    ]


def package(program: Program, file: str, directory: str) -> None:
    """Has AOTInductor compile an exported program into a package (`.pt2`); what is the same in all
    packages, once into `directory`."""
    import torch._inductor

    with interface.compiled_once(directory):
        torch._inductor.aoti_compile_and_package(program, package_path=file)


def code(file: str) -> str:
    """The sources that are in a package, those of the kernels last."""
    with zipfile.ZipFile(file) as archive:
        names = sorted(
            (name for name in archive.namelist() if name.endswith(".cpp")),
            key=lambda name: (".kernel." in name, name),
        )
        return "\n".join(archive.read(name).decode("utf-8", "replace") for name in names)


def called(text: str) -> tuple[list[str], list[str]]:
    """The kernels that a package's code calls, and the operators of torch's, as `aten::mm`, each as
    often as it is written."""
    return _KERNEL.findall(text), shims(text)
