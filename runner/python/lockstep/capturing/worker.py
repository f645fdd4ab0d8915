"""The modules of the compiled worker, which lie in the suite and on nobody's path."""

import importlib.util
import sys
from types import ModuleType

from lockstep import places

NAME = "lockstep_worker"


def load() -> ModuleType:
    """The package `lockstep_worker`, so that its modules can be imported by name; `sys.path` of the
    program stays as it is."""
    if NAME in sys.modules:
        return sys.modules[NAME]
    folder = places.suite() / "runner" / "workers" / "compiled" / NAME
    spec = importlib.util.spec_from_file_location(
        NAME, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = module
    spec.loader.exec_module(module)
    return module
