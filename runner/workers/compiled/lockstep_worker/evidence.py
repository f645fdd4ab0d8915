"""What a compiled execution is asked afterwards about who executed it: the part of `proof` that
docs/design/protocol.md says of execution."""

import contextlib
from collections import Counter
from collections.abc import Callable

import torch

from .compat import dynamo
from .compat.tensors import is_zeros
from .program import Executor
from .witness import EAGER, PATH, Witness, covers, foreign

#: Ways of torch's own to execute a program: name → backend. A path that does nothing but one of
#: them has fallen back.
FALLBACKS = {
    "aot_eager": "aot_eager",
    "aot_eager_decomp": "aot_eager_decomp_partition",
    "inductor": "inductor",
}
#: Inductor's names of what it calls instead of a kernel of its own, where the operator has another
#: one.
_EXTERN = {"bias_addmm": "addmm"}
#: Outputs of eager that move by less than this may as well not have moved.
_MOVED = 1e-2


def evidence(
    executor: Executor, path: dict, function: Callable, scope: dict, fallbacks: list[str]
) -> dict:
    """`execution`, `executed`, `foreign` and `traces` of an execution that returned; `function` is
    the program, `fallbacks` what Inductor's code says that it calls."""
    witness, executes = executor.witness, path.get("executes", "aten")
    found: dict = {"traces": {}}
    if (eager := witness.executed(EAGER)) is not None:
        found["traces"][EAGER] = dict(eager)
    if executes == "aten":
        return found
    on_purpose = operators(fallbacks) if executes == "inductor" else frozenset()
    executed = witness.executed(PATH, on_purpose)
    if executed is None:
        return found
    allowed = [
        *(path.get("may_call") or []),
        *on_purpose,
        *(["inductor/*"] if executes == "inductor" else []),
    ]
    others = foreign(executed, allowed)
    if others and not covers(others, eager or Counter()):
        by_inductor = any(name.startswith("inductor/") for name in others)
        for name, backend in FALLBACKS.items():
            if backend != path.get("backend") and (name != "inductor" or by_inductor):
                trace = _trace(executor, path, function, scope, name, backend)
                if trace is not None:
                    found["traces"][name] = dict(trace)
    return {
        **found,
        "execution": "stated" if witness.stated else "observed",
        "executed": dict(executed),
        "foreign": dict(others),
    }


def operators(fallbacks: list[str]) -> frozenset[str]:
    """Operators by what Inductor's code calls: "aten::mm" for `extern_kernels.mm`, "aten::sort" for
    `aten.sort.stable`."""
    names = set()
    for text in fallbacks:
        space, _, name = text.partition(".")
        name = name.partition(".")[0]
        names.add(
            f"aten::{_EXTERN.get(name, name)}" if space == "extern_kernels" else f"{space}::{name}"
        )
    return frozenset(names)


def _trace(
    executor: Executor, path: dict, function: Callable, scope: dict, name: str, backend: str
) -> Counter | None:
    """What the program executes through a backend of torch's own; None where it does not return."""
    witness: Witness = executor.witness
    dynamo.reset()
    witness.of = name
    with contextlib.suppress(Exception):
        compiled = torch.compile(
            function,
            backend=backend,
            dynamic=path.get("dynamic"),
            fullgraph=path.get("fullgraph", True),
        )
        for witness.repetition in range(2):
            for call in executor.program.calls:
                executor.call(compiled, scope, call)
        return witness.executed(name)
    return None


# Results that are remembered ----------------------------------------------------------------------


def remembered(
    executor: Executor, function: Callable, compiled: Callable, scope: dict
) -> list[str]:
    """Outputs of a last call, with floating inputs halved, that eager moves and the path leaves as
    they were. Whatever is raised says nothing: nobody asked for that call."""
    with contextlib.suppress(Exception):
        before, after = _outputs(executor, "", function, scope)
        moved = [name for name in before if name in after and _differ(before[name], after[name])]
        ours_before, ours_after = _outputs(executor, PATH, compiled, scope) if moved else ({}, {})
        return [name for name in moved if torch.equal(ours_before[name], ours_after[name])]
    return []


def _outputs(executor: Executor, of: str, function: Callable, scope: dict) -> list[dict]:
    """Outputs of the last call by name, as it is and with other values."""
    executor.witness.of, found = of, []
    for change in (_same, _halve):
        executor.witness.repetition += 1
        outputs, _, _ = executor.call(function, scope, executor.program.calls[-1], change=change)
        # Copies: some backends return the same memory from every call.
        found.append(
            {
                name: value.detach().clone()
                for name, value in outputs
                if isinstance(value, torch.Tensor)
            }
        )
    return found


def _same(_: list) -> None:
    """Leaves inputs as they are."""


def _halve(values: list) -> None:
    """Halves floating inputs in their storages: exactly, and without leaving where a function is
    defined."""
    done = set()
    for value in values:
        if (
            not isinstance(value, torch.Tensor)
            or not (value.is_floating_point() or value.is_complex())
            or is_zeros(value)
        ):
            continue
        storage = value.untyped_storage()
        if storage.data_ptr() not in done:
            done.add(storage.data_ptr())
            with torch.no_grad():
                flat = torch.empty(0, dtype=value.dtype, device=value.device).set_(storage)
                flat.copy_(flat.to(torch.complex128 if value.is_complex() else torch.float64) * 0.5)


def _differ(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.shape != b.shape:
        return False
    a, b = (t.to(torch.complex128 if t.is_complex() else torch.float64) for t in (a, b))
    return bool(((a - b).abs() > _MOVED * a.abs()).any())
