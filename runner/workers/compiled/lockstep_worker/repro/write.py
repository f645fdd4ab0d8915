"""Writes an instance as a Python script that needs torch and nothing of Lockstep.

The request holds what a `run` message holds (`program`, `storages`, `calls`, `device`, `seed`,
`reseed`, `path`, `repeat`), and `title`, `id`, `links`, `threads`, `libraries`, `modules`; how to
compare: `policies` (output, as the judge names it → the policy that the case asks for), `strides`
and `raises`; `beside`, a folder for files that the script will find in a folder `values` beside it,
or nothing: all its inputs are in its text; `recorded`, what the verdict found that it is made from,
or null: `status`, `name`, `|Δ|` and `ulp`; `words`, which is `reports/words.json`; and `prepare`:
null, or an object of `program`, `storages`, `calls`, `seed` and `requires_grad`. What comes from a
case reaches the script as checked names, as literals or as escaped comments.

The rest of a script is definitions of the modules below as they are: those that its case needs."""

import json
import os
from typing import Any

import torch

from .. import contexts
from ..applied import inner
from ..configure import load_module
from ..exported import example, varying
from ..problems import Malformed, Unsupported, need
from ..spelling import resolve
from .definitions import chosen
from .part import Part, check_device
from .rules import contract_rules, rule_text

ABOUT = '''\
"""Does the compiled program compute what eager computes? This script needs torch and nothing else.

Exit status: 0 they agree, 1 they do not, 125 it cannot be told, and standard error says why.

  python THIS_FILE
  TORCH_COMPILE_BACKEND=aot_eager python THIS_FILE
  git bisect run python THIS_FILE
  TORCHINDUCTOR_CACHE_DIR=$(mktemp -d) python -m torch._inductor.compiler_bisector run python
  THIS_FILE

The last one names the part of the backend that does it; it empties its cache directory."""
'''
#: What a bisection looks at must be compiled anew.
ANEW = ("TORCHINDUCTOR_FX_GRAPH_CACHE", "TORCHINDUCTOR_AUTOGRAD_CACHE")
FOLDERS = ("PYTHONPATH", "LD_LIBRARY_PATH", "PATH")
#: Statuses for which a script needs no account of errors, and of what calls leave behind, in full.
VALUES = (
    "conform",
    "value_diverges",
    "nonfinite_diverges",
    "metadata_diverges",
    "aliasing_diverges",
)


def render(request: dict) -> str:
    """The script. Raises `Malformed`, `Unsupported`, `OSError` of a library, or `ValueError`."""
    libraries, modules, prepare = [], [], request.get("prepare")
    try:
        check_device(request)
        parts = _parts(request)
    except Unsupported:  # torch alone lacks something that libraries and modules may bring
        libraries = [str(library) for library in request.get("libraries") or []]
        modules = [str(module) for module in request.get("modules") or []]
        for library in libraries:
            torch.ops.load_library(library)
        for module in (*modules, *(need(request, "path", "request").get("import") or [])):
            load_module(str(module))
        parts = _parts(request)
    if prepare is not None:
        parts[0].prepared = _prepared(prepare, parts)
    functions = [part.text() for part in reversed(parts)]
    functions += [*_calls(parts[0]), _compiled(request, parts[0])]
    functions.append(_configured(request, parts[0], libraries, modules, "\n".join(functions)))
    case = _case(request, parts[0])
    comments = [request.get("title", ""), request.get("id", ""), *(request.get("links") or [])]
    if any(part.files for part in parts):
        comments.append("Keep the folder values beside it: inputs lie there.")
    imports, definitions = chosen("\n".join([*functions, case]))
    return "\n".join(
        [
            "#!/usr/bin/env python3",
            *("# " + ascii(str(line))[1:-1] for line in comments if line),
            ABOUT,
            *_beginning(need(request, "path", "request").get("environment") or {}, imports),
            "\n",
            "\n\n".join(functions),
            "\n# From here on scripts are alike: Lockstep's judge, and what runs the two sides.",
            *definitions,
            "",
            case,
            "def test_fn():\n    configured()\n    return agree(CASE)\n\n",
            'if __name__ == "__main__":',
            "    sys.exit(main(configured, CASE))",
            "",
        ]
    )


def _parts(request: dict) -> list[Part]:
    """The program of a request, and the one that prepares its inputs, if any."""
    prepare = request.get("prepare")
    if prepare is None:
        return [Part(request)]
    outputs = list(need(need(prepare, "program", "prepare"), "outputs", "prepare.program"))
    made = {**prepare, "device": "cpu", "beside": request.get("beside")}
    return [Part(request, outputs), Part(made, suffix="_prepare")]


def _beginning(environment: dict, imports: list[str]) -> list[str]:
    """What is imported, torch last: it reads the environment of the path."""
    lines = sorted({*(line for line in imports if "torch" not in line), "import os", "import sys"})
    of_torch = [line for line in imports if "torch" in line and line != "import torch"]
    lines.append("")
    for name, value in environment.items():
        text = ascii(str(value))
        if name in FOLDERS:  # those that there are stay
            text = f"os.pathsep.join(filter(None, ({text}, os.environ.get({ascii(name)}))))"
        lines.append(f"os.environ[{ascii(str(name))}] = {text}")
    if "PYTHONPATH" in environment:
        lines.append(f"sys.path[:0] = {ascii(str(environment['PYTHONPATH']))}.split(os.pathsep)")
    lines += [f'os.environ.setdefault("{name}", "0")  # compile anew' for name in ANEW]
    lines += ["try:", "    import torch", "except ImportError as error:"]
    lines += ['    print(f"cannot run: {error}", file=sys.stderr)', "    sys.exit(125)"]
    return lines + of_torch


def _calls(part: Part) -> list[str]:
    """The function that makes a call; where calls have contexts of their own, one for each."""
    if not any(part.contexts):
        return [_call(part, "call", part.context)]
    return [
        _call(part, f"call_{at}", {**part.context, **own}) for at, own in enumerate(part.contexts)
    ]


def _call(part: Part, called: str, context: dict) -> str:
    """The function that makes one call under a context."""
    constants = part.source.constants
    names = [name for name in part.program["inputs"] if name not in constants]
    given = ", ".join(f"given[{name!r}]" for name in names)
    lines = [f"program.__globals__[{n!r}] = given[{name!r}]" for name, n in constants.items()]
    results = f"function({given})"
    if part.source.beside:
        results = f"beside({given}{', ' if names else ''}*{results})"
    run = f"outputs = dict(zip({part.source.outputs!r}, {results}, strict=True))"
    lines += _inside(part.managers(context), [run])
    backward = part.program.get("backward")
    if backward is not None:
        of = ", ".join(f"outputs[{name!r}]" for name in backward["of"])
        seeds = backward.get("with", "ones")
        seed = ", ".join(
            [f"torch.ones_like(outputs[{name!r}])" for name in backward["of"]]
            if seeds == "ones"
            else [f"given[{name!r}]" for name in seeds]
        )
        retain = ", retain_graph=True" if backward.get("retain_graph") else ""
        again = [""] if backward.get("twice") else []
        lines += _inside(
            part.managers(context, of_backward=True),
            [f"torch.autograd.backward([{of}], [{seed}]{kept})" for kept in (retain, *again)],
        )
    body = "\n".join(f"    {line}" for line in [*lines, "return outputs"])
    return f'def {called}(function, given):\n    """The outputs of one call, by name."""\n{body}\n'


def _inside(managers: list[str], lines: list[str]) -> list[str]:
    """Lines under context managers."""
    return (
        [f"with {', '.join(managers)}:", *("    " + each for each in lines)] if managers else lines
    )


def _compiled(request: dict, part: Part) -> str:
    """The function that gives the compiled program. Raises `Unsupported`."""
    path = need(request, "path", "request")
    if path.get("export") is None:
        options = {"dynamic": path.get("dynamic"), "fullgraph": bool(path.get("fullgraph", True))}
        own = {name: path.get(name) for name in ("mode", "options") if path.get(name) is not None}
        text = "".join(f", {name}={_data(value)}" for name, value in options.items())
        backend = str(path.get("backend") or "inductor")
        text = f"compile_program(program, {ascii(backend)}, {_data(own)}{text})"
        return f"def compiled():\n    return {text}\n"
    if part.carry or any({*each} - {contexts.THREAD} for each in part.contexts):
        raise Unsupported("a path that exports carries nothing over and has one context for all")
    if part.source.constants or part.source.captured:
        raise Unsupported(
            "a script exports no program that closes over tensors: `ci/lockstep run` does"
        )
    packaged = path["export"] == "aot_inductor"
    if part.program.get("backward") is not None and packaged:
        raise Unsupported("a package computes without gradients")
    vary = dict(zip(part.names, varying(part.names, part.calls, path.get("dynamic"))))
    varies = [vary.get(name, []) for name in part.program["inputs"]]
    at = example(part.names, part.calls)
    return f"def compiled():\n    return Exported(CASE, {at}, {_data(varies)}, {packaged})\n"


def _configured(
    request: dict, part: Part, libraries: list[str], modules: list[str], functions: str
) -> str:
    """The function that puts the path's settings in force, and needs what the case needs."""
    path = need(request, "path", "request")
    lines = [f"torch.set_num_threads({int(request.get('threads') or 1)})"]
    lines += [f"torch.ops.load_library({ascii(library)})" for library in libraries]
    for module in modules:
        if module.endswith(".py"):
            folder, module = os.path.split(module.removesuffix(".py"))
            lines.append(f"sys.path.insert(0, {ascii(folder)})")
        lines.append(f"__import__({ascii(module)})")
    lines += [f"__import__({ascii(str(name))})" for name in path.get("import") or []]
    lines += ["adopt()"] if libraries else []
    if "torch.autograd.grad(" in part.source.text:
        lines += ['if hasattr(torch._dynamo.config, "trace_autograd_ops"):']
        lines += ["    torch._dynamo.config.trace_autograd_ops = True"]
    settings = {"torch._inductor.config.fallback_random": True, **(path.get("config") or {})}
    lines.append(f"configure({_data(_needs(functions))}, {_data(settings)})")
    return "def configured():\n" + "".join(f"    {line}\n" for line in lines)


def _case(request: dict, part: Part) -> str:
    """What the judge is told of the case."""
    words, path = need(request, "words", "request"), need(request, "path", "request")
    contract, raises = path.get("contract", "values"), request.get("raises")
    strides, recorded = request.get("strides") or "significant", request.get("recorded")
    if recorded is not None:  # the judge names the call, too
        recorded = {**recorded, "name": recorded["name"].partition(", call ")[0]}
    if (
        contract not in words["contracts"]
        or strides not in words["strides"]
        or not (raises is None or isinstance(raises, dict))
    ):
        raise Malformed(
            f"contract {contract!r:.40}, strides {strides!r:.40} or raises {raises!r:.200}: not "
            "known here"
        )
    policies = {str(name): str(policy) for name, policy in (request.get("policies") or {}).items()}
    rules = {name: rule_text(policy) for name, policy in policies.items()}
    floats, gradients, others = (
        contract_rules(contract) if _by_contract(part, policies) else ["bits"] * 3
    )
    all_rules = " ".join([*rules.values(), floats, gradients, others])
    export, backend = path.get("export"), str(path.get("backend") or "inductor")
    about = f"torch.export to {export}" if export else f"backend {backend}"
    short = recorded is not None and recorded["status"] in VALUES and raises is None
    own_random = (path.get("config") or {}).get("torch._inductor.config.fallback_random") is False
    free = [name for name, policy in policies.items() if _is_free(policy)]
    observe = f"lambda: facts({str(request.get('device', 'cpu'))!r}, {not own_random and not free})"
    needs_golds = any(word in all_rules for word in ("no_worse", "stepwise", "decided"))
    fields: dict[str, str] = {
        "about": ascii(about)
        if export
        else f'"backend " + os.environ.get("TORCH_COMPILE_BACKEND", {ascii(backend)})',
        "program": "program",
        "inputs": "inputs",
        # A function for all calls, or one for each.
        "call": "[" + ", ".join(f"call_{at}" for at in range(len(part.calls))) + "]"
        if any(part.contexts)
        else "call",
        # Who makes a call, where its caller does not.
        "by": "{" + ", ".join(f"{at}: by_another_thread" for at in _by_threads(part)) + "}",
        # What a call hands to the next: an input, and the output or input that it is then.
        "carry": repr(part.carry),
        "compiled": "compiled",
        "names": repr(part.program["inputs"]),
        "backward": repr(part.program.get("backward") is not None),
        # How to compare: what the case asks for, else what the contract of the path means.
        "rules": "{" + ", ".join(f"{ascii(n)}: {text}" for n, text in rules.items()) + "}",
        "free": repr(free),
        "floats": floats,
        "gradients": gradients,
        "others": others,
        "golds": "golds" if needs_golds else "None",
        "strides": repr(strides),
        "raises": _data(raises),
        "recorded": _data(recorded),
        "describe": "named" if short else "describe",
        "errors": "one_raises" if short else "judge_errors",
        "observe": "None" if short else observe,
        "left": "None" if short else "left",
        "proof": "was_compiled" if export is None else "lambda: True",
        "seed": repr(int(request.get("seed", 0))),
        "calls": repr(len(part.calls)),
        "repeat": repr(int(request.get("repeat") or 2)),
        "reseed": repr(bool(request.get("reseed"))),
    }
    return "CASE = Case(\n" + "".join(f"    {n}={t},\n" for n, t in fields.items()) + ")\n\n"


def _by_threads(part: Part) -> list[int]:
    """The calls that other threads make."""
    whole = contexts.THREAD in part.context
    return [at for at, own in enumerate(part.contexts) if whole or contexts.THREAD in own]


def _is_free(policy: str) -> bool:
    """Whether a policy is not about the values at each place, so that they may change."""
    return policy.strip().startswith(("metadata", "statistical"))


def _by_contract(part: Part, policies: dict[str, str]) -> bool:
    """Whether the contract of the path may have to tell how a value is compared."""
    if any(name not in policies for name in part.source.outputs):
        return True
    if part.program.get("backward") is not None and any(
        f"grad {name}" not in policies for name in part.program["inputs"]
    ):
        return True
    return _writes(part.program["steps"])


def _writes(steps: list) -> bool:
    """Whether steps may change an input."""
    return any(
        any(map(_writes, inner(step)))
        or "set" in step
        or "call" in step
        or "op" in step
        and (resolve(step["op"])._schema.is_mutable or "_norm" in step["op"])
        for step in steps
    )


def _data(value: Any) -> str:
    """A value of JSON as a Python literal of plain ASCII."""
    json.dumps(value)  # nothing else comes here
    return ascii(value)


def _needs(functions: str) -> list[str]:
    """The names of torch that functions use: `torch.ops.aten.sin.default`, `torch.float16`."""
    import ast

    found = set()
    for node in ast.walk(ast.parse(functions)):
        text = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
        if text.startswith("torch.") and all(word.isidentifier() for word in text.split(".")):
            found.add(text)
    return sorted(
        name for name in found if not any(other.startswith(name + ".") for other in found)
    )


def _prepared(prepare: dict, parts: list[Part]) -> str:
    """The call that makes the inputs of `prepare`, by name."""
    given = (
        parts[1].source.outputs,
        int(prepare.get("seed", 0)),
        parts[0].device,
        list(prepare.get("requires_grad") or []),
    )
    managers = f"[{', '.join(parts[1].managers(parts[1].context))}]"
    literals = "literals_prepare()" if parts[1].source.captured else "{}"
    return f"prepared(program_prepare, {literals}, {managers}, {', '.join(map(_data, given))})"
