"""What identifies the toolchain: threads before torch is imported, `hello`'s answer, cache keys."""

import contextlib
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys

from . import namespaces


def before_torch() -> None:
    """Sets what the libraries under torch read once. Call it before torch is imported: a parallel
    region in the parent makes every forked child hang at its first one."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    # What the runner tells this process's malloc (run/workers.cpp), compilers need not hear.
    if os.environ.get("GLIBC_TUNABLES") == "glibc.malloc.hugetlb=1":
        del os.environ["GLIBC_TUNABLES"]
    # Lets torch count GPUs without initialising CUDA, which would not survive a fork.
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"


def cpu_model() -> str:
    """The processor's name as the kernel tells it, or the architecture."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith(("model name", "CPU part")):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.machine()


def compiler_version() -> str:
    """First line of `--version` of the C++ compiler that Inductor uses; `none` without one.
    Inductor's own search builds nothing, but raises where no compiler works."""
    from .compat import inductor

    try:
        compiler = inductor.cpp_compiler()
        answer = subprocess.run([compiler, "--version"], capture_output=True, text=True, timeout=60)
    except Exception:
        return "none"
    lines = answer.stdout.splitlines()
    return lines[0].strip() if answer.returncode == 0 and lines else "none"


def cache_key(compiler: str) -> str:
    """Names the caches of one toolchain, CPU level and machine type. Never wider: ATen's CPU level
    is not part of Inductor's key, and a kernel built for another level returned garbage."""
    import torch

    from .compat import build

    parts = [
        torch.__version__,
        build.git_version(),
        compiler,
        build.triton_version() or "",
        sys.version,
        cpu_model(),
        platform.machine(),
        torch.backends.cpu.get_cpu_capability(),
        *(
            f"{name}={os.environ.get(name, '')}"
            for name in (
                "ATEN_CPU_CAPABILITY",
                "MKL_CBWR",
                "ONEDNN_MAX_CPU_ISA",
                "TORCHINDUCTOR_CPP_WRAPPER",
                "CXX",
                "CXXFLAGS",
                "CPLUS_INCLUDE_PATH",
            )
        ),
    ]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    return f"torch-{torch.__version__}-{digest}".replace("/", "_")


def place_caches(cache: str | None, scratch: str, compiler: str) -> str:
    """Points Inductor's and Triton's caches at a directory of this toolchain and makes it; its
    path. `cache` None: below `scratch`, so that it does not outlive the run."""
    directory = os.path.join(
        cache or os.path.join(scratch, f"cache-{os.getpid()}"), cache_key(compiler)
    )
    os.makedirs(directory, exist_ok=True)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = directory
    os.environ["TRITON_CACHE_DIR"] = os.path.join(directory, "triton")
    return directory


def isolation(hidden: list) -> dict[str, str]:
    """Whether those whose backends are on trial can be kept from folders of the run: for the
    environment. Nothing where there is nothing to hide."""
    if not hidden:
        return {}
    why = namespaces.why_not()
    return {"isolation": f"memory alone: {why}" if why else "memory and folders"}


def flush_denormals() -> bool:
    """Whether subnormals count as zero here, measured: what a vendor's library did to the
    processor's control word is seen too, which no flag of torch's would tell."""
    import torch

    return torch.full((1,), 1e-40).mul(1).item() == 0


def _required(name: str, extras: bool) -> set[str]:
    """The installed packages that a package asks for, torch left out; with `extras` also those that
    it can do without."""
    from importlib import metadata

    found = set()
    for line in metadata.requires(name) or []:
        requirement, _, marker = line.partition(";")
        match = re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", requirement.strip())
        if match is None or "extra" in marker and not extras:
            continue
        with contextlib.suppress(metadata.PackageNotFoundError):
            found.add(metadata.distribution(match.group()).metadata["Name"])
    return {each for each in found if each.lower() != "torch"}


def packages(modules: list[str]) -> dict[str, str]:
    """Versions of the installed packages that bring `modules`, a backend of torch.compile or a
    device, and of their requirements: key "package NAME". The compiler of a backend is often a
    package of its own. Nothing is imported for it."""
    from importlib import metadata

    wanted = {module.partition(".")[0] for module in modules} - {"torch"}
    owners = metadata.packages_distributions() if wanted else {}
    names = {name for module in wanted for name in owners.get(module, [])}
    for group in ("torch_dynamo_backends", "torch.backends"):
        names.update(point.dist.name for point in metadata.entry_points(group=group) if point.dist)
    # What is optional may be what a backend compiles with; what is optional to that is not looked
    # at.
    new = {each for name in names for each in _required(name, extras=True)} - names
    while new:
        names |= new
        new = {each for name in new for each in _required(name, extras=False)} - names
    return {f"package {name}": metadata.version(name) for name in sorted(names)}


def describe(threads: int, libraries: list[str], modules: list[str], compiler: str) -> dict:
    """The `environment` of `hello`: string keys; strings, numbers or booleans."""
    import torch

    from .compat import build, pins

    identity = "\0".join([torch.__version__, build.git_version(), *libraries])
    return {
        "torch": torch.__version__,
        "torch_git": build.git_version(),
        "python": platform.python_version(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "cpu": cpu_model(),
        "compiler": compiler,
        "triton": build.triton_version() or "none",
        "cuda": str(torch.version.cuda or "none"),
        "threads": threads,
        "flush_denormals": flush_denormals(),
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
        "deterministic_algorithms": torch.are_deterministic_algorithms_enabled(),
        "onednn": torch.backends.mkldnn.is_available() and torch.backends.mkldnn.enabled,
        **pins.pins(),
        **packages(modules),
        "operators_digest": hashlib.sha256(identity.encode()).hexdigest()[:16],
    }


def dtypes() -> list[str]:
    """Every dtype that this torch has, except quantised ones, which are not plain storages."""
    import torch

    names = {
        str(value).removeprefix("torch.")
        for value in vars(torch).values()
        if isinstance(value, torch.dtype)
    }
    return sorted(name for name in names if not name.startswith(("qint", "quint")))


def devices() -> list[str]:
    """What `run.device` may be. A child of its own asks torch, so that this process never
    initialises a driver that forked children need."""
    from .compat import accelerator

    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(write, ",".join(accelerator.names()).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        text = pipe.read().decode()
    os.waitpid(pid, 0)
    return ["cpu"] + [name for name in text.split(",") if name]


def remove_cache(directory: str, cache: str | None) -> None:
    """Deletes the caches of a run that asked for none to outlive it."""
    if cache is None:
        shutil.rmtree(os.path.dirname(directory), ignore_errors=True)
