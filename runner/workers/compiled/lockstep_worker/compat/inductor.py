"""Inductor: its imports, its caches and its settings, what it generates and how far it is."""

import contextlib
import functools
import importlib
import os
import pathlib
from collections.abc import Callable
from typing import Any

#: The setting that has Inductor draw eager's random numbers.
EAGER_RANDOM = "torch._inductor.config.fallback_random"
#: How many threads generated C++ uses.
THREADS = "torch._inductor.config.cpp.threads"
#: What the first compilation would import. The last one looks for a source in the files of all
#: modules; Dynamo imports it where it meets a function of torch's.
_MODULES = (
    "torch._dynamo",
    "torch._dynamo.backends.common",
    "torch._dynamo.utils",
    "torch._functorch.aot_autograd",
    "torch._functorch.partitioners",
    "torch._inductor.codecache",
    "torch._inductor.compile_fx",
    "torch._inductor.config",
    "torch._inductor.cpp_builder",
    "torch._inductor.graph",
    "torch._inductor.metrics",
    "torch.distributed.tensor.experimental._func_map",
)
_HEADERS = "precompiled_headers"
#: What stands behind the name of a library that could be loaded.
_LOADS = ".loads"


def import_all() -> None:
    """Imports what the first compilation would import, so that a forked child does not; what a
    release or a build lacks is left to the compilation."""
    for name in _MODULES:
        with contextlib.suppress(Exception):
            importlib.import_module(name)


def is_setting(name: str) -> bool:
    """Whether a setting of a path is one of Inductor's."""
    return "._inductor." in name


def settings_of(config: dict, options: dict | None) -> dict:
    """Inductor's settings that a path changes, by their full names: by configuration, and by
    options of `torch.compile`."""
    changed = {name: value for name, value in config.items() if is_setting(name)}
    return {
        **changed,
        **{f"torch._inductor.config.{name}": value for name, value in (options or {}).items()},
    }


def no_remote_caches() -> None:
    """Switches off caches on other machines: with them one execution changes how another
    compiles."""
    import torch._functorch.config
    import torch._inductor.config

    for module, name in (
        (torch._inductor.config, "fx_graph_remote_cache"),
        (torch._inductor.config, "autotune_remote_cache"),
        (torch._inductor.config, "bundled_autotune_remote_cache"),
        (torch._functorch.config, "enable_remote_autograd_cache"),
    ):
        if hasattr(module, name):
            setattr(module, name, False)


def no_graph_cache() -> contextlib.AbstractContextManager:
    """While it lasts, every graph is compiled, whether or not a cache has it."""
    import torch._functorch.config
    import torch._inductor.config

    stack = contextlib.ExitStack()
    stack.enter_context(torch._inductor.config.patch(fx_graph_cache=False))
    stack.enter_context(torch._functorch.config.patch(enable_autograd_cache=False))
    return stack


def fall_back(overloads: list[Any]) -> None:
    """Has Inductor call torch's kernels for these overloads: takes their decompositions and
    lowerings away, and uses no cached graph, whose keys do not know of it. Raises `AttributeError`
    or `ImportError` where this torch does not let it."""
    import torch._functorch.config
    import torch._inductor.config
    from torch._inductor import decomposition, lowering

    for overload in overloads:
        decomposition.decompositions.pop(overload, None)
        lowering.make_fallback(overload, warn=False, override_decomp=True)
    decomposition.fast_random_decomps.cache_clear()
    torch._inductor.config.fx_graph_cache = False
    torch._functorch.config.enable_autograd_cache = False


def one_compile_thread() -> None:
    """No pools of compiler processes: they would be threads in a parent that forks."""
    import torch._inductor.config

    torch._inductor.config.compile_threads = 1


def no_progress_threads() -> None:
    """No thread that watches a progress bar: tqdm, where it is installed, starts one with the first
    bar, and Inductor shows one when it compiles."""
    import torch.hub

    torch.hub.tqdm.monitor_interval = 0


def reset_metrics() -> None:
    """Clears Inductor's counts of kernels, where it has any."""
    with contextlib.suppress(ImportError, AttributeError):
        import torch._inductor.metrics

        torch._inductor.metrics.reset()


def kernel_count() -> int:
    """How many kernels Inductor generated since the last reset, 0 where it does not count; a cache
    hit replays the count."""
    try:
        import torch._inductor.metrics

        return int(torch._inductor.metrics.generated_kernel_count)
    except (ImportError, AttributeError):
        return 0


def on_source(callback: Callable[[str], None]) -> None:
    """Calls `callback` with every piece of code that Inductor generates or finds in its cache,
    where this release lets it. `run_and_get_code` does the same, but resets Dynamo and so compiles
    twice."""
    with contextlib.suppress(ImportError):
        from torch._inductor.graph import GraphLowering

        GraphLowering.save_output_code = staticmethod(callback)


def on_run(callback: Callable[[str], None]) -> None:
    """Calls `callback` with the code of a graph whenever Inductor's code for it runs. Raises
    `AttributeError` or `ImportError` where this torch does not let it."""
    from torch._inductor.output_code import CompiledFxGraph

    call = CompiledFxGraph.__call__

    def running(self: Any, *args: Any, **kwargs: Any) -> Any:
        callback(self.source_code)
        return call(self, *args, **kwargs)

    CompiledFxGraph.__call__ = running


def on_compile(callback: Callable[[], None]) -> None:
    """Calls `callback` when Inductor starts on a graph that no cache has, where this release lets
    it."""
    with contextlib.suppress(ImportError, AttributeError):
        from torch._inductor.graph import GraphLowering

        codegen = GraphLowering.codegen

        def compiling(self: Any, *args: Any, **kwargs: Any) -> Any:
            callback()
            return codegen(self, *args, **kwargs)

        GraphLowering.codegen = compiling


# Precompiled headers ----------------------------------------------------------------------------


def place_headers(directory: str) -> None:
    """Moves Inductor's precompiled headers below `directory`: it keeps them in one place for each
    user, whatever `TORCHINDUCTOR_CACHE_DIR` says."""
    import torch._inductor.codecache as codecache

    if hasattr(codecache, "_HEADER_DIR"):
        codecache._HEADER_DIR = os.path.join(directory, _HEADERS)
        codecache._HEADER_LOCK_DIR = os.path.join(directory, _HEADERS, "locks")


def on_header(callback: Callable[[str], None]) -> None:
    """Calls `callback` with the path of every precompiled header that is used. Raises
    `AttributeError` where this torch does not say."""
    import torch._inductor.codecache as codecache

    precompile = codecache._precompile_header

    def using(*args: Any, **kwargs: Any) -> str:
        path = precompile(*args, **kwargs)
        callback(path)
        return path

    codecache._precompile_header = using


def precompile_for(package: Callable[[], Any], first: bool = True) -> None:
    """Has `package` get as far as the two headers that it has precompiled, that of the wrapper and
    that of its kernels: no package is made, and `package` tidies up. This process remembers where
    they are, and asks the preprocessor no more. Without the `first`, for a process beside one that
    is at it, only the second. Raises `AttributeError` where this torch does not say."""
    import torch._inductor.codecache as codecache

    precompile, asked = codecache._precompile_header, []

    def until_second(*args: Any, **kwargs: Any) -> str:
        asked.append(args)
        if len(asked) == 1 and not first:
            return ""
        header = str(precompile(*args, **kwargs))
        if len(asked) == 2:
            raise RuntimeError("the headers are there: that was all")
        return header

    codecache._precompile_header = until_second
    try:
        with contextlib.suppress(Exception):
            package()
    finally:
        codecache._precompile_header = precompile


def is_placed(header: str, directory: str) -> bool:
    """Whether `header` lies where `place_headers(directory)` wants it."""
    return os.path.realpath(header).startswith(
        os.path.realpath(os.path.join(directory, _HEADERS)) + os.sep
    )


def own_headers() -> None:
    """Has every compilation read its headers itself, whatever others have precompiled."""
    import torch._inductor.config

    if hasattr(torch._inductor.config, "cpp_cache_precompile_headers"):
        torch._inductor.config.cpp_cache_precompile_headers = False


# The C++ compiler -------------------------------------------------------------------------------


def cpp_compiler() -> str:
    """The C++ compiler that Inductor calls. Raises whatever Inductor raises where there is none."""
    import torch._inductor.cpp_builder as builder

    return str(builder.get_cpp_compiler())


def remember_loads() -> None:
    """Remembers of each library by which Inductor tries what the processor can do that it could be
    loaded: it starts a Python for each of them, every time. What cannot is tried again."""
    from torch._inductor.cpu_vec_isa import VecISA

    load = VecISA._probe_load

    def load_once(self: Any, library: str) -> bool:
        if os.path.exists(library + _LOADS):
            return True
        loads = load(self, library)
        if loads:
            with contextlib.suppress(OSError):
                pathlib.Path(library + _LOADS).touch()
        return loads

    VecISA._probe_load = load_once


def remember_strides() -> None:
    """Remembers by how much an index grows with a variable. Inductor asks it again and again while
    it selects how to vectorise a loop, and sympy's `simplify` answers: of a cold run of shared
    graphs that takes a seventh of Python's time."""
    from torch._inductor import sizevars

    sizevars.stride_at = functools.cache(sizevars.stride_at)


def build_header() -> None:
    """Precompiles the header of C++ kernels as if Inductor could use all that the processor has,
    which it finds out by building and loading a library for each instruction set, for seconds. For
    a process of its own: this one ends where the header is there."""
    import torch._inductor.config
    from torch._inductor.codecache import CppPythonBindingsCodeCache
    from torch._inductor.cpu_vec_isa import VecISA

    torch._inductor.config.cpp.vec_isa_ok = True
    # Of the parts of AVX-512 it builds some whatever that setting says.
    VecISA.check_build = lambda *_: True
    on_header(lambda _: os._exit(0))
    CppPythonBindingsCodeCache.load_pybinding([], 'extern "C" void kernel() {}')


def probe_backwards() -> None:
    """Finds out what Inductor could use, from the other end of its list. For a process beside one
    that begins at the front: who comes second finds built what both want, and Inductor's locks keep
    them apart."""
    from torch._inductor import cpu_vec_isa

    cpu_vec_isa.supported_vec_isa_list = cpu_vec_isa.supported_vec_isa_list[::-1]
    cpu_vec_isa.valid_vec_isa_list()


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


def no_warnings() -> None:
    """Has the C++ compiler look for no warnings. Of the headers that Inductor precompiles g++ has
    2,600 lines for each kernel, which take a twelfth of its time; they bury an error, and nobody
    reads them. What it writes is the same."""
    import torch._inductor.cpp_builder as cpp

    run = cpp.run_compile_cmd

    def run_quietly(command: str, cwd: str) -> None:
        run(f"{command} -w", cwd=cwd)

    cpp.run_compile_cmd = run_quietly


def build_in(directory: str) -> tuple[str, str]:
    """Compiles an empty library as Inductor compiles a kernel. The name that the compiler was told
    to write, and that of the file that is there."""
    import torch._inductor.cpp_builder as cpp

    source = os.path.join(directory, "empty.cpp")
    with open(source, "w", encoding="utf-8") as file:
        file.write("int empty;\n")
    builder = cpp.CppBuilder(
        name="empty", sources=source, BuildOption=cpp.CppOptions(), output_dir=directory
    )
    told: list[str] = []
    run = cpp.run_compile_cmd

    def running(command: str, cwd: str) -> None:
        told.append(command)
        run(command, cwd=cwd)

    cpp.run_compile_cmd = running
    try:
        builder.build()
    finally:
        cpp.run_compile_cmd = run
    target = builder.get_target_file_path()
    (command,) = told
    (name,) = [word for word in command.split() if word.startswith(target)]
    os.stat(target)
    return name, target
