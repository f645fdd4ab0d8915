"""Everything that a forked child shall find done: imports, one compilation, the header that
Inductor precompiles in a new cache directory."""

import contextlib
import gc
import logging
import os
import threading
import warnings
from collections.abc import Callable
from typing import Any

from .compat import build, dynamo, inductor
from .compat.accelerator import no_accelerator
from .processes import beside
from .trials.trial import TRIED, two_steps

#: The directories for which this process, or the resident one that it was forked from, is warm.
_warm: set[str] = set()
#: Whether Inductor has lowered a graph here, and begun a package.
_has_lowered = _has_packaged = False


def warm(cache: str) -> None:
    """Imports torch and Inductor and compiles one throw-away function with one thread, into the
    directory `cache`. About 5 s, or 20 s where that is new. Leaves no trace in Dynamo's state or
    counters. Raises whatever a machine without a working C++ compiler raises."""
    import torch

    torch.set_num_threads(1)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    # Importing, compiling and resetting look for accelerators; where NVML does not answer, that
    # initialises CUDA.
    real = os.path.realpath(cache)
    if real not in _warm:
        with no_accelerator():
            _import_and_compile(cache)
        _warm.add(real)
    # What exists now is shared with every child; the collector would write to its pages. The few MB
    # that it could free cost half a second.
    gc.freeze()
    gc.enable()  # for the children: the parent leaves it out while it imports


def lower() -> None:
    """Lowers two functions, one with gradients, unless that has been done in a new cache: where the
    cache has their graphs, each child that lowers one imports Inductor's passes and makes their
    patterns itself, for a third of a second. Here it takes a second, once."""
    import torch

    global _has_lowered
    if _has_lowered:
        return
    _has_lowered = True
    # Whatever goes wrong goes wrong again, in the instance.
    with contextlib.suppress(Exception), no_accelerator(), inductor.no_graph_cache():
        _compile_throw_away()
        _compile(two_steps, torch.ones(TRIED))
    _forget()
    gc.freeze()


def package() -> None:
    """Begins a package, as far as its headers: else each child that makes one imports what exports
    and packages, and asks the preprocessor for both headers, for a second. Here it takes two,
    once."""
    from .exported import warm_package  # which needs torch

    global _has_packaged
    if _has_packaged:
        return
    _has_packaged = True
    with contextlib.suppress(Exception), no_accelerator():
        inductor.precompile_for(warm_package)
    _forget()
    gc.freeze()


def _import_and_compile(cache: str) -> None:
    global _has_lowered
    import torch

    _adapt(
        inductor.no_remote_caches,
        inductor.one_compile_thread,
        inductor.no_progress_threads,
        lambda: inductor.place_headers(cache),
        inductor.atomic_builds,
        inductor.no_warnings,
        inductor.remember_loads,
    )
    with contextlib.ExitStack() as children:
        new = not os.listdir(cache)
        if new:
            # All else waits for the header.
            children.enter_context(beside(inductor.build_header, nice=0))
            children.enter_context(beside(inductor.probe_backwards))
        # What a child would import or read first.
        from . import execute, spelling  # noqa: F401

        spelling.table()
        torch.overrides.get_overridable_functions()
        inductor.import_all()
        _adapt(dynamo.no_profiles, dynamo.no_guard_profiling, inductor.remember_strides)
        with torch.profiler.record_function("warm"):
            pass  # its first use imports
        gc.freeze()  # Dynamo collects after each compilation
        if new:
            children.enter_context(beside(lambda: _compile(two_steps, torch.ones(TRIED))))
        with named_header():
            try:
                _compile_throw_away()
            except Exception:  # a compiler that was killed, as where memory ran out: once more
                _forget()
                _compile_throw_away()
    _has_lowered |= new
    _forget()


def _adapt(*hooks: Callable[[], None]) -> None:
    """Puts hooks in force; what a torch lacks, the trials name."""
    for hook in hooks:
        with contextlib.suppress(ImportError, AttributeError):
            hook()


def _throw_away(x: Any, y: Any) -> Any:
    """A function of torch's, casts, a matrix product and a sum: one kernel to compile."""
    import torch

    return torch.relu(x @ y).to(torch.float16).to(torch.float32).sum(dim=1)


def _compile_throw_away() -> None:
    """With gradients, unless that starts threads, which a fork would lose: never a backward."""
    import torch

    x = torch.arange(20.0).reshape(4, 5).requires_grad_(not build.autograd_has_threads())
    _compile(_throw_away, x, torch.ones(5, 3))


def _forget() -> None:
    """Leaves no trace in Dynamo's state or in counters."""
    dynamo.reset()
    inductor.reset_metrics()


def _compile(function: Callable, *args: Any) -> None:
    import torch

    torch.compile(function, backend="inductor", dynamic=False, fullgraph=True)(*args)


@contextlib.contextmanager
def named_header() -> Any:
    """Says of a missing Python.h what it is for and what brings it; the compiler's error says
    nothing of that in its first line."""
    try:
        yield
    except Exception as error:
        if "Python.h" not in str(error):
            raise
        raise RuntimeError(
            "Inductor's kernels for the CPU include Python.h, which is missing: python3-dev of "
            "Debian and Ubuntu, or python3-devel of Fedora and RHEL, brings it"
        ) from error


def check_single_threaded() -> None:
    """Raises `RuntimeError` where this process has more than one thread: a fork would copy locks
    that nobody releases. What was started for the compilation may end first, for two seconds."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join(2)
    names = [thread.name for thread in threading.enumerate()]
    tasks = []
    with contextlib.suppress(OSError):
        for task in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{task}/comm", encoding="utf-8", errors="replace") as file:
                tasks.append(file.read().strip())
    if len(names) > 1 or len(tasks) > 1:
        raise RuntimeError(
            f"the parent has the Python threads {names} and the tasks {tasks}; it must not fork"
        )
