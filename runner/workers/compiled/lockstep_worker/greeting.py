"""What the parent does before it answers `hello`: it imports torch and warms up."""

import gc

from . import environment

PROTOCOL = 2
#: How many children may run at once; the runner decides how many do.
CONCURRENT = 64


def answer(message: dict) -> tuple[dict, str]:
    """Warms up as a `hello` asks, and says what it wants to know; the answer, and the folder of the
    compilers' caches. In a fork of a resident worker most of it is done. Raises what a machine that
    cannot compile raises."""
    if message.get("protocol") != PROTOCOL:
        raise ValueError(f"this worker speaks protocol {PROTOCOL}, not {message.get('protocol')}")
    environment.before_torch()
    gc.disable()  # all that is imported stays: looking through it again and again costs a fifth
    try:
        import torch
    except ImportError as error:
        raise RuntimeError(
            f"cannot import torch ({error}): run the worker with a Python that has it"
        ) from None
    from . import trials, warmup
    from .compat import pins
    from .compat.accelerator import no_accelerator
    from .compat.device import adopt
    from .configure import load_module
    from .trials import remembered

    pins.pin()
    torch.set_num_threads(1)
    libraries = [str(path) for path in message.get("libraries") or []]
    modules = [str(name) for name in message.get("modules") or []]
    for path in libraries:
        torch.ops.load_library(path)
    adopt()
    own = [str(name) for name in message.get("own_modules") or []]
    for name in own:
        load_module(name)
    isolation = environment.isolation(message.get("hidden") or [])
    devices = environment.devices()
    with no_accelerator():  # both import parts of Inductor
        compiler = environment.compiler_version()
        cache = environment.place_caches(
            message.get("cache"), str(message.get("scratch") or "/tmp"), compiler
        )
    warmup.warm(cache)
    warmup.check_single_threaded()
    lacks = trials.settle(remembered.failing(cache, libraries))
    message["watches"] = "lacks execution" not in lacks
    from .execute import MODES  # the warm-up has imported it

    said = {
        "type": "hello",
        "protocol": PROTOCOL,
        "worker": "lockstep-compiled",
        "concurrent": CONCURRENT,
        "environment": {
            **environment.describe(
                int(message.get("threads") or 1), [*libraries, *own], modules, compiler
            ),
            **isolation,
            **lacks,
        },
        "devices": devices,
        "digests": sorted(message.get("digests") or {}),
        "dtypes": environment.dtypes(),
        "modes": list(MODES),
    }
    return said, cache
