"""Writes an instance as the few lines of Python that a public report has room for: the program, its
inputs as numbers, and what each side returns. It judges nothing; the whole script (write.py) does.

What has no short and exact text is refused: several calls, prepared inputs, random numbers, long or
strided inputs."""

import math
from typing import Any

import torch

from .. import contexts, names
from ..applied import inner
from ..compat import export
from ..problems import Unsupported, need
from ..spelling import resolve
from ..tensors import is_view
from .part import Part, check_device

_ELEMENTS = 64


def render(request: dict) -> str:
    """The lines. Raises `Malformed`, and `Unsupported` where only the whole script would be
    exact."""
    if request.get("prepare") is not None:
        raise Unsupported("a brief script prepares no inputs")
    try:
        check_device(request)
        part = Part(request)
    except Unsupported as problem:
        if not (request.get("libraries") or request.get("modules")):
            raise
        raise Unsupported(f"a script for a report loads no libraries, and {problem}") from problem
    managers = list(contexts.lines(part.context))
    if (
        len(part.calls) != 1
        or any(part.contexts)
        or part.source.captured
        or any(helper for _, helper in managers)
        or part.source.constants
        or part.source.beside
        or contexts.THREAD in part.context
    ):
        raise Unsupported(
            "a brief script makes one call, without long literals, constants, other threads, "
            "contexts that torch lacks and steps that are not compiled"
        )
    if _draws(need(part.program, "steps", "program")):
        raise Unsupported("a brief script draws no random numbers")
    if (part.program.get("backward") or {}).get("twice") or (
        part.program.get("backward") or {}
    ).get("retain_graph"):
        raise Unsupported("a brief script makes one backward, which retains nothing")
    path = need(request, "path", "request")
    given = {name: _input_text(part, part.calls[0][name], name) for name in part.names}
    function = part.source.text.rstrip("\n").split("import torch\n", 1)[1].strip("\n")
    threads = int(request.get("threads") or 1)
    lines = [
        *_settings(path),
        *([f"torch.set_num_threads({threads})"] if threads > 1 else []),
        "",
        "",
        function,
        *_exported(path),
        "",
        "",
        f"for run in (program, {_compiled(path)}):",
    ]
    body = [f"{name} = {text}" for name, text in given.items()]
    outputs = _identifiers(part.source.outputs)
    backward = part.program.get("backward")
    if request.get("raises") is not None:  # both sides raise: which error is what is asked
        body += [
            "try:",
            f"    print(run({', '.join(given)}))",
            "except Exception as error:",
            "    print(type(error).__name__, error)",
        ]
    elif backward is None:
        body.append(f'print(*run({", ".join(given)}), sep="\\n")')
    else:
        if backward.get("with", "ones") != "ones":
            raise Unsupported("a brief script seeds a backward with ones")
        body.append(
            f"{', '.join(outputs)}{',' if len(outputs) == 1 else ''} = run({', '.join(given)})"
        )
        seeded = ", ".join(f"torch.ones_like({name})" for name in backward["of"])
        body.append(f"torch.autograd.backward([{', '.join(backward['of'])}], [{seeded}])")
        wanted = [
            f"{name}.grad"
            for name in given
            if is_view(part.calls[0][name]) and part.calls[0][name].get("requires_grad")
        ]
        body.append(f'print({", ".join([*outputs, *wanted])}, sep="\\n")')
    if managers:
        body = [
            f"with {', '.join(text for text, _ in managers)}:",
            *(f"    {line}" for line in body),
        ]
    text = "\n".join([*lines, *(f"    {line}" for line in body)]) + "\n"
    return ("import math\n" if "math." in text else "") + text


def _identifiers(outputs: list[str]) -> list[str]:
    """Names for outputs; what comes again, or is a constant, has none that Python takes."""
    return [
        name if name.isidentifier() else f"output_{place}"
        for place, name in enumerate(outputs, start=1)
    ]


def _settings(path: dict) -> list[str]:
    """The lines before the program: the environment of the path, torch, and its configuration."""
    lines = [
        f"os.environ[{ascii(str(name))}] = {ascii(str(value))}"
        for name, value in (path.get("environment") or {}).items()
    ]
    modules = sorted(
        {name.rpartition(".")[0] for name in path.get("config") or {}}
        | set(path.get("import") or [])
    )
    return [
        *(["import os", "", *lines, ""] if lines else []),
        "import torch",
        *(f"import {module}" for module in modules),
        *(
            ["", *(f"{name} = {value!r}" for name, value in path["config"].items())]
            if path.get("config")
            else []
        ),
        "",
        "torch.set_printoptions(precision=9)",
    ]


def _exported(path: dict) -> list[str]:
    """The function by which a path that exports executes the program; none of another path."""
    if path.get("export") is None:
        return []
    return [
        "",
        "",
        "class Program(torch.nn.Module):",
        "    def forward(self, *args):",
        "        return program(*args)",
        "",
        "",
        *export.text(path["export"]),
    ]


def _compiled(path: dict) -> str:
    """What executes the program as a path does: `exported`, or the call of `torch.compile` that the
    path makes."""
    if path.get("export") is not None:
        return "exported"
    options = {
        "backend": path.get("backend") or "inductor",
        "mode": path.get("mode"),
        "options": path.get("options"),
        "dynamic": path.get("dynamic"),
        "fullgraph": bool(path.get("fullgraph", True)),
    }
    usual = {
        "backend": "inductor",
        "mode": None,
        "options": None,
        "dynamic": False,
        "fullgraph": False,
    }
    words = [f", {key}={value!r}" for key, value in options.items() if value != usual[key]]
    return f"torch.compile(program{''.join(words)})"


def _draws(steps: list) -> bool:
    """Whether steps draw random numbers."""
    return any(
        any(map(_draws, inner(step)))
        or "op" in step
        and torch.Tag.nondeterministic_seeded in resolve(step["op"]).tags
        for step in steps
    )


def _input_text(part: Part, value: Any, name: str) -> str:
    """An input as a call of `torch.tensor` that gives the same numbers in the same layout."""
    if not is_view(value):
        return part.value_text(value, {})
    if value.get("zero_tensor"):
        raise Unsupported(f"a brief script has no zero tensors; {name} is one")
    tensor = part.storages.fresh().tensor({**value, "device": "cpu", "requires_grad": False}, name)
    whole = tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size()
    simple = (
        not tensor.is_quantized
        and not tensor.is_conj()
        and not tensor.is_neg()
        and not tensor.is_complex()
    )
    if not (whole and simple and tensor.is_contiguous() and 0 < tensor.numel() <= _ELEMENTS):
        raise Unsupported(
            f"a brief script has inputs of at most {_ELEMENTS} numbers, contiguous and on memory "
            f"of their own; {name} is not"
        )
    numbers = _numbers(
        (
            tensor.double() if tensor.element_size() == 1 and tensor.is_floating_point() else tensor
        ).tolist()
    )
    where = "" if part.device == "cpu" else f", device={part.device!r}"
    flag = ", requires_grad=True" if value.get("requires_grad") else ""
    return f"torch.tensor({numbers}, dtype={names.dtype_text(value['dtype'])}{where}{flag})"


def _numbers(value: object) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_numbers, value)) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return "math.nan" if math.isnan(value) else "-math.inf" if value < 0 else "math.inf"
    return repr(value)
