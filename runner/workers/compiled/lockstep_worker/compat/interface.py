"""What is the same in the wrapper of every package of AOTInductor's, compiled once: its interface
and the templates of its runtime. They are most of the compiler's time for a small package."""

import contextlib
import hashlib
import os
import pathlib
import re
import tempfile
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

_TEMPLATES = "template class AOTInductorModelBase<AOTInductorModel>;"
#: How Inductor has the C++ compiler make an object of a wrapper.
_COMMAND = re.compile(
    r"(?P<compiler>\S+) (?P<source>\S+\.wrapper\.cpp) .* -c -o (?P<object>\S+)\s*"
)


class _Wrapper(NamedTuple):
    """The text of a wrapper: what its device includes, the interface, and the model itself."""

    includes: str
    interface: str
    model: str

    def shared(self) -> str:
        """What is the same in every package."""
        return f"{self.includes}{self.interface}\n{_within_runtime(_TEMPLATES)}"

    def own(self) -> str:
        """What is not, with the headers of the standard library that the interface brings."""
        included = re.findall(r"^#include <\w+>$", self.interface, re.MULTILINE)
        declared = _within_runtime(f"extern {_TEMPLATES}")
        return "\n".join((self.includes, *included, declared, self.model))


def _within_runtime(text: str) -> str:
    return f"namespace torch::aot_inductor {{ {text} }}\n"


@contextlib.contextmanager
def compiled_once(directory: str) -> Iterator[None]:
    """While it lasts, packages are linked to an interface that lies in `directory`, once for each
    command of the C++ compiler. Where a wrapper is not what is expected here, or its parts do not
    compile, it is compiled whole, as without this: it takes longer, and nothing else differs."""
    try:
        import torch._inductor.cpp_builder as cpp

        run = cpp.run_compile_cmd
        interface = _interface()
    except (ImportError, AttributeError, OSError):
        yield
        return

    def run_in_parts(command: str, cwd: str) -> Any:
        asked = _COMMAND.fullmatch(command)
        with contextlib.suppress(Exception):
            if asked is not None:
                return _compile_parts(asked, interface, directory, lambda part: run(part, cwd=cwd))
        return run(command, cwd=cwd)

    cpp.run_compile_cmd = run_in_parts
    try:
        yield
    finally:
        cpp.run_compile_cmd = run


def _interface() -> str:
    """The text that Inductor copies into every wrapper."""
    import torch._inductor.codegen as codegen

    file = pathlib.Path(codegen.__file__).parent / "aoti_runtime" / "interface.cpp"
    return _normal(file.read_text(encoding="utf-8")).strip()


def _normal(text: str) -> str:
    """Without spaces at the ends of lines, which Inductor takes away."""
    return "\n".join(line.rstrip() for line in text.splitlines())


def _compile_parts(
    asked: re.Match[str], interface: str, directory: str, run: Callable[[str], Any]
) -> None:
    """Makes the object that a command asks for of two parts. Raises `ValueError` where its wrapper
    is not what is expected, and whatever a command raises."""
    text = _normal(pathlib.Path(asked["source"]).read_text(encoding="utf-8"))
    parts = text.split(interface)
    if len(parts) != 2:
        raise ValueError("a wrapper without the interface")
    wrapper = _Wrapper(parts[0], interface, parts[1])

    def compile_to(target: str, source: str) -> None:
        run(asked[0].replace(asked["source"], source).replace(asked["object"], target))

    with tempfile.TemporaryDirectory(dir=os.path.dirname(asked["object"])) as folder:
        own, object_ = os.path.join(folder, "own.cpp"), os.path.join(folder, "own.o")
        pathlib.Path(own).write_text(wrapper.own(), encoding="utf-8")
        settings = asked[0].replace(asked["source"], "").replace(asked["object"], "")
        key = hashlib.sha256(f"{settings}\0{wrapper.shared()}".encode()).hexdigest()[:32]
        shared = os.path.join(directory, f"interface-{key}.o")
        if not os.path.exists(shared):
            source = os.path.join(folder, "shared.cpp")
            pathlib.Path(source).write_text(wrapper.shared(), encoding="utf-8")
            compile_to(part := os.path.join(folder, "shared.o"), source)
            os.replace(part, shared)
        compile_to(object_, own)
        run(f"{asked['compiler']} -r -o {asked['object']} {object_} {shared}")
