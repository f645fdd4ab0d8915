"""The Python API, and the pytest plugin over it."""

import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[2] / "ci")]

from own_cache import own_cache  # noqa: E402

import lockstep  # noqa: E402


@pytest.fixture(autouse=True)
def tool(monkeypatch, tmp_path_factory):
    """The built runner."""
    monkeypatch.setenv("LOCKSTEP_CACHE", str(own_cache(tmp_path_factory.getbasetemp())))
    runner = pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "lockstep"
    monkeypatch.setenv("LOCKSTEP_RUNNER", str(runner))
    monkeypatch.setenv("LOCKSTEP_HOME", str(HERE.parents[2]))
    monkeypatch.setenv("LOCKSTEP_PYTHON", sys.executable)


def cast(x, scale=2):
    return x.half().float() * scale


def data(**more):
    import torch

    torch.manual_seed(0)
    return torch.randn(40, 3, **more)


def test_importing_it_imports_no_torch():
    code = f"import sys; sys.path.insert(0, {str(HERE.parent)!r}); import lockstep, lockstep.api; "
    code += "assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_check_says_what_the_policies_let_pass():
    report = lockstep.check(cast, data(), scale=3)
    assert report.ok
    (verdict,) = report.verdicts
    assert (verdict.case, verdict.path, verdict.status) == ("cast", "inductor", "conform")
    assert "1 of 1 conform" in str(report)
    assert "differs, which its policies let pass: mul: 120 of 120" in str(report)
    assert "<table>" in report._repr_html_()


def test_check_by_a_policy(tmp_path):
    report = lockstep.check(cast, data(requires_grad=True), policy="bits", backward=True)
    assert not report.ok
    assert report.verdicts[0].status == "value_diverges"
    (file,) = report.save(tmp_path / "mine.json")
    assert '"compare": {"mul": "bits", "x.grad": "bits"}' in file.read_text()
    with pytest.raises(ValueError, match="name a folder"):
        both = lockstep.capture()
        both.save(tmp_path / "both.json")
    assert "x.half" in report.shrink(seconds=60) or "to(torch.float16)" in report.shrink(seconds=60)


def test_large_values_are_saved_beside_the_case(tmp_path):
    captured = lockstep.capture(cast, data().repeat(20, 1))
    (file,) = captured.save(tmp_path / "mine")
    (values,) = (tmp_path / "mine" / "values").iterdir()
    assert values.stat().st_size == 9600 and values.name in file.read_text()
    captured.save(tmp_path / "one.json")
    assert (tmp_path / "values" / values.name).exists()


def test_backward_changes_nobodys_gradient():
    import torch

    net = torch.nn.Linear(3, 2)
    report = lockstep.assert_conforms(net, data(), backend="aot_eager", backward=True)
    assert [each.name for each in report._found[0].paths] == ["aot_eager"]
    assert net.weight.grad is None
    assert report._found[0].calls[0]["backward"]


def test_what_does_not_conform_is_raised_with_its_report():
    with pytest.raises(lockstep.Diverges, match="value_diverges") as caught:
        lockstep.assert_conforms(cast, data(), policy="bits")
    assert caught.value.report.verdicts[0].status == "value_diverges"


def test_what_the_function_raises_is_raised():
    with pytest.raises(RuntimeError, match="must match"):
        lockstep.check(lambda x: x + x[:2], data())


def test_capture_as_call_context_and_decorator(tmp_path):
    import torch

    assert lockstep.capture(cast, data()).cases == ["cast"]
    before = torch.compile
    with lockstep.capture() as captured:
        torch.nn.Linear(3, 2)(data())
    assert torch.compile is before
    assert captured.cases == ["captured-linear"]
    (file,) = captured.save(tmp_path / "cases")
    assert file.name == "captured-linear.json"

    @lockstep.capture
    def step(x):
        return torch.compile(cast, backend="aot_eager")(x)

    step(data())
    assert step.captured.cases == ["step-cast"]
    assert step.captured.judge().ok


def test_dynamo_compiles_again_what_was_checked():
    import torch

    def f(x):
        return x + 1

    lockstep.capture(f, data())
    seen = []

    def backend(graph, inputs):
        seen.append(graph)
        return graph.forward

    torch.compile(f, backend=backend)(data())
    assert len(seen) == 1


PLUGIN = """
import pytest, torch

def cast(x):
    return x.half().float() * 2

def test_fixture(conforms):
    conforms(cast, torch.randn(40, 3))

@pytest.mark.conforms
def test_mark():
    torch.compile(cast)(torch.randn(40, 3))

@pytest.mark.conforms(policy="bits")
def test_diverges():
    torch.compile(cast)(torch.randn(40, 3))

@pytest.mark.conforms
def test_fails():
    assert 1 == 2
"""


def test_the_plugin_fails_with_the_first_screen_of_the_report(tmp_path):
    (tmp_path / "test_mine.py").write_text(PLUGIN)
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    words = ["-m", "pytest", "-q", "-p", "lockstep.pytest_plugin", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, *words, "--strict-markers", tmp_path],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    assert (
        "0 of 1 conform\nNO test-mine" in done.stdout or "NO captured-cast@inductor" in done.stdout
    )
    assert "assert 1 == 2" in done.stdout
