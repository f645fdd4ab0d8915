"""The command line: from a program to cases, verdicts and explanations, by one command."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from own_cache import own_cache  # the conftest beside this adds ci/ to where modules are found

PACKAGE = pathlib.Path(__file__).resolve().parents[1]

CAST = """
import sys
import torch
def f(x): return x.half().float() * 2
torch.manual_seed(0)
print("mine", sys.argv[1:])
torch.compile(f)(torch.randn(40, 3))
"""


@pytest.fixture
def tool(tmp_path, tmp_path_factory, monkeypatch):
    """Calls the built runner in an empty folder; `tool.start` does not wait."""
    binary = pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "lockstep"
    monkeypatch.setenv("LOCKSTEP_HOME", str(PACKAGE.parents[2]))
    monkeypatch.setenv("LOCKSTEP_PYTHON", sys.executable)
    monkeypatch.setenv("LOCKSTEP_CACHE", str(own_cache(tmp_path_factory.getbasetemp())))
    monkeypatch.delenv("LOCKSTEP_RUNNER", raising=False)

    return Tool(binary, tmp_path)


class Tool:
    """The runner, called in a folder; `start` does not wait."""

    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder

    def start(self, *words):
        return subprocess.Popen(
            [self.binary, *words],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            # A job in the background of a shell script inherits that it is ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def __call__(self, *words):
        process = self.start(*words)
        out, error = process.communicate(timeout=600)
        return subprocess.CompletedProcess(words, process.returncode, out, error)


def program(tmp_path, text, name="model.py"):
    (tmp_path / name).write_text(textwrap.dedent(text))
    return name


def test_a_program_becomes_cases_that_check_accepts(tool, tmp_path):
    program(tmp_path, CAST)
    done = tool("capture", "--json", "--out", "mine", "--", "model.py", "--layers", "2")
    assert done.returncode == 0, done.stderr
    assert "mine ['--layers', '2']" in done.stderr  # what the program prints is no answer
    (found,) = json.loads(done.stdout)
    assert (found["name"], found["paths"], found["route"]) == ("model-f", ["inductor"], "graph")
    assert found["shown"]["status"] == "value_diverges"
    assert found["verdict"]["status"] == "conform"
    assert found["says"] == "its policies let it pass (fills, default policy)"
    assert tool("check", "mine/model-f.json").returncode == 0
    again = tool("capture", "--out", "mine", "model.py")
    assert again.returncode == 2 and "mine exists: --out names another directory" in again.stderr


def test_as_shown_it_compares_as_strictly_as_the_program_differs(tool, tmp_path):
    program(tmp_path, CAST)
    done = tool("capture", "--json", "--as-shown", "model.py")
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)
    assert found["says"] == "shows it: fills, compared to the bit"
    case = json.loads((tmp_path / "model-cases" / "model-f.json").read_text())
    assert (case["compare"], case["strides"]) == ({"mul": "bits"}, "exact")
    assert case["inputs"]["x"]["fill"]["normal"]["std"] == pytest.approx(1, abs=0.2)


def test_exact_values_are_the_programs(tool, tmp_path):
    program(tmp_path, CAST)
    done = tool("capture", "--exact-values", "--name", "other", "model.py")
    assert done.returncode == 0, done.stderr
    case = json.loads((tmp_path / "other-cases" / "other-f.json").read_text())
    assert len(case["inputs"]["x"]["values"]) == 120


def test_values_of_large_tensors_lie_beside_the_case(tool, tmp_path):
    program(tmp_path, CAST.replace("(40, 3)", "(40, 30)"))
    done = tool("capture", "--json", "--exact-values", "--as-shown", "model.py")
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)
    assert found["says"] == "shows it: exact values, compared to the bit"
    case = json.loads((tmp_path / "model-cases" / "model-f.json").read_text())
    (file,) = (tmp_path / "model-cases" / "values").iterdir()
    assert case["inputs"]["x"]["file"] == file.name and file.stat().st_size == 4800
    assert tool("check", "model-cases/model-f.json").returncode == 0


def test_run_judges_a_program_by_the_default_policies(tool, tmp_path):
    program(tmp_path, CAST)
    done = tool("run", "--quiet", "model.py")
    assert done.returncode == 0, done.stderr
    assert "1 conform" in done.stdout


def test_explain_names_the_cast_and_the_setting(tool, tmp_path):
    program(tmp_path, CAST)
    done = tool("explain", "--seconds", "240", "model.py")
    assert done.returncode == 1, done.stderr
    assert "compiled keeps float32 where eager rounds to float16 after step half" in done.stdout
    assert "emulate_precision_casts" in done.stdout


def test_what_torch_says_does_not_stand_before_the_answer(tool, tmp_path):
    warns = (
        "torch.meshgrid(torch.ones(2), torch.ones(2))\nimport sys; sys.stderr.write('mine\\n')\n"
    )
    program(tmp_path, CAST + warns)
    done = tool("run", "--quiet", "model.py")
    assert done.returncode == 0, done.stderr
    assert "meshgrid" not in done.stderr and "\nmine\n" in done.stderr
    where = re.search(r"torch logged or warned \d lines: (.*)", done.stderr)
    assert where and "meshgrid" in pathlib.Path(where[1]).read_text()


def test_what_torch_says_is_shown_where_there_is_no_answer(tool, tmp_path):
    program(tmp_path, "import torch\ntorch.meshgrid(torch.ones(2), torch.ones(2))\n")
    done = tool("explain", "model.py")
    assert done.returncode == 2
    assert done.stderr.index("could be captured") < done.stderr.index("meshgrid")


def test_two_programs_of_one_name_at_once(tool, tmp_path):
    started = []
    for at in range(2):
        (tmp_path / str(at)).mkdir()
        program(tmp_path / str(at), CAST.replace("* 2", f"* {at + 5}"))
        tool.folder = tmp_path / str(at)
        started.append(tool.start("run", "--quiet", "model.py"))
    files = []
    for at, each in enumerate(started):
        out, error = each.communicate(timeout=600)
        assert each.returncode == 0 and "1 conform" in out, error
        folder = re.search(r"1 case in (.*)", error)
        assert folder
        files.append(pathlib.Path(folder[1]) / "model-f.json")
        assert f'"args": ["%float_1", {at + 5}]' in files[at].read_text()
    assert files[0] != files[1]
    for each in files:  # what later commands take is still there
        done = tool("run", "--quiet", str(each), "--path", "inductor")
        assert done.returncode == 0 and "1 conform" in done.stdout, done.stderr


def test_numbers_that_python_reads_are_said(tool, tmp_path):
    text = """
import torch
def f(x):
    torch._dynamo.graph_break()
    return x * x.max().item() + (2 if x[0] > 0 else 3)
torch.compile(f, fullgraph=True)(torch.arange(4.))
"""
    program(tmp_path, text)
    done = tool("capture", "model.py")
    assert done.returncode == 0, done.stderr
    for word in ("item", "__bool__"):
        assert f"not captured: model.py:5: what Python does with what `{word}` reads" in done.stderr
    assert tool("check", "model-cases/model-f.json").returncode == 0


def test_nothing_to_explain_is_said(tool, tmp_path):
    program(tmp_path, "import torch\ntorch.compile(lambda x: x + 1)(torch.ones(3))\n")
    done = tool("explain", "model.py")
    assert done.returncode == 0 and done.stdout == ""
    assert "there is nothing to explain" in done.stderr


def test_a_program_that_shows_nothing_is_refused_with_the_reason(tool, tmp_path):
    program(tmp_path, "print(3)\n")
    done = tool("explain", "model.py")
    assert done.returncode == 2
    assert "nothing of model.py could be captured: it compiles no graph" in done.stderr


def test_an_interrupt_keeps_what_was_captured(tool, tmp_path):
    program(tmp_path, CAST + "print('ready', flush=True)\nimport time; time.sleep(300)\n")
    process = tool.start("capture", "model.py")
    for line in process.stderr:
        if line == "ready\n":
            break
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130, error
    assert "interrupted: what was captured is written" in error
    assert (tmp_path / "model-cases" / "model-f.json").exists()


def test_a_program_that_does_not_end_is_ended(tool, tmp_path):
    program(tmp_path, CAST + "import time; time.sleep(300)\n")
    done = tool("capture", "--seconds", "15", "model.py")
    assert done.returncode == 0, done.stderr
    assert "model.py still runs after 15 s, and is ended" in done.stderr
    assert "model.py was ended by SIGINT" in done.stderr or "exit status 1" in done.stderr


def test_processes_that_a_program_leaves_behind_are_ended(tool, tmp_path):
    loop = """
import os, time
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        open(f"child-{os.getpid()}", "w").close()
        os.closerange(0, 3)
        time.sleep(300)
while len([each for each in os.listdir() if each.startswith("child-")]) < 3:
    time.sleep(0.1)
os._exit(0)
"""
    program(tmp_path, CAST + loop)
    done = tool("capture", "model.py")
    assert done.returncode == 0, done.stderr
    assert "model.py leaves 3 processes behind, which are ended" in done.stderr
    children = [int(each.name[6:]) for each in tmp_path.glob("child-*")]
    assert len(children) == 3
    for each in children:
        with pytest.raises(ProcessLookupError):
            os.kill(each, 0)


def test_a_program_that_deletes_the_folder_it_runs_in(tool, tmp_path):
    program(tmp_path, CAST + "import os, shutil; shutil.rmtree(os.getcwd())\n")
    out = tmp_path.parent / f"{tmp_path.name}-out"
    done = tool("capture", "--out", str(out), "model.py")
    assert done.returncode == 0, done.stderr
    assert (out / "model-f.json").exists() and not (tmp_path / "model.py").exists()


def test_wrong_usage(tool, tmp_path):
    for words, said in (
        (("capture",), "PROGRAM is required"),
        (("capture", "gone.py"), "gone.py is no file"),
        (("explain", "--nope", "model.py"), "--nope"),
        (("capture", "--seconds", "x", "model.py"), "--seconds"),
    ):
        program(tmp_path, CAST)
        done = tool(*words)
        assert done.returncode == 2 and said in done.stderr, (words, done.stderr)
    assert "Usage: lockstep capture" in tool("capture", "--help").stdout
