"""Who executed a program on a path: the part of `proof` that docs/design/protocol.md says of
execution. It is made by the process that started the parts and executed nothing."""

from collections import Counter
from collections.abc import Callable

from .witness import COMPILING, EAGER, PATH, Testimony, covers, foreign

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


def evidence(
    path: dict,
    eager: Counter | None,
    ran: Testimony,
    fallbacks: list[str],
    watches: bool,
    trace: Callable[[list[str]], dict[str, Counter]],
) -> dict:
    """`execution`, `executed`, `foreign`, `permitted`, `unsaid` and `traces` of what returned.
    `eager`: what the program executes in eager; `fallbacks`: what Inductor's code says that it
    calls; `watches`: whether this torch lets callables be watched; `trace` executes the program in
    some of the `FALLBACKS`."""
    executes = path.get("executes", "aten")
    found: dict = {"traces": {} if eager is None else {EAGER: dict(eager)}}
    if executes == "aten":
        return found
    while_compiling = ran.executed(COMPILING)
    if while_compiling is not None and covers(while_compiling, eager or Counter()):
        found["at_compile_time"] = True
    on_purpose = operators(fallbacks) if executes == "inductor" else frozenset()
    executed = ran.executed(PATH, on_purpose)
    if executed is None:
        why = unseen(ran, watches and bool(eager)) if executes == "own" else ""
        return {**found, "unsaid": why} if why else found
    allowed = [
        *(path.get("may_call") or []),
        *on_purpose,
        *(["inductor/*"] if executes == "inductor" else []),
    ]
    others = foreign(executed, allowed)
    permitted = executed - foreign(executed, path.get("may_call") or [])
    if others and not covers(others, eager or Counter()):
        by_inductor = any(name.startswith("inductor/") for name in others)
        wanted = [
            name
            for name, backend in FALLBACKS.items()
            if backend != path.get("backend") and (name != "inductor" or by_inductor)
        ]
        found["traces"] |= {name: dict(calls) for name, calls in trace(wanted).items()}
    return {
        **found,
        "execution": "stated" if ran.stated else "observed",
        "executed": dict(executed),
        "foreign": dict(others),
        "permitted": dict(permitted),
    }


def unseen(ran: Testimony, was_due: bool) -> str:
    """Why nobody can see who executed it, which accuses nobody; empty: there is no reason.
    `was_due`: there was something to execute, by callables that are watched."""
    if ran.blinded(PATH):
        return "the profiler was put out while it ran"
    return "what the backend returned was never called" if was_due else ""


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
