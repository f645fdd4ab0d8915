"""The headers that Inductor precompiles for the settings of a path."""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable

import torch

from .compat import inductor
from .exported import warm_package
from .processes import beside


def warm_headers(
    config: dict, options: dict | None, stage: Callable[[str], None], package: bool = False
) -> None:
    """Has Inductor precompile its headers for the configuration in force and `options` of
    `torch.compile`, once for each cache directory and `config`. Other flags for the C++ compiler,
    or for the C++ wrapper, need other headers. Building them takes half a minute, which must not
    count for the first instance. `package`: for packages of AOTInductor, which have other headers.
    Tells `stage` so when there is something to do."""
    digest = hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()[:16]
    mark = os.path.join(
        os.environ.get("TORCHINDUCTOR_CACHE_DIR", ""), f"warm-{'package-' * package}{digest}"
    )
    if os.path.exists(mark):
        return
    stage("warm")
    # Whatever goes wrong goes wrong again, in the instance.
    with contextlib.suppress(Exception):
        if package:
            with beside(_kernel_header, nice=0):
                warm_package()
        else:
            torch.compile(lambda x: x + 1, backend="inductor", dynamic=False, options=options)(
                torch.ones(3)
            )
        with open(mark, "x", encoding="utf-8"):
            pass
    torch.compiler.reset()


def _kernel_header() -> None:
    inductor.precompile_for(lambda: warm_package(torch.mul), first=False)
