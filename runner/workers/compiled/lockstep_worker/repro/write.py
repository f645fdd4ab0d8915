"""Writes an instance as a Python script that needs torch and nothing of Lockstep.

The request holds what a `run` message holds (`program`, `storages`, `calls`, `device`, `seed`,
`reseed`, `path`, `repeat`), and `title`, `id`, `links`, `threads`, `libraries`; how to compare:
`policies` (output, as the judge names it → the policy that the case asks for), `strides` and
`raises`; `words`, which is `reports/words.json`; and `prepare`: null, or an object of `program`,
`storages`, `calls`, `seed` and `requires_grad`. What comes from a case reaches the script as
checked names, as literals or as escaped comments.

Everything else in the script is the text of the modules in `script/`, of `errors.py` and of its
`compat/errors.py`, as it is."""

import ast
import importlib.resources
import json

import torch

from ..exported import example, varying
from ..problems import Malformed, Unsupported, need
from .part import Part
from .script.policy import parse_policy

#: What a script consists of, in this order; the first needs no torch.
MODULES = (
    "repro/script/begin.py",
    "compat/errors.py",
    "compat/device.py",
    "errors.py",
    "state.py",
    "repro/script/storage.py",
    "repro/script/view.py",
    "repro/script/pair.py",
    "repro/script/indices.py",
    "repro/script/samples.py",
    "repro/script/policy.py",
    "repro/script/metadata.py",
    "repro/script/outcomes.py",
    "repro/script/judge.py",
    "repro/script/left.py",
    "repro/script/execute.py",
    "repro/script/exported.py",
    "repro/script/run.py",
)


def render(request: dict) -> str:
    """The script. Raises `Malformed`, `Unsupported` or `ValueError`."""
    libraries = [str(library) for library in request.get("libraries") or []]
    for library in libraries:
        torch.ops.load_library(library)
    prepare = request.get("prepare")
    prepared = (
        []
        if prepare is None
        else list(need(need(prepare, "program", "prepare"), "outputs", "prepare.program"))
    )
    parts = [Part(request, prepared)]
    if prepare is not None:
        parts.append(Part({**prepare, "device": "cpu"}, suffix="_prepare"))
    functions = "\n\n".join(
        [*(part.text() for part in reversed(parts)), _prepared_text(request, parts)]
    )
    settings = _settings(request, parts[0], libraries, _needs(functions))
    about = [
        str(request.get("title", "")),
        str(request.get("id", "")),
        *map(str, request.get("links") or []),
    ]
    first, *rest = map(module_text, MODULES)
    return "\n".join(
        [
            "#!/usr/bin/env python3",
            *("# " + ascii(line)[1:-1] for line in about if line),
            first,
            "SETTINGS = {",
            *(f"    {ascii(name)}: {_data(value)}," for name, value in settings.items()),
            "}\n\n",
            functions,
            "",
            (
                "# From here on every script of Lockstep is the same: its judge, and what runs the "
                "two sides."
            ),
            'begin(SETTINGS["ENVIRONMENT"])\n\n',
            "\n\n".join(rest),
            "",
            (
                "CASE = Case(SETTINGS, program, inputs, literals, prepared, contexts, "
                "contexts_of_backward)"
            ),
            "configure(CASE)",
            "test_fn = functools.partial(agree, CASE)",
            'if __name__ == "__main__":',
            "    sys.exit(main(CASE))",
            "",
        ]
    )


def module_text(name: str) -> str:
    """The text of a module of this package without what it imports of the package."""
    text = (
        importlib.resources.files(__package__.partition(".")[0])
        .joinpath(name)
        .read_text(encoding="utf-8")
    )
    lines: list[str | None] = list(text.splitlines())
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom) and node.level > 0:
            lines[node.lineno - 1 : node.end_lineno] = [None] * (
                (node.end_lineno or node.lineno) - node.lineno + 1
            )
    return "\n".join(line for line in lines if line is not None) + "\n"


def _settings(request: dict, part: Part, libraries: list[str], needs: list[str]) -> dict:
    """What the script says of its case, by name; values of JSON."""
    path = need(request, "path", "request")
    policies = {str(name): str(policy) for name, policy in (request.get("policies") or {}).items()}
    for policy in policies.values():
        parse_policy(policy)
    words = need(request, "words", "request")
    contract, strides, raises = (
        path.get("contract", "values"),
        request.get("strides") or "significant",
        request.get("raises"),
    )
    if (
        contract not in words["contracts"]
        or strides not in words["strides"]
        or not (raises is None or isinstance(raises, dict))
    ):
        raise Malformed(
            f"contract {contract!r:.40}, strides {strides!r:.40} or raises {raises!r:.200}: not "
            "known here"
        )
    return {
        "ID": str(request.get("id", "")),
        "BACKEND": str(path.get("backend") or "inductor"),
        "MODE": path.get("mode"),
        "OPTIONS": path.get("options"),
        "EXPORT": _export(path, part),
        "DYNAMIC": path.get("dynamic"),
        "FULLGRAPH": bool(path.get("fullgraph", True)),
        "CONFIG": dict(path.get("config") or {}),
        "ENVIRONMENT": dict(path.get("environment") or {}),
        "IMPORT": list(path.get("import") or []),
        "LIBRARIES": libraries,
        "NEEDS": needs,
        "GRADIENTS": "torch.autograd.grad(" in part.source.text,
        "SEED": int(request.get("seed", 0)),
        "RESEED": bool(request.get("reseed")),
        "DEVICE": str(request.get("device", "cpu")),
        "THREADS": int(request.get("threads") or 1),
        "REPEAT": int(request.get("repeat") or 2),
        "CALLS": len(part.calls),
        "INPUTS": list(part.program["inputs"]),
        "CONSTANTS": part.source.constants,
        "OUTPUTS": part.source.outputs,
        "BACKWARD": part.program.get("backward"),
        # How to compare: what the case asks for, else the contract of the path decides by the
        # dtype.
        "POLICIES": policies,
        "CONTRACT": contract,
        "STRIDES": strides,
        "RAISES": raises,
        "ACCUSING": _accusing(words),
    }


def _accusing(words: dict) -> list[str]:
    """The statuses that accuse the compiler, in the order in which the judge looks."""
    rows = [row for row in words["statuses"] if row["accuses"]]
    return [row["name"] for row in sorted(rows, key=lambda row: words["ranks"].index(row["rank"]))]


def _export(path: dict, part: Part) -> dict | None:
    """How a path exports: to what, which call is the example, what may vary (exported.py); null for
    any other path. Raises `Unsupported`."""
    if path.get("export") is None:
        return None
    if part.source.constants or part.source.captured:
        raise Unsupported(
            "a script exports no program that closes over tensors: `ci/lockstep run` does"
        )
    if part.program.get("backward") is not None and path["export"] == "aot_inductor":
        raise Unsupported("a package computes without gradients")
    vary = dict(zip(part.names, varying(part.names, part.calls, path.get("dynamic"))))
    return {
        "TO": str(path["export"]),
        "EXAMPLE": example(part.names, part.calls),
        "VARYING": [vary.get(name, []) for name in part.program["inputs"]],
    }


def _data(value: object) -> str:
    """A value of JSON as a Python literal of plain ASCII."""
    json.dumps(value)  # nothing else comes here
    return ascii(value)


def _needs(functions: str) -> list[str]:
    """The names of torch that functions use: `torch.ops.aten.sin.default`, `torch.float16`."""
    found = set()
    for node in ast.walk(ast.parse(functions)):
        text = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
        if text.startswith("torch.") and all(word.isidentifier() for word in text.split(".")):
            found.add(text)
    return sorted(
        name for name in found if not any(other.startswith(name + ".") for other in found)
    )


def _prepared_text(request: dict, parts: list[Part]) -> str:
    """The function that makes the inputs of `prepare`."""
    prepare, call = request.get("prepare"), "{}"
    if prepare is not None:
        given = [
            parts[1].source.outputs,
            int(prepare.get("seed", 0)),
            parts[0].device,
            list(prepare.get("requires_grad") or []),
        ]
        call = (
            "prepare(program_prepare, literals_prepare, contexts_prepare, "
            + ", ".join(map(_data, given))
            + ")"
        )
    return f"def prepared():\n    return {call}\n"
