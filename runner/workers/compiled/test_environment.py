"""What the worker tells of its toolchain, for the record of a run."""

import functools
import json
import os
import pathlib
import subprocess
import sys
import threading
import types
from typing import Any

import pytest
import torch

from lockstep_worker import environment, warmup
from lockstep_worker.compat import accelerator, pins
from lockstep_worker.configure import apply_config


@pytest.fixture
def vendor(tmp_path, monkeypatch):
    """An installed package `vendor-compiler` that brings the module `vendor.backend`."""
    (tmp_path / "vendor").mkdir()
    (tmp_path / "vendor" / "backend.py").write_text("raise SystemExit('imported')")
    info = tmp_path / "vendor_compiler-3.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: vendor-compiler\nVersion: 3.1\n")
    (info / "RECORD").write_text("vendor/backend.py,,\n")
    (info / "top_level.txt").write_text("vendor\n")
    monkeypatch.syspath_prepend(tmp_path)
    return info


def test_the_package_of_a_module_is_recorded_and_not_imported(vendor):
    assert environment.packages(["vendor.backend", "torch.fx", "not_there"]) == {
        "package vendor-compiler": "3.1"
    }
    assert environment.packages([]) == {}


@pytest.mark.parametrize("group", ["torch_dynamo_backends", "torch.backends"])
def test_a_package_that_registers_itself_is_recorded(vendor, group):
    (vendor / "entry_points.txt").write_text(f"[{group}]\nvendor = vendor.backend:compile\n")
    assert environment.packages([]) == {"package vendor-compiler": "3.1"}


def install(folder, name, version, *requires):
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        + "".join(f"Requires-Dist: {each}\n" for each in requires)
    )


def test_what_a_package_asks_for_is_recorded_with_it(vendor, tmp_path):
    with open(vendor / "METADATA", "a", encoding="utf-8") as file:
        for line in (
            "Code_Generator (>=2,<3)",
            "torch>=2",
            "not-installed; python_version<'3'",
            'tuner[fast] ; extra == "all"',
        ):
            file.write(f"Requires-Dist: {line}\n")
    install(
        tmp_path,
        "code-generator",
        "2.5",
        "assembler>=1",
        "torch",
        'linter; extra == "dev"',
        "vendor-compiler",
    )
    install(tmp_path, "assembler", "1.0")
    install(tmp_path, "tuner", "0.1")
    install(tmp_path, "linter", "9.9")
    install(tmp_path, "bystander", "4.4")
    assert environment.packages(["vendor.backend"]) == {
        "package assembler": "1.0",
        "package code-generator": "2.5",
        "package tuner": "0.1",
        "package vendor-compiler": "3.1",
    }


#: A device that no list knows, which lives in Python alone.
REGISTER = (
    "import torch.utils.backend_registration as backends; "
    "backends._setup_privateuseone_for_python_backend('abacus')"
)


def with_a_device(*lines):
    """What a Python prints that has it."""
    modules = pathlib.Path(environment.__file__).parents[1]
    told = subprocess.run(
        [sys.executable, "-c", "; ".join((REGISTER, *lines))],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(modules)},
        timeout=120,
    )
    return told.stdout.split()


def test_a_device_that_a_vendor_registers_is_one():
    assert with_a_device(
        "from lockstep_worker import environment", "print(*environment.devices())"
    ) == ["cpu", "abacus", "abacus:0"]
    assert with_a_device(
        "from lockstep_worker.compat import build", "print(build.autograd_has_threads())"
    ) == ["True"]


def test_the_devices_are_those_of_the_accelerator(monkeypatch):
    assert environment.devices()[0] == "cpu"
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("mtia"))
    for here, expected in ((False, ["cpu"]), (True, ["cpu", "mtia", "mtia:0", "mtia:1"])):
        monkeypatch.setattr(torch.accelerator, "is_available", lambda here=here: here)
        monkeypatch.setattr(torch.accelerator, "device_count", lambda: 2)
        assert environment.devices() == expected


def test_no_accelerator_is_seen_while_the_parent_compiles(monkeypatch):
    asked = types.SimpleNamespace(
        is_available=lambda: True,
        device_count=lambda: 3,
        _lazy_init=lambda: None,
        is_initialized=lambda: False,
    )
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("mtia"))
    monkeypatch.setattr(torch, "get_device_module", lambda device: asked)
    counted = []
    monkeypatch.setattr(torch._C, "_ensureCUDADeviceGuardSet", lambda: counted.append("CUDA"))
    with accelerator.no_accelerator():
        assert (asked.is_available(), asked.device_count()) == (False, 0)
        torch._C._ensureCUDADeviceGuardSet()
        with pytest.raises(RuntimeError, match="does not initialise mtia"):
            asked._lazy_init()
    assert counted == []
    assert (asked.is_available(), asked.device_count(), asked._lazy_init()) == (True, 3, None)
    torch._C._ensureCUDADeviceGuardSet()
    assert counted == ["CUDA"]
    asked.is_initialized = lambda: True
    with (
        pytest.raises(RuntimeError, match="the parent initialised mtia"),
        accelerator.no_accelerator(),
    ):
        pass


def test_no_accelerator_is_seen_while_the_parent_imports(monkeypatch):
    """Inductor asks as it is imported. Where NVML does not answer, that initialises CUDA."""

    class Imported(Exception):
        pass

    asked = types.SimpleNamespace(is_available=lambda: True, is_initialized=lambda: False)

    def compile_first(cache):
        raise Imported(asked.is_available())

    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("mtia"))
    monkeypatch.setattr(torch, "get_device_module", lambda device: asked)
    monkeypatch.setattr(warmup, "_import_and_compile", compile_first)
    monkeypatch.setattr(warmup.logging, "disable", lambda level: None)
    with pytest.raises(Imported, match="False"):
        warmup.warm("")


#: torch as it was built for CUDA, as far as Python can tell: whoever asks for devices is written
#: down, since without NVML the answer initialises the driver.
BUILT_FOR_CUDA = """
import contextlib, gc, os, pathlib, sys, tempfile, torch, traceback
asked = []
def ask(value):
    def answer(*_, **__):
        asked.append("".join(traceback.format_stack(limit=4)))
        return value
    return answer
torch.accelerator.current_accelerator = lambda *_, **__: torch.device("cuda")
torch.cuda.is_available, torch.cuda.device_count = ask(False), ask(0)
torch._C._ensureCUDADeviceGuardSet = ask(None)
from lockstep_worker import environment, warmup
from lockstep_worker.compat import build
build.autograd_has_threads = lambda: True
place = environment.place_caches(sys.argv[1], sys.argv[1], "a compiler")
os.symlink(sys.argv[2], os.path.join(place, "precompiled_headers"))
gc.disable()
warmup.warm(place)
assert gc.isenabled() and gc.get_freeze_count() > 100_000, "children collect what they leave alone"
print(*asked, sep="\\n")
sys.exit(len(asked) > 0)
"""


def test_a_parent_of_a_torch_for_cuda_counts_no_devices(tmp_path, cache):
    modules = pathlib.Path(environment.__file__).parents[1]
    # The graph is compiled anew, by the header that others have: that alone takes half a minute.
    of_compiler = environment.cache_key(environment.compiler_version())
    headers = pathlib.Path(cache) / of_compiler / "precompiled_headers"
    headers.mkdir(parents=True, exist_ok=True)
    told = subprocess.run(
        [sys.executable, "-c", BUILT_FOR_CUDA, str(tmp_path), str(headers)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(modules)},
        timeout=600,
    )
    assert told.returncode == 0, told.stdout + told.stderr


WARMED = """
import sys
from lockstep_worker import environment, warmup
warmup.warm(environment.place_caches(sys.argv[1], sys.argv[1], environment.compiler_version()))
warmup.lower()
import torch
from lockstep_worker.compat import inductor
"""
A_PROGRAM = """
known = set(sys.modules)
def program(x):
    return torch.softmax(torch.sin(x), 0).sum()
with inductor.no_graph_cache():
    warmup._compile(program, torch.ones(8, 8))
"""
A_PACKAGE = """
from torch._inductor import cpp_builder
warmup.package()
known = set(sys.modules)
commands, run = [], cpp_builder._run_compile_cmd
def running(command, cwd):
    commands.append(command)
    run(command, cwd)
cpp_builder._run_compile_cmd = running
from lockstep_worker import exported
exported.warm_package(torch.mul)
assert len(commands) > 1, commands
assert not any("header.hpp" in command for command in commands), commands
assert all(command.endswith(" -w") for command in commands), commands
"""
IMPORTED = """
print(*(name for name in sys.modules if name.startswith("torch.") and name not in known))
"""


def test_what_is_cached_of_devices_is_forgotten_and_where_headers_lie_is_not():
    module: Any = types.ModuleType("codecache")
    module.answer = functools.cache(lambda: "cuda")
    module._precompile_header = functools.cache(lambda: "header.h")
    module.answer(), module._precompile_header()
    accelerator._forget(module)
    assert module.answer.cache_info().currsize == 0
    assert module._precompile_header.cache_info().currsize == 1


@pytest.mark.parametrize("child", [A_PROGRAM, A_PACKAGE], ids=["lowers", "packages"])
def test_nothing_is_left_to_import_for_a_child_that(child, cache):
    told = subprocess.run(
        [sys.executable, "-c", WARMED + child + IMPORTED, str(cache)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(pathlib.Path(environment.__file__).parents[1])},
        timeout=600,
    )
    assert told.returncode == 0, told.stderr
    assert [name for name in told.stdout.split() if ".compile_tasks." not in name] == []


def test_compilers_do_not_hear_how_the_memory_of_a_worker_is_tuned(monkeypatch):
    from lockstep_worker import environment

    for tuned, left in (("glibc.malloc.hugetlb=1", None), ("glibc.malloc.check=1",) * 2):
        # A copy: what it sets for a worker, every later test's would inherit.
        monkeypatch.setattr(os, "environ", os.environ | {"GLIBC_TUNABLES": tuned})
        environment.before_torch()
        assert os.environ.get("GLIBC_TUNABLES") == left


def test_no_bar_starts_a_thread(monkeypatch):
    """tqdm, where it is installed, starts one; Inductor shows a bar when it compiles."""
    bar = types.SimpleNamespace(monitor_interval=10)
    monkeypatch.setattr(torch.hub, "tqdm", bar)
    warmup.inductor.no_progress_threads()
    assert bar.monitor_interval == 0


def test_a_parent_with_threads_does_not_fork():
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait, name="a pool", daemon=True)
    thread.start()
    try:
        with pytest.raises(RuntimeError, match="'a pool'.*must not fork"):
            warmup.check_single_threaded()
    finally:
        stop.set()
        thread.join()


def test_flushed_denormals_are_seen():
    assert environment.flush_denormals() is False
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor cannot flush denormals")
    try:
        assert environment.flush_denormals() is True
    finally:
        torch.set_flush_denormal(False)


def pinned(**environment):
    """How what is pinned is set in a Python of this environment, by name."""
    modules = pathlib.Path(pins.__file__).parents[2]
    told = subprocess.run(
        [
            sys.executable,
            "-c",
            "import json; from lockstep_worker.compat import pins; before = pins.pins(); "
            "pins.pin(); print(json.dumps([before, pins.pins()]))",
        ],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment, "PYTHONPATH": str(modules)},
        timeout=120,
    )
    return json.loads(told.stdout)


def test_what_decides_last_bits_of_cuda_is_pinned():
    before, after = pinned()
    assert after == {
        "pin cublas_tf32": False,
        "pin cudnn_tf32": False,
        "pin cudnn_deterministic": True,
        "pin cudnn_benchmark": False,
        "pin cublas_fp16_reduction": False,
        "pin cublas_bf16_reduction": False,
        "pin cublas_fp16_accumulation": False,
        "pin cublas_workspace": ":4096:8",
    }
    assert before["pin cudnn_tf32"] is True and before["pin cublas_fp16_reduction"] is True
    assert pinned(CUBLAS_WORKSPACE_CONFIG=":16:8")[1]["pin cublas_workspace"] == ":16:8"
    assert pinned(LOCKSTEP_PINS="off") == [before, before]


def test_a_path_takes_a_pin_off_by_its_config():
    before = torch.backends.cudnn.allow_tf32
    try:
        for value in (False, True):
            apply_config({"torch.backends.cudnn.allow_tf32": value})
            assert pins.pins()["pin cudnn_tf32"] is value
    finally:
        torch.backends.cudnn.allow_tf32 = before


def test_what_describes_a_worker_can_be_recorded(vendor):
    described = environment.describe(2, [], ["vendor.backend"], "g++ 12")
    assert described["threads"] == 2 and described["compiler"] == "g++ 12"
    assert described["package vendor-compiler"] == "3.1"
    assert all(isinstance(value, (str, int, float, bool)) for value in described.values())


def test_a_missing_python_header_is_named_with_what_brings_it():
    with pytest.raises(RuntimeError, match="python3-dev of Debian"), warmup.named_header():
        raise ValueError("main.cpp:44:10: fatal error: Python.h: No such file or directory")
    with pytest.raises(ValueError, match="another"), warmup.named_header():
        raise ValueError("another error")
