"""What Dynamo tells of its work, and what it has to be told."""

import contextlib
import importlib.util
import sys
from collections.abc import Callable
from typing import Any

#: How a counter's name begins that says that Dynamo gave up and ran the program eagerly; older
#: releases name the limit.
LIMITS = (
    "Dynamo recompile limit exceeded",
    "recompile_limit reached",
    "accumulated_recompile_limit reached",
)
#: Where AOT autograd begins with a graph, and where it looks for one in its cache.
AOT_BEGINS, AOT_LOADS = "create_aot_state", "try_load"
#: How autograd calls the backward of what AOT autograd compiled.
AOT_BACKWARD = "CompiledFunctionBackward"
GRADIENTS = "trace_autograd_ops"
PROFILES = ("automatic_dynamic_local_pgo", "automatic_dynamic_remote_pgo")


def reset() -> None:
    """Clears Dynamo's state, its counters and its records."""
    import torch._dynamo.utils

    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    clear = getattr(torch._dynamo.utils, "clear_compilation_metrics", None)
    if clear:
        clear()


def counters() -> Any:
    """Dynamo's counters: group → name → count, 0 where there is none."""
    import torch._dynamo.utils

    return torch._dynamo.utils.counters


def records() -> list:
    """Dynamo's records, one for each compilation: `recompile_reason`, `fail_type`, `*_time_us` and
    more."""
    import torch._dynamo.utils

    get = getattr(torch._dynamo.utils, "get_compilation_metrics", None)
    return list(get()) if get else []


def recompile_limit(limit: int) -> contextlib.AbstractContextManager:
    """While it lasts, Dynamo compiles a function no more than so many times."""
    import torch._dynamo.config

    return torch._dynamo.config.patch(recompile_limit=limit)


def trace_gradients() -> None:
    """Lets Dynamo trace `torch.autograd.grad` inside a program, which it refuses by default."""
    import torch._dynamo.config

    if hasattr(torch._dynamo.config, GRADIENTS):
        setattr(torch._dynamo.config, GRADIENTS, True)


def traces_gradients() -> bool:
    """Whether Dynamo traces `torch.autograd.grad`."""
    import torch._dynamo.config

    return bool(getattr(torch._dynamo.config, GRADIENTS, False))


def no_guard_profiling(instead: Callable[[], None] = lambda: None) -> None:
    """Spares every compilation the 25 ms in which Dynamo empties the CPU's caches to time its
    guards, for a log line: `instead` is called."""
    import torch._dynamo.guards as guards

    def untimed(*_: Any) -> float:
        instead()
        return 0.0

    if hasattr(guards, "profile_guard_manager"):
        guards.profile_guard_manager = untimed


def no_profiles() -> None:
    """Switches off the profiles of dynamic shapes that are kept on disk: with them one execution
    changes how another compiles."""
    import torch._dynamo.config

    for name in PROFILES:
        if hasattr(torch._dynamo.config, name):
            setattr(torch._dynamo.config, name, False)


def keeps_profiles() -> bool:
    """Whether this torch has profiles of dynamic shapes that `no_profiles` did not switch off."""
    import torch._dynamo.config

    switches = [
        getattr(torch._dynamo.config, name)
        for name in PROFILES
        if hasattr(torch._dynamo.config, name)
    ]
    return (
        any(switches) or not switches and importlib.util.find_spec("torch._dynamo.pgo") is not None
    )


def on_returned(
    change: Callable[[Callable], Callable], asking: Callable[[], contextlib.AbstractContextManager]
) -> None:
    """Puts `change` of each callable that a backend returns in its place; `asking` is entered while
    it makes it. Raises `AttributeError` where this torch asks its backends in another way."""
    from torch._dynamo.output_graph import OutputGraph

    call_user_compiler = OutputGraph.call_user_compiler

    def returning(self: Any, *args: Any, **kwargs: Any) -> Any:
        with asking():
            return change(call_user_compiler(self, *args, **kwargs))

    OutputGraph.call_user_compiler = returning


def on_aot(callback: Callable[[], None]) -> None:
    """Calls `callback` whenever AOT autograd takes a graph, also one that its cache has. Raises
    `AttributeError` where this torch does not let it."""
    import torch._functorch.aot_autograd as aot

    for owner, name in ((aot, AOT_BEGINS), (getattr(aot, "AOTAutogradCache", None), AOT_LOADS)):
        if owner is not None:
            setattr(owner, name, _telling(getattr(owner, name), callback))


def _telling(function: Callable, callback: Callable[[], None]) -> Callable:
    def telling(*args: Any, **kwargs: Any) -> Any:
        callback()
        return function(*args, **kwargs)

    return telling


def on_lowering(stage: Callable[[str], None]) -> None:
    """Calls `stage` with `lower` when Dynamo hands a graph to the backend. Where a release lacks
    the hook the stage is simply not told apart."""
    with contextlib.suppress(ImportError, AttributeError):
        from torch._dynamo.output_graph import OutputGraph

        call_user_compiler = OutputGraph.call_user_compiler

        def lowering(self: Any, *args: Any, **kwargs: Any) -> Any:
            stage("lower")
            return call_user_compiler(self, *args, **kwargs)

        OutputGraph.call_user_compiler = lowering


def on_compilations(stage: Callable[[str], None]) -> None:
    """Calls `stage` with `trace` when a compilation begins, and `run` when it is over, until Dynamo
    is reset; where a release lets it."""
    with contextlib.suppress(ImportError, AttributeError):
        from torch._dynamo.callback import on_compile_end, on_compile_start

        on_compile_start(lambda *_: stage("trace"))
        # Called from a `finally`: a compilation that is being left by an exception runs nothing.
        on_compile_end(lambda *_: stage("run") if sys.exc_info()[0] is None else None)
