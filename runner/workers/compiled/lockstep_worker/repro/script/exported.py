"""Executes a program as torch.export exports it, or as the package that AOTInductor makes of
that."""

from collections.abc import Callable
from typing import Any

import torch
import torch._inductor

from .execute import Case, given_to


class Exporting:
    """The program of a case, which is exported when it is first called. `stage` is what it is at,
    for what it raises."""

    def __init__(self, case: Case) -> None:
        self.case, self.stage = case, "run"
        self._run: Callable | None = None

    @property
    def done(self) -> bool:
        return self._run is not None

    def __call__(self, *args: Any) -> Any:
        if self._run is None:
            self.stage = "trace"
            self._run = self._made()
            self.stage = "run"
        return self._run(*args)

    def _made(self) -> Callable:
        settings, program = self.case.settings["EXPORT"], self.case.program

        class Module(torch.nn.Module):
            def forward(self, *args: Any) -> Any:
                return program(*args)

        auto = torch.export.Dim.AUTO
        vary = [
            auto if each is True else dict.fromkeys(each or (), auto) or None
            for each in settings["VARYING"]
        ]
        exported = torch.export.export(
            Module(),
            tuple(given_to(self.case, settings["EXAMPLE"]).values()),
            strict=False,
            dynamic_shapes={"args": tuple(vary)}
            if any(each is not None for each in vary)
            else None,
        )
        run = exported.module()
        if settings["TO"] != "aot_inductor":
            return run
        if self.case.settings["CALLS"] > 1:  # a package does not look at what it is given
            for call in range(self.case.settings["CALLS"]):
                run(*given_to(self.case, call).values())
        self.stage = "compile"
        return torch._inductor.aoti_load_package(torch._inductor.aoti_compile_and_package(exported))
