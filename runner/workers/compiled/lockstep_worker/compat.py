"""Every difference between torch releases (2.10 to 2.15) that the worker has to know.

Each function prefers what the newest release offers and falls back by looking, not by comparing
version numbers: nightlies and vendors' builds carry versions of their own.
"""

import contextlib
import functools
import os
import sys
from typing import Any, Callable, Iterator

import torch


def git_version() -> str:
    """The commit torch was built from, or an empty string."""
    return str(getattr(torch.version, "git_version", None) or "")


def set_conj_neg(tensor: torch.Tensor, conj: bool, neg: bool) -> None:
    """Sets the lazy conjugation and negation bits of a view in place, without making another view
    of it: the result shares nothing but its storage, as an input does."""
    if conj:
        torch._C._set_conj(tensor, True)
    if neg:
        torch._C._set_neg(tensor, True)


def inductor_modules() -> tuple:
    """Imports what the first compilation would import, so that a forked child does not."""
    import torch._dynamo
    import torch._dynamo.backends.common
    import torch._dynamo.utils
    import torch._functorch.aot_autograd
    import torch._functorch.partitioners
    import torch._inductor.codecache
    import torch._inductor.compile_fx
    import torch._inductor.config
    import torch._inductor.cpp_builder
    import torch._inductor.graph
    import torch._inductor.metrics

    return torch._dynamo, torch._inductor


def pin_caches() -> None:
    """Switches off what lets one execution change how another compiles: profiles of dynamic
    shapes kept on disk, remote caches."""
    import torch._dynamo.config
    import torch._functorch.config
    import torch._inductor.config

    for module, name in (
        (torch._dynamo.config, "automatic_dynamic_local_pgo"),
        (torch._dynamo.config, "automatic_dynamic_remote_pgo"),
        (torch._inductor.config, "fx_graph_remote_cache"),
        (torch._inductor.config, "autotune_remote_cache"),
        (torch._inductor.config, "bundled_autotune_remote_cache"),
        (torch._functorch.config, "enable_remote_autograd_cache"),
    ):
        if hasattr(module, name):
            setattr(module, name, False)


def place_headers(directory: str) -> None:
    """Moves Inductor's precompiled headers below `directory`: it keeps them in one place for each
    user, whatever `TORCHINDUCTOR_CACHE_DIR` says."""
    import torch._inductor.codecache as codecache

    if hasattr(codecache, "_HEADER_DIR"):
        codecache._HEADER_DIR = os.path.join(directory, "precompiled_headers")
        codecache._HEADER_LOCK_DIR = os.path.join(directory, "precompiled_headers", "locks")


def warm_headers(config: dict, stage: Callable[[str], None]) -> None:
    """Has Inductor precompile its headers for the configuration in force, once for each cache directory and
    `config`: with other flags for the C++ compiler, or for the C++ wrapper, it builds other ones, for half a minute,
    which is not the time of the instance that happens to be first. Tells `stage` so when there is something to do."""
    import hashlib
    import json

    digest = hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()[:16]
    mark = os.path.join(os.environ.get("TORCHINDUCTOR_CACHE_DIR", ""), f"warm-{digest}")
    if os.path.exists(mark):
        return
    stage("warm")
    # Whatever goes wrong goes wrong again, in the instance.
    with contextlib.suppress(Exception):
        torch.compile(lambda x: x + 1, backend="inductor", dynamic=False)(torch.ones(3))
        with open(mark, "x", encoding="utf-8"):
            pass
    torch._dynamo.reset()


def atomic_builds() -> None:
    """Lets the C++ compiler write beside its target and renames: Inductor takes any file of the
    target's name for a finished one, and a child can be killed while its linker writes."""
    from torch._inductor.cpp_builder import CppBuilder

    build = CppBuilder.build

    def build_beside(self: Any) -> None:
        target, output = getattr(self, "_target_file", None), getattr(self, "_output", None)
        if not target or not output or not output.endswith(" " + target):
            return build(self)
        part = f"{target}.{os.getpid()}.part"
        self._output = output.removesuffix(target) + part
        try:
            build(self)
            os.replace(part, target)
        finally:
            self._output = output

    CppBuilder.build = build_beside


def autograd_has_threads() -> bool:
    """Whether autograd starts threads when it is first used, even to trace: it keeps one for each
    device that a build for a GPU can have, with or without a GPU in the machine."""
    return torch.version.cuda is not None or torch.version.hip is not None or bool(getattr(torch.version, "xpu", None))


@contextlib.contextmanager
def no_accelerator() -> Iterator[None]:
    """While it lasts, torch sees no GPU: Inductor asks for its properties even when it compiles for
    the CPU, and a CUDA context does not survive a fork. Afterwards what was cached of the answers
    is forgotten. Without a GPU nothing changes."""
    import torch._dynamo.device_interface as interfaces
    import torch._inductor.codecache as codecache
    import torch._inductor.utils
    import torch.utils._triton

    def refuse(*_: Any, **__: Any) -> None:
        raise RuntimeError("a parent that forks does not initialise CUDA")

    if torch.version.cuda is None and torch.version.hip is None:
        yield
        return
    patches = {"is_available": lambda: False, "device_count": lambda: 0, "_lazy_init": refuse}
    before = {name: getattr(torch.cuda, name) for name in patches}
    for name, patch in patches.items():
        setattr(torch.cuda, name, patch)
    try:
        yield
    finally:
        for name, function in before.items():
            setattr(torch.cuda, name, function)
        for owner in (torch.utils._triton, torch._inductor.utils, codecache, codecache.CacheBase, interfaces):
            for value in list(vars(owner).values()):
                value = getattr(value, "__func__", value)  # static methods
                if isinstance(value, functools._lru_cache_wrapper):
                    value.cache_clear()
        if hasattr(interfaces, "_device_initialized"):
            interfaces._device_initialized = False
    if torch.cuda.is_initialized():
        raise RuntimeError("the parent initialised CUDA; its children could not use it")


def no_guard_profiling() -> None:
    """Spares every compilation the 25 ms in which Dynamo empties the CPU's caches to time its
    guards, for a log line."""
    import torch._dynamo.guards as guards

    if hasattr(guards, "profile_guard_manager"):
        guards.profile_guard_manager = lambda *_: 0.0


def trace_gradients() -> None:
    """Lets Dynamo trace `torch.autograd.grad` inside a program, which it refuses by default."""
    import torch._dynamo.config

    if hasattr(torch._dynamo.config, "trace_autograd_ops"):
        torch._dynamo.config.trace_autograd_ops = True


def one_compile_thread() -> None:
    """No pools of compiler processes: they would be threads in a parent that forks."""
    import torch._inductor.config

    torch._inductor.config.compile_threads = 1


def on_source(callback: Callable[[str], None]) -> None:
    """Calls `callback` with every piece of code that Inductor generates or finds in its cache.
    `run_and_get_code` does the same, but resets Dynamo and so compiles twice."""
    from torch._inductor.graph import GraphLowering

    GraphLowering.save_output_code = staticmethod(callback)


def on_stages(stage: Callable[[str], None]) -> None:
    """Calls `stage` with `lower` when Dynamo hands a graph to the backend, `compile` when
    Inductor starts on one, and `run` when a compilation is over. Where a release lacks a hook
    the stage is simply not told apart."""
    with contextlib.suppress(ImportError, AttributeError):
        from torch._dynamo.output_graph import OutputGraph

        call_user_compiler = OutputGraph.call_user_compiler

        def lowering(self: Any, *args: Any, **kwargs: Any) -> Any:
            stage("lower")
            return call_user_compiler(self, *args, **kwargs)

        OutputGraph.call_user_compiler = lowering
    with contextlib.suppress(ImportError, AttributeError):
        from torch._inductor.graph import GraphLowering

        codegen = GraphLowering.codegen

        def compiling(self: Any, *args: Any, **kwargs: Any) -> Any:
            stage("compile")
            return codegen(self, *args, **kwargs)

        GraphLowering.codegen = compiling
    with contextlib.suppress(ImportError, AttributeError):
        from torch._dynamo.callback import on_compile_end, on_compile_start

        on_compile_start(lambda *_: stage("trace"))
        # Called from a `finally`: a compilation that is being left by an exception runs nothing.
        on_compile_end(lambda *_: stage("run") if sys.exc_info()[0] is None else None)


def compilation_metrics() -> list:
    """Dynamo's records, one for each compilation: `recompile_reason`, `*_time_us` and more."""
    import torch._dynamo.utils

    get = getattr(torch._dynamo.utils, "get_compilation_metrics", None)
    return list(get()) if get else []


def clear_compilation_metrics() -> None:
    """Forgets the records of compilations so far."""
    import torch._dynamo.utils

    clear = getattr(torch._dynamo.utils, "clear_compilation_metrics", None)
    if clear:
        clear()


def reset_counters() -> None:
    """Clears Dynamo's state, its counters, its records, and Inductor's kernel counts."""
    import torch._dynamo
    import torch._dynamo.utils
    import torch._inductor.metrics

    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    clear_compilation_metrics()
    torch._inductor.metrics.reset()


def kernel_count() -> int:
    """How many kernels Inductor generated since the last reset; a cache hit replays the count."""
    import torch._inductor.metrics

    return int(getattr(torch._inductor.metrics, "generated_kernel_count", 0))


def cpp_compiler() -> str:
    """The C++ compiler that Inductor calls. Raises whatever Inductor raises where there is none."""
    import torch._inductor.cpp_builder as builder

    return str(builder.get_cpp_compiler())


def triton_version() -> str | None:
    """The version of triton, or None where Inductor has none."""
    try:
        import triton
    except Exception:  # a broken triton raises more than ImportError
        return None
    return str(getattr(triton, "__version__", "unknown"))
