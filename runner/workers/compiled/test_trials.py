"""What the worker says of a torch that lacks a hook, or whose hook does something else: each trial
fails for the torch that it is there for, and `hello` names it or refuses."""

import inspect
import json
import os
import subprocess
import sys
import time
import types

import pytest

from conversation import HERE, Worker, pack, path, view

#: Trial → a change to torch after which it must fail. `hide(group)` takes a group of Dynamo's
#: counters away.
BROKEN = {
    "graphs": "hide('stats')",
    "empty programs": "del torch._dynamo.utils.get_compilation_metrics",
    "graph breaks": "hide('graph_break')",
    "recompile limit": "hide('unimplemented')",
    "operators": "del torch._C._dispatch_has_kernel",
    "storages": "torch.UntypedStorage._cdata = 7",
    "header cache": "codecache._precompile_header = lambda *_, **__: '/elsewhere/header.h'",
    "atomic builds": "cpp.CppBuilder.build = plain_build",
    "compiler": "del cpp.get_cpp_compiler",
    "records": "hide('inductor')",
    "stages": "del torch._dynamo.callback.on_compile_start",
    "guard timing": (
        "torch._dynamo.guards.CheckFunctionManager.__init__ = untimed(torch._dynamo.guards)"
    ),
    "profiles": "torch._dynamo.config.automatic_dynamic_local_pgo = True",
    "errors": "torch._dynamo.exc.Unsupported.__name__ = 'NotSupported'",
    "conj and neg bits": "torch._C._set_neg = lambda *_: None",
    "zero tensors": "import torch; torch._efficientzerotensor = torch.zeros",
    "quantizers": "del torch._make_per_channel_quantized_tensor",
    "gradients": "dynamo.GRADIENTS = 'trace_gradients'",
    "execution": "torch.profiler.ExecutionTraceObserver.start = lambda self: None",
    "kernels": "witness._KERNEL = witness.re.compile('triton')",
    "AOT autograd": "dynamo.AOT_BEGINS = 'begin'",
    "lowering": "graphs.make_fx = lambda function, *_, **how: None",
    "Python kernels": "graphs._KEYS = ()",
    "spellings": (
        "operators.declarations = lambda: '/nowhere'; spelling.table.cache_clear(); "
        "spelling.bindings.cache_clear()"
    ),
}

SCRIPT = """
import collections, functools, json, os, sys
from lockstep_worker import environment
environment.before_torch()
import torch
import torch._inductor.cpp_builder as cpp
from lockstep_worker import spelling, trials, warmup, witness
from lockstep_worker.compat import dynamo, graphs, inductor, operators
plain_build = cpp.CppBuilder.build
warmup.warm(environment.place_caches(sys.argv[1], sys.argv[1], environment.compiler_version()))
import torch._inductor.codecache as codecache

def hide(group):
    real = torch._dynamo.utils.counters
    class Hidden:
        def __getitem__(self, key):
            return collections.Counter() if key == group else real[key]
        def clear(self):
            real.clear()
    torch._dynamo.utils.counters = Hidden()

def untimed(guards):
    # A torch that calls its timer by another name: whoever replaces the old one has no effect.
    init, timer = guards.CheckFunctionManager.__init__, guards.profile_guard_manager
    @functools.wraps(init)
    def another(*args, **kwargs):
        replaced, guards.profile_guard_manager = guards.profile_guard_manager, timer
        try:
            return init(*args, **kwargs)
        finally:
            guards.profile_guard_manager = replaced
    return another

print(json.dumps(sorted(trial.name for trial in trials.lacking())), flush=True)
for name, change in json.loads(sys.argv[2]).items():
    (trial,) = [trial for trial in trials.TRIALS if trial.name == name]
    if os.fork() == 0:
        try:
            exec(change)
            print(json.dumps({name: list(trials.lacking((trial,)).values())}), flush=True)
        finally:
            os._exit(0)
    os.wait()
os._exit(0)
"""


@pytest.fixture(scope="module")
def answers(cache):
    """What the trials say of this torch, then of each broken one."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, cache, json.dumps(BROKEN)],
        env={**os.environ, "PYTHONPATH": HERE},
        stdout=subprocess.PIPE,
        timeout=600,
        check=True,
        text=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith(("[", "{"))]


def test_nothing_is_lacking_in_this_torch(answers):
    assert answers[0] == []


def test_every_trial_fails_for_the_torch_that_it_is_there_for(answers):
    from lockstep_worker.trials import TRIALS

    assert set(BROKEN) == {trial.name for trial in TRIALS}
    seen = {name: why for answer in answers[1:] for name, why in answer.items()}
    assert set(seen) == set(BROKEN)
    assert [name for name, why in seen.items() if not why] == []


def test_a_trial_that_ends_its_process_has_failed_and_the_others_go_on():
    from lockstep_worker import trials
    from lockstep_worker.trials.trial import Trial

    good, bad = Trial("good", "", lambda: None), Trial("bad", "", lambda: os.kill(os.getpid(), 9))
    assert trials.lacking((good, bad, good._replace(name="after"))) == {
        bad: "it ended the process with signal 9"
    }


# What is remembered -------------------------------------------------------------------------------


@pytest.fixture
def tried(monkeypatch):
    """How often the trials were made, of which all work until `failing` has something."""
    from lockstep_worker import trials

    class Tried:
        times, failing = 0, {}

    def lacking():
        Tried.times += 1
        return Tried.failing

    monkeypatch.setattr(trials, "lacking", lacking)
    return Tried


def test_trials_that_all_worked_are_not_made_again(tmp_path, tried):
    from lockstep_worker.trials import remembered

    assert remembered.failing(str(tmp_path), []) == {}
    assert remembered.failing(str(tmp_path), []) == {}
    assert tried.times == 1


def test_a_trial_that_fails_is_made_at_every_start(tmp_path, tried):
    from lockstep_worker import trials
    from lockstep_worker.trials import remembered

    tried.failing = {trials.TRIALS[0]: "no"}
    assert remembered.failing(str(tmp_path), []) == tried.failing
    assert remembered.failing(str(tmp_path), []) == tried.failing
    assert tried.times == 2 and list(tmp_path.iterdir()) == []


def test_a_module_or_a_library_that_was_edited_is_tried_again(tmp_path, tried, monkeypatch):
    from lockstep_worker.trials import remembered

    cache, module, library = tmp_path / "cache", tmp_path / "module.py", tmp_path / "library.so"
    cache.mkdir()
    for file in (module, library):
        file.write_text("one", encoding="utf-8")
    loaded = types.ModuleType("module_of_a_test")
    loaded.__file__ = str(module)
    monkeypatch.setitem(sys.modules, loaded.__name__, loaded)
    for changed in (None, module, library):
        if changed:
            changed.write_text("another", encoding="utf-8")
        for _ in range(2):
            remembered.failing(str(cache), [str(library)])
    assert tried.times == 3


def test_what_inductor_generates_anew_is_not_tried_again(tmp_path, tried, monkeypatch):
    from lockstep_worker.trials import remembered

    generated = tmp_path / "ab" / "cab.py"
    generated.parent.mkdir()
    loaded = types.ModuleType("generated_code_of_a_test")
    loaded.__file__ = str(generated)
    monkeypatch.setitem(sys.modules, loaded.__name__, loaded)
    for text in ("one", "another"):
        generated.write_text(text, encoding="utf-8")
        remembered.failing(str(tmp_path), [])
    assert tried.times == 1


def test_a_library_that_could_be_loaded_is_not_loaded_again(tmp_path, monkeypatch):
    from torch._inductor.cpu_vec_isa import VecISA

    from lockstep_worker.compat import inductor

    asked = []

    def load(self, library):
        asked.append(library)
        return "good" in library

    monkeypatch.setattr(VecISA, "_probe_load", load)
    inductor.remember_loads()
    for name, loads in (("good.so", True), ("bad.so", False)) * 2:
        assert VecISA()._probe_load(str(tmp_path / name)) is loads
    assert [os.path.basename(library) for library in asked] == ["good.so", "bad.so", "bad.so"]


def test_a_stride_is_found_once(monkeypatch):
    from torch._inductor import sizevars

    from lockstep_worker.compat import inductor

    sympy = sizevars.sympy
    x, y = sympy.symbols("x y", integer=True, nonnegative=True)
    asked = [(index, of) for index in (6 * x + y, (x + 1) ** 2, y) for of in (x, y)]
    # An earlier test may have warmed this process.
    monkeypatch.setattr(sizevars, "stride_at", inspect.unwrap(sizevars.stride_at))
    expected = [sizevars.stride_at(*each) for each in asked]
    simplified = []

    def simplify(expression, simplify=sympy.simplify):
        simplified.append(expression)
        return simplify(expression)

    monkeypatch.setattr(sympy, "simplify", simplify)
    inductor.remember_strides()
    for _ in range(2):
        assert [sizevars.stride_at_vec_range(*each) for each in asked] == expected
    assert expected[:2] == [6, 1] and len(simplified) == 4  # not of what lacks the variable


def test_what_the_processor_can_do_is_tried_from_both_ends(monkeypatch):
    from torch._inductor import cpu_vec_isa

    from lockstep_worker.compat import inductor

    forwards, tried = cpu_vec_isa.supported_vec_isa_list, []
    monkeypatch.setattr(cpu_vec_isa, "supported_vec_isa_list", forwards)
    monkeypatch.setattr(
        cpu_vec_isa, "valid_vec_isa_list", lambda: tried.extend(cpu_vec_isa.supported_vec_isa_list)
    )
    inductor.probe_backwards()
    assert list(map(str, tried)) == list(map(str, forwards))[::-1]


def test_the_header_is_built_before_it_is_known_what_the_processor_can_do(tmp_path, monkeypatch):
    """By a process that builds no library to find it out, and no kernel: that of the instruction
    set which Inductor then finds."""
    from torch._inductor import codecache, cpp_builder, cpu_vec_isa

    from lockstep_worker.compat import inductor
    from lockstep_worker.processes import beside

    said = tmp_path / "said"

    def precompile(header, command, **_):
        said.write_text(command)
        return header

    def failing(*_):
        said.write_text("a library or a kernel was built")
        os._exit(1)

    def forget():
        """What earlier tests found out."""
        for kind in {type(each) for each in cpu_vec_isa.supported_vec_isa_list}:
            getattr(kind.__bool__, "cache_clear", lambda: None)()
        cpu_vec_isa.VecISA._VecISA__bool__impl.cache_clear()
        cpu_vec_isa.valid_vec_isa_list.cache_clear()

    forget()
    with monkeypatch.context() as patches:
        patches.setattr(cpp_builder.CppBuilder, "build", failing)
        patches.setattr(cpu_vec_isa.VecISA, "_probe_load", failing)
        patches.setattr(codecache, "_worker_compile_cpp", failing)
        patches.setattr(codecache, "_precompile_header", precompile)
        with beside(inductor.build_header):
            pass
    forget()
    best = cpu_vec_isa.pick_vec_isa()
    assert all(flag in said.read_text().split() for flag in best.build_arch_flags().split())


@pytest.mark.parametrize("first", [True, False])
def test_of_a_package_the_headers_are_built_and_no_more(monkeypatch, first):
    from torch._inductor import codecache

    from lockstep_worker.compat import inductor

    built = []

    def package():
        for header in ("wrapper.h", "kernel.h", "another.h"):
            codecache._precompile_header(header, "-O1")

    def precompile(*args):
        built.append(args)

    monkeypatch.setattr(codecache, "_precompile_header", precompile)
    inductor.precompile_for(package, first)
    assert built == [("wrapper.h", "-O1")] * first + [("kernel.h", "-O1")]
    assert codecache._precompile_header is precompile


# A torch whose source says it otherwise -----------------------------------------------------------

SHIM = """
import importlib.machinery
CHANGES = {changes!r}
compiled = importlib.machinery.SourceFileLoader.get_code
def get_code(self, name):
    if name not in CHANGES:
        return compiled(self, name)
    path = self.get_filename(name)
    text = self.get_data(path).decode()
    for old, new in CHANGES[name]:
        assert old in text, (name, old)
        text = text.replace(old, new)
    return compile(text, path, "exec")
importlib.machinery.SourceFileLoader.get_code = get_code
"""


@pytest.fixture
def another_torch(tmp_path, cache):
    """Starts a worker on a torch whose modules have other texts: module → pairs of old and new."""

    def start(changes):
        shim = tmp_path / "shim"
        shim.mkdir()
        (shim / "sitecustomize.py").write_text(SHIM.format(changes=changes))
        return Worker(tmp_path, cache=cache, shim=str(shim))

    return start


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"torch._dynamo.output_graph": [('["unique_graphs"]', '["graphs_made"]')]}, "graphs"),
        (
            {
                "torch._dynamo.convert_frame": [
                    ("Dynamo recompile limit exceeded", "Too many recompilations")
                ]
            },
            "recompile limit",
        ),
    ],
    ids=["proof of compilation", "recompile limit"],
)
def test_no_verdict_without_it(another_torch, changes, named):
    worker = another_torch(changes)
    assert worker.hello["type"] == "hello" and "environment" not in worker.hello
    assert (
        f"{named}: " in worker.hello["error"] and "Choose another release" in worker.hello["error"]
    )
    assert worker.process.wait(10) == 1


def test_what_can_be_done_without_is_named_and_done_without(another_torch, cache):
    """Headers of its own: a compilation uses none that others have made, and is right."""
    import torch

    worker = another_torch(
        {
            "torch._inductor.codecache": [
                (" _precompile_header(", " _make_header("),
                ("save_output_code", "keep_output_code"),
            ],
            "torch._inductor.graph": [("save_output_code", "keep_output_code")],
        }
    )
    lacks = {
        key: value for key, value in worker.hello["environment"].items() if key.startswith("lacks ")
    }
    assert set(lacks) == {"lacks header cache", "lacks records"}
    assert all(isinstance(value, str) and value for value in lacks.values())
    folder = next(
        folder
        for folder in os.scandir(cache)
        if folder.name.startswith(f"torch-{torch.__version__}")
    )
    headers = os.path.join(folder.path, "precompiled_headers")
    before = sorted(os.listdir(headers))
    program = {
        "inputs": ["x"],
        "outputs": ["y"],
        "steps": [
            {
                "let": ["y"],
                "op": "aten::mul.Tensor",
                "args": [{"ref": "x"}, {"float": (time.time_ns() % 2**40 / 7).hex()}],
            }
        ],
    }
    seen = worker.run(
        program, [{"x": view(0, [4])}], [pack([1, 2, 3, 4], "f")], path_=path("inductor")
    )
    assert seen["outcome"] == "returned" and seen["proof"]["graphs"] == 1
    assert seen.raw(seen.output("y")) == seen.raw(seen.output("y", reference=True))
    assert sorted(os.listdir(headers)) == before
    assert worker.stop() == 0
