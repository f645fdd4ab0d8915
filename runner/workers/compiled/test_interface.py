"""What the wrappers of packages have in common is compiled once; anything else, as without that."""

import pathlib

import pytest

from lockstep_worker.compat import interface

INTERFACE = """#include <torch/csrc/inductor/aoti_runtime/model_container.h>
#include <iostream>
extern "C" void create() {}"""


class Compiler:
    """What a C++ compiler is told, which writes what it is given behind "made of"."""

    def __init__(self, monkeypatch, fails=lambda text: False):
        import torch._inductor.cpp_builder as cpp

        self.told, self.fails, self.cpp = [], fails, cpp
        monkeypatch.setattr(cpp, "run_compile_cmd", self)

    def __call__(self, command, cwd):
        head, _, target = command.partition(" -o ")
        texts = [pathlib.Path(word).read_text() for word in head.split() if "/" in word]
        texts += [pathlib.Path(word).read_text() for word in target.split()[1:]]
        self.told.append(command)
        if self.fails("".join(texts)):
            raise RuntimeError("does not compile")
        pathlib.Path(target.split()[0]).write_text(f"made of [{' + '.join(texts)}]")

    def compile(self, folder, text, flags="-O1", kind="wrapper"):
        """What Inductor asks for: the object of a source."""
        source = folder / f"c.{kind}.cpp"
        source.write_text(text)
        with interface.compiled_once(str(folder)):
            self.cpp.run_compile_cmd(f"g++ {source} {flags} -c -o {folder}/c.o", cwd=str(folder))
        return (folder / "c.o").read_text()


@pytest.fixture(autouse=True)
def known(monkeypatch):
    monkeypatch.setattr(interface, "_interface", lambda: INTERFACE)


def wrapper(model):
    return f"#include <cpu.h>\n{INTERFACE}   \n{model}\n"


def test_the_second_wrapper_is_its_model_alone(tmp_path, monkeypatch):
    compiler = Compiler(monkeypatch)
    first = compiler.compile(tmp_path, wrapper("first"))
    assert len(compiler.told) == 3 and first.count("create()") == 1 and "first" in first
    second = compiler.compile(tmp_path, wrapper("second"))
    own, linked = compiler.told[3:]
    assert " -O1 -c -o " in own and linked.startswith("g++ -r -o ")
    assert second.count("create()") == 1 and "second" in second and "first" not in second
    assert second.count("extern template class AOTInductorModelBase<AOTInductorModel>;") == 1
    assert second.count("{ template class AOTInductorModelBase<AOTInductorModel>;") == 1
    assert second.count("#include <iostream>") == 2 and second.count("model_container.h") == 1


def test_other_flags_have_an_interface_of_their_own(tmp_path, monkeypatch):
    compiler = Compiler(monkeypatch)
    for flags in ("-O1", "-O1 -DUSE_MMAP_SELF"):
        compiler.compile(tmp_path, wrapper("model"), flags)
    assert len(compiler.told) == 6 and len(list(tmp_path.glob("interface-*.o"))) == 2


@pytest.mark.parametrize("text, kind", [("no interface", "wrapper"), (wrapper("model"), "kernel")])
def test_what_is_no_such_wrapper_is_compiled_whole(tmp_path, monkeypatch, text, kind):
    compiler = Compiler(monkeypatch)
    assert compiler.compile(tmp_path, text, kind=kind) == f"made of [{text}]"
    assert len(compiler.told) == 1 and not list(tmp_path.glob("interface-*"))


def test_a_model_that_needs_its_interface_is_compiled_whole(tmp_path, monkeypatch):
    compiler = Compiler(monkeypatch, lambda text: "needs" in text and "create()" not in text)
    assert compiler.compile(tmp_path, wrapper("needs")) == f"made of [{wrapper('needs')}]"
    # What does not compile whole, either, says so in its own words.
    failing = Compiler(monkeypatch, lambda text: "wrong" in text)
    with pytest.raises(RuntimeError, match="does not compile"):
        failing.compile(tmp_path, wrapper("wrong"))
    assert failing.told[-1].endswith(f"{tmp_path}/c.wrapper.cpp -O1 -c -o {tmp_path}/c.o")
