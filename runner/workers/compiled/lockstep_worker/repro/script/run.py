"""Puts the settings of the path in force, runs both sides and says how they compare."""

import contextlib
import functools
import importlib
import traceback

import torch

from ...compat.device import adopt
from .begin import CannotTell, cannot_run
from .execute import Case, before_calls, execute
from .exported import Exporting
from .left import judge
from .outcomes import Verdict


def proof_of_compilation() -> bool:
    """Whether Dynamo's own counters say that a graph was compiled, or that a program that was read
    to its end had nothing to compile."""
    import torch._dynamo.utils as utils

    counters = utils.counters
    limits = (
        "Dynamo recompile limit exceeded",
        "recompile_limit reached",
        "accumulated_recompile_limit reached",
    )
    if any(str(key).startswith(limits) for key in counters["unimplemented"]):
        return False
    if counters["stats"]["unique_graphs"] > 0:
        return True
    records = utils.get_compilation_metrics() if hasattr(utils, "get_compilation_metrics") else []
    frames = sum(getattr(record, "fail_type", None) is None for record in records)
    skipped = counters["frames"]["total"] - counters["frames"]["ok"]
    return (
        counters["stats"]["calls_captured"] == 0
        and frames > 0
        and skipped == 0
        and not counters["graph_break"]
    )


def verdict_on(case: Case) -> Verdict:
    """Runs both sides and judges them. Raises `CannotTell`."""
    import torch._dynamo.utils as utils

    before = before_calls(case)
    eager = execute(case, case.program)
    if case.settings["EXPORT"] is not None:
        exporting = Exporting(case)
        with torch.set_grad_enabled(case.settings["EXPORT"]["TO"] != "aot_inductor"):
            observed = execute(case, exporting, eager.error)
        return judge(eager, observed, before, case.rules, exporting.done)
    torch._dynamo.reset()
    utils.counters.clear()
    if hasattr(utils, "clear_compilation_metrics"):
        utils.clear_compilation_metrics()
    settings = case.settings
    try:
        compiled = torch.compile(
            case.program,
            backend=case.backend,
            dynamic=settings["DYNAMIC"],
            fullgraph=settings["FULLGRAPH"],
            **{
                name: settings[name.upper()]
                for name in ("mode", "options")
                if case.backend == settings["BACKEND"]
            },
        )
    except RuntimeError as error:
        raise CannotTell(str(error)) from error
    observed = execute(case, compiled, eager.error)
    return judge(eager, observed, before, case.rules, proof_of_compilation())


def configure(case: Case) -> None:
    """Puts the path's settings in force; ends with 125 where this torch lacks one, or a module, the
    backend, or what the program names."""
    import torch._dynamo
    import torch._inductor.config

    settings = case.settings
    torch.set_num_threads(settings["THREADS"])
    for load, names in (
        (torch.ops.load_library, settings["LIBRARIES"]),
        (importlib.import_module, settings["IMPORT"]),
    ):
        for name in names:
            try:
                load(name)
            except Exception as error:
                cannot_run(f"import {name}: {type(error).__name__}: {error}")
    adopt()
    if settings["EXPORT"] is None and case.backend not in torch._dynamo.list_backends(
        exclude_tags=()
    ):
        cannot_run(f"torch {torch.__version__} has no backend {case.backend}")
    for name in settings["NEEDS"]:
        try:
            functools.reduce(getattr, name.split(".")[1:], torch)
        except (AttributeError, RuntimeError):
            cannot_run(f"torch {torch.__version__} has no {name}")
    if settings["GRADIENTS"] and hasattr(torch._dynamo.config, "trace_autograd_ops"):
        torch._dynamo.config.trace_autograd_ops = True
    for name, value in {
        "torch._inductor.config.fallback_random": True,
        **settings["CONFIG"],
    }.items():
        parts = name.split(".")
        owner: object = None
        for at in range(len(parts) - 1, 0, -1):
            with contextlib.suppress(ImportError):
                owner = importlib.import_module(".".join(parts[:at]))
                break
        for part in parts[at:-1]:
            owner = getattr(owner, part, None)
        if owner is None or not hasattr(owner, parts[-1]):
            cannot_run(f"torch {torch.__version__} has no {name}")
        try:
            setattr(owner, parts[-1], value)
        except Exception as error:
            cannot_run(f"{name} cannot be {value!r}: {error}")


def agree(case: Case) -> bool:
    """Whether eager and compiled agree as the case and its path demand; prints what differs. Raises
    `CannotTell`."""
    verdict = verdict_on(case)
    print("\n".join(verdict.lines) if verdict.lines else "eager and compiled agree")
    # What is neither says nothing of the compiler: exit status 125.
    if verdict.status not in ("conform", *case.rules.accusing):
        what = "a gold decides" if verdict.status == "unknown" else verdict.status
        raise CannotTell(f"{what}; `ci/lockstep run '{case.settings['ID']}'` judges it")
    return verdict.status == "conform"


def main(case: Case) -> int:
    """The exit status: 0 they agree, 1 they do not, 125 it cannot be told."""
    export = case.settings["EXPORT"]
    print(
        f"torch {torch.__version__}, "
        + (f"backend {case.backend}" if export is None else f"torch.export to {export['TO']}")
    )
    try:
        return 0 if agree(case) else 1
    except CannotTell as why:
        print(f"cannot tell: {why}")
    except Exception as error:  # of this script: nothing that the compiler can be blamed for
        traceback.print_exc()
        print(f"cannot tell: the script itself failed: {type(error).__name__}: {error}")
    return 125
