"""Lockstep as pip installs it: does a compiled PyTorch program still compute what eager computes?

    import lockstep
    report = lockstep.check(model, x)    # does torch.compile(model)(x) compute what model(x) does?
    print(report)                        # report.ok, report.explain(), report.shrink()

Beside these modules, what ci/cmake/Wheel.cmake carries:

    bin/lockstep     the runner, which knows no torch
    suite/           LOCKSTEP_HOME: cases/, expected/ and parts of runner/, laid out as in the
                     repository; runner/workers/eager/units/ is what the eager worker is built from
    prefix/          include/ and lib/ of the libraries of others that this build needs

Importing it imports no torch: the functions above do when they are called."""

from __future__ import annotations

import typing

if typing.TYPE_CHECKING:
    from lockstep.api import Captured, Diverges, Report, Verdict, assert_conforms, capture, check

__all__ = ["Captured", "Diverges", "Report", "Verdict", "assert_conforms", "capture", "check"]


def __getattr__(name: str) -> typing.Any:
    """The Python API, whose modules are imported when somebody asks for it."""
    if name not in __all__:
        raise AttributeError(f"module 'lockstep' has no attribute {name!r}")
    from lockstep import api

    return getattr(api, name)
