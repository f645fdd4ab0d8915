"""The reproducer: a script without Lockstep that tells by its exit status whether eager and
compiled agree."""

from reproducers import ROUND_TRIP, X, execute, execute_alone, render, request

from conversation import pack, path, view
from lockstep_worker.repro.write import render as written


def test_the_known_report_fails_on_inductor_and_agrees_elsewhere(tmp_path, script_environment):
    text = render(request(tmp_path))
    assert "lockstep_worker" not in text and str(tmp_path) not in text
    done = execute_alone(text, tmp_path, script_environment)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "17 of 20 elements differ" in done.stdout
    done = execute(text, tmp_path, script_environment, TORCH_COMPILE_BACKEND="aot_eager")
    assert done.returncode == 0, done.stdout + done.stderr
    done = execute(
        render(request(tmp_path, path_=path("inductor-emulate-casts"))),
        tmp_path,
        script_environment,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_path_that_exports_has_a_script_of_its_own(tmp_path, script_environment):
    calls = [{"x": view(0, [1, 5])}, {"x": view(0, [4, 5])}, {"x": view(0, [2, 5])}]
    done = execute(
        render(request(tmp_path, calls=calls, path_=path("export"))), tmp_path, script_environment
    )
    assert done.returncode == 0 and "torch.export to eager" in done.stdout, (
        done.stdout + done.stderr
    )
    done = execute(
        render(request(tmp_path, calls=calls[1:], path_=path("aoti"))), tmp_path, script_environment
    )
    assert done.returncode == 1 and "17 of 20 elements differ" in done.stdout, (
        done.stdout + done.stderr
    )
    # A call that it was not exported for is refused, as in a run.
    done = execute(
        render(request(tmp_path, calls=calls[1:], path_=path("export", dynamic=False))),
        tmp_path,
        script_environment,
    )
    assert done.returncode == 125 and "Guard failed" in done.stderr, done.stdout + done.stderr
    assert "closes over tensors" in render(
        request(tmp_path, {**ROUND_TRIP, "constants": ["x"]}, path_=path("export")), status=3
    )


def test_a_script_carries_and_has_contexts_and_outputs_of_all_kinds(tmp_path, script_environment):
    program = {
        **ROUND_TRIP,
        "outputs": ["y", "y", None, 3],
        "steps": [{"let": [None], "op": "aten::neg.default", "args": [X]}, *ROUND_TRIP["steps"]],
        "carry": {"x": "y"},
    }
    message = request(tmp_path, program, calls=[{"x": view(0, [4, 5], [1, 4])}] * 2)
    message["policies"] = {"y": "bits", "y(2)": "bits", "output-3": "bits", "output-4": "bits"}
    message["calls"][1]["context"] = {"grad": False}
    text = render(message)
    assert "def call_1(function, given):" in text and "with torch.no_grad():" in text
    assert "carry={'x': 'y'}" in text and "x.neg()" in text
    done = execute(text, tmp_path, script_environment)
    # What was rounded once is the same from then on: the second call agrees in eager alone.
    assert done.returncode == 1 and "y(2): 17 of 20 elements differ" in done.stdout, (
        done.stdout + done.stderr
    )
    done = execute(text, tmp_path, script_environment, TORCH_COMPILE_BACKEND="aot_eager")
    assert done.returncode == 0, done.stdout + done.stderr


STAYS = """\
import threading
import torch
from torch._dynamo.backends.registry import register_backend


@register_backend(name="stays")
def stays(graph, examples):
    compiling = threading.get_ident()

    def run(*inputs):
        outputs = graph.forward(*inputs)
        there = threading.get_ident() == compiling
        return outputs if there else [value * 0 for value in outputs]

    return run
"""


def test_a_script_has_calls_made_by_other_threads(tmp_path, script_environment):
    program = {**ROUND_TRIP, "backward": {"of": ["y"]}}
    given = {"x": {**view(0, [4, 5], [1, 4]), "requires_grad": True}}
    stays = path("aot_eager", backend="stays", **{"import": ["stays"]})
    (tmp_path / "stays.py").write_text(STAYS)
    message = request(tmp_path, program, [given] * 2, path_=stays)
    text = render(message)
    assert "by={}" in text and "by_another_thread" not in text
    done = execute(text, tmp_path, script_environment)
    assert done.returncode == 0, done.stdout + done.stderr
    message["calls"][1]["context"] = {"thread": True}
    text = render(message)
    assert "by={1: by_another_thread}" in text
    done = execute(text, tmp_path, script_environment)
    assert done.returncode == 1 and "y: 19 of 20" in done.stdout, done.stdout + done.stderr
    whole = {**message, "program": {**program, "context": {"thread": True}}}
    assert "by={0: by_another_thread, 1: by_another_thread}" in render(whole)


#: A backend that computes what PERTURB says of each output `y`, or does what it says.
PERTURBING = """
import os
import torch
import torch._dynamo

def perturbing(module, _):
    if "raise" in os.environ["PERTURB"]:
        exec(os.environ["PERTURB"])
    def run(*arguments):
        return [eval(os.environ["PERTURB"], {"torch": torch, "y": y}) for y in module(*arguments)]
    return run

torch._dynamo.register_backend(perturbing, "perturbing")
exec(os.environ.get("BEFORE", ""))
"""


CLONE = [{"let": ["y"], "op": "aten::clone.default", "args": [{"ref": "x"}]}]


BREAK = [
    {"let": ["s"], "op": "aten::sum.default", "args": [{"ref": "x"}]},
    {"let": [], "call": "torch.Tensor.backward", "args": [{"ref": "s"}]},
    *CLONE,
]


RAISES = [{"let": ["y"], "op": "aten::view.default", "args": [{"ref": "x"}, [7]]}]


#: What is asked, what the compiled program does, what becomes of it: some of these were 0 where the
#: verdict fails, or 1 where it conforms, when `close` stood in for every policy.
VERDICTS = [
    ("bits", "y", 0, "eager and compiled agree"),
    ("bits", "y * (1 + 2**-23)", 1, "policy bits"),
    ("ulp(1)", "y * (1 + 3 * 2**-23)", 1, "5 of 6 elements differ under the policy ulp(1)"),
    ("ulp(4)", "y * (1 + 2**-22)", 0, ""),
    ("close(rtol=1e-07, atol=0)", "y * (1 + 2**-21)", 1, "close"),
    ("close(rtol=0.1, atol=0)", "y * 1.01", 0, ""),
    ("close", "y * (1 + 2**-21)", 0, ""),
    ("same", "y", 0, ""),
    ("same(1e-05)", "y * 1.0001", 125, "cannot tell: only Lockstep judges by same(1e-05)"),
    ("no_worse(1)", "y * 1.1", 1, "no_worse(1): error 0.0714, eager's 0, that of rounding 0"),
    ("stepwise(1)", "y * 1.1", 1, "stepwise(1)"),
    ("any_of(close, no_worse(1))", "y * (1 + 2**-21)", 0, ""),
    ("any_of(close, no_worse(1))", "y * 1.1", 1, "5 of 6 elements"),
    ("all_of(close, no_worse(1))", "y * 1.1", 1, "close"),
    (None, "y * 1.1", 1, "no_worse(1)"),
    (None, "y * (1 + 2**-21)", 0, ""),
    ("metadata", "y * 3", 0, ""),
    ("metadata", "y.double()", 1, "dtype"),
    ("equal", "torch.where(y == 0, -y, y)", 0, ""),
    ("bits", "torch.where(y == 0, -y, y)", 1, "1 of 6 elements"),
    ("bits", "y.t().contiguous().t()", 1, "strides"),
    ("bits", "raise ValueError('broken')", 1, "ValueError: eager returns"),
]


SPECIAL = [  # changes of the request, PERTURB, exit status, words
    (
        {"strides": "exact"},
        "y.as_strided((1, 6), (9, 1))",
        1,
        "strides: eager [6, 1], compiled [9, 1]",
    ),
    ({}, "y.as_strided((1, 6), (9, 1))", 0, ""),
    ({"strides": "ignore"}, "y.reshape(6, 1).contiguous().t().clone()", 0, ""),
    (
        {"raises": {"class": "RuntimeError", "match": "shape .* is invalid"}, "steps": RAISES},
        "y",
        0,
        "agree",
    ),
    (
        {"raises": {"class": "RuntimeError", "match": "other words"}, "steps": RAISES},
        "y",
        125,
        "about another error",
    ),
    (
        {"raises": {"class": "RuntimeError", "match": ""}},
        "y",
        125,
        "about another error: eager returns",
    ),
    ({"steps": BREAK, "requires_grad": True}, "y", 125, "the compiler refuses"),
    (
        {
            "steps": [{"let": ["y"], "op": "aten::rand_like.default", "args": [{"ref": "x"}]}],
            "environment": {"BEFORE": "torch.manual_seed = lambda seed: None"},
        },
        "y",
        125,
        "eager disagrees with itself: y",
    ),
    (
        {"environment": {"BEFORE": "torch._dynamo.config.disable = True"}, "fullgraph": False},
        "y",
        1,
        "no proof",
    ),
    ({"environment": {"BEFORE": "del torch.float32"}}, "y", 125, "has no attribute 'float32'"),
    ({"environment": {"BEFORE": "raise KeyError(1)"}}, "y", 125, "cannot run: KeyError"),
]


def test_the_exit_status_is_the_verdict(tmp_path, script_environment):
    (tmp_path / "perturbing_backend.py").write_text(PERTURBING)
    wrong = []
    for policy, perturb, status, words in [*VERDICTS, *SPECIAL]:
        changes = (
            dict(policy)
            if isinstance(policy, dict)
            else {"policies": {} if policy is None else {"y": policy}}
        )
        program = {
            "inputs": ["x"],
            "outputs": ["y"],
            "context": {},
            "backward": None,
            "steps": changes.pop("steps", CLONE),
        }
        shape = [1, 6] if isinstance(policy, dict) else [2, 3]
        settings = {
            "backend": "perturbing",
            "import": ["perturbing_backend"],
            "environment": {"PERTURB": perturb, **changes.pop("environment", {})},
            "fullgraph": changes.pop("fullgraph", True),
        }
        call = {"x": view(0, shape, requires_grad=changes.pop("requires_grad", False))}
        text = written(
            request(tmp_path, program, [call], path_=path("inductor", **settings), **changes)
        )
        done = execute(text, tmp_path, script_environment, PYTHONPATH=str(tmp_path))
        if done.returncode != status or words not in done.stdout + done.stderr:
            wrong.append((policy, perturb, status, words, done))
    assert not wrong, "\n".join(map(str, wrong))


def test_a_zero_tensor_is_built_as_one(tmp_path, script_environment):
    program: dict = {
        "inputs": ["x"],
        "outputs": ["y", "x"],
        "context": {},
        "backward": None,
        "steps": [{"let": ["y"], "op": "aten::clone.default", "args": [{"ref": "x"}]}],
    }
    text = render(
        request(
            tmp_path,
            program,
            [{"x": {**view(0, [2, 2]), "zero_tensor": True}}],
            [pack([0] * 4, "f")],
            path("aot_eager"),
        )
    )
    assert "torch._efficientzerotensor([2, 2], dtype=torch.float32)" in text
    done = execute(text, tmp_path, script_environment)
    assert done.returncode == 0, done.stdout + done.stderr


def test_options_and_folders_of_the_path_are_in_force(tmp_path, script_environment):
    """The path's folders come before those that there are, which stay."""
    (tmp_path / "its_folder").mkdir()
    (tmp_path / "its_folder" / "of_the_path.py").write_text("")
    path_ = path(
        "inductor",
        **{
            "import": ["of_the_path"],
            "options": {"emulate_precision_casts": True},
            "environment": {"PYTHONPATH": str(tmp_path / "its_folder"), "PATH": "/of/the/path"},
        },
    )
    text = render(request(tmp_path, path_=path_)).replace(
        'if __name__ == "__main__":',
        'print("PATH is", os.environ["PATH"])\nif __name__ == "__main__":',
    )
    done = execute_alone(text, tmp_path, script_environment)
    assert done.returncode == 0, done.stdout + done.stderr  # without the option it differs
    assert f"PATH is /of/the/path:{script_environment['PATH']}" in done.stdout


def test_what_the_program_closes_over_is_a_global_of_the_script(tmp_path, script_environment):
    program: dict = {
        "inputs": ["w", "x"],
        "constants": ["w"],
        "outputs": ["y"],
        "context": {},
        "backward": None,
        "steps": [{"let": ["y"], "op": "aten::mul.Tensor", "args": [{"ref": "x"}, {"ref": "w"}]}],
    }
    text = render(
        request(
            tmp_path,
            program,
            [{"w": view(0, [2]), "x": view(1, [2])}],
            [pack([1, 2], "f"), pack([3, 4], "f")],
            path("aot_eager"),
        )
    )
    assert "def program(x):" in text
    assert "program.__globals__['constant_w'] = given['w']" in text
    done = execute(text, tmp_path, script_environment)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_script_judges_what_calls_leave_behind(tmp_path, script_environment):
    """Each backend commits one fault; a copy of the program's own conforms."""
    (tmp_path / "faults.py").write_text("""\
import torch
from torch._dynamo.backends.registry import register_backend

def backend(name, fault):
    def compiler(graph, examples):
        buffer = []
        def run(*inputs):
            outputs = list(graph.forward(*inputs))
            fault(outputs, buffer)
            return outputs
        return run
    register_backend(compiler, name=name)

def static(outputs, buffer):
    if not buffer:
        buffer.append(torch.empty_like(outputs[0]))
    outputs[0] = buffer[0].copy_(outputs[0])

def fold(outputs, buffer):
    if not buffer:
        buffer.append(outputs[0].clone())
    outputs[0] = buffer[0].clone()

backend("nothing", lambda outputs, buffer: None)
backend("draws", lambda outputs, buffer: torch.rand(1))
backend("grad", lambda outputs, buffer: torch._C._set_grad_enabled(False))
backend("static", static)
backend("fold", fold)
""")
    rand: dict = {
        "inputs": ["x"],
        "outputs": ["y"],
        "context": {},
        "backward": None,
        "steps": [{"let": ["y"], "op": "aten::rand_like.default", "args": [X]}],
    }
    environment = {**script_environment, "PYTHONPATH": str(tmp_path)}
    said = {}
    for fault in ("nothing", "draws", "grad", "static", "fold"):
        message = request(
            tmp_path,
            rand,
            calls=[{"x": view(0, [20])}] * 2,
            reseed=True,
            repeat=3,
            threads=2,
            path_={**path("aot_eager"), "backend": fault, "import": ["faults"]},
        )
        done = execute(render(message), tmp_path, environment)
        said[fault] = done.stdout
        assert done.returncode == (0 if fault == "nothing" else 1), done.stdout + done.stderr
    assert "generator cpu: eager " in said["draws"] and "after call 1" in said["draws"]
    assert "mode grad: eager True, compiled False" in said["grad"]
    assert "y of call 1 changed while later calls ran" in said["static"]
    assert "elements differ under the policy bits" in said["fold"]


def test_the_script_makes_a_second_backward(tmp_path, script_environment):
    square = {
        "inputs": ["x"],
        "outputs": ["y"],
        "context": {},
        "backward": {"of": ["y"], "with": "ones", "twice": True},
        "steps": [{"let": ["y"], "op": "aten::mul.Tensor", "args": [X, X]}],
    }
    message = request(
        tmp_path,
        square,
        calls=[{"x": view(0, [20], requires_grad=True)}],
        path_=path("aot_eager"),
        raises={"class": "RuntimeError", "match": "a second time"},
    )
    done = execute(render(message), tmp_path, script_environment)
    assert done.returncode == 0 and "agree" in done.stdout, done.stdout + done.stderr
