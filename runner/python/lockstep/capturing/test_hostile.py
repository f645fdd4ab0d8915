"""Programs that end, fork, print, loop, or ask for too much: what was captured stays."""

import functools

import pytest

FIRST = "f = torch.compile(lambda x: x.exp() + 1)\nf(torch.randn(3))\n"


@pytest.fixture
def record(record):
    """Each of these in a process of its own, as users have."""
    return functools.partial(record, fresh=True)


def test_an_exit_keeps_what_was_captured(record):
    ran = record(FIRST + "import sys; sys.exit(3)")
    assert ran.status == 3
    assert len(ran.cases) == 1


def test_an_end_without_goodbye_keeps_it_too(record):
    ran = record(FIRST + "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert ran.status == -9
    assert len(ran.cases) == 1


def test_an_error_has_the_programs_own_traceback(record):
    ran = record(FIRST + "raise ValueError('mine')")
    assert ran.status == 1 and ran.errors.rstrip().endswith("ValueError: mine")
    assert 'model.py", line 5' in ran.errors
    assert len(ran.cases) == 1


def test_forks_are_captured_each(record):
    ran = record(
        """
        import os
        for backend in ("inductor", "aot_eager"):
            if os.fork() == 0:
                torch.compile(lambda x: x.sin() * 2, backend=backend)(torch.ones(2))
                os._exit(0)
            os.wait()
        """
    )
    assert [path.name for path in ran.only().paths] == ["inductor", "aot_eager"]


def test_prints_and_files_are_the_programs(record):
    ran = record(
        """
        import sys
        print(sys.argv[1:], __name__, __file__.endswith("model.py"))
        sys.stderr.write("mine\\n")
        print(open(__file__).readline().strip())
        """,
        "--a",
        "b",
    )
    assert ran.text == "['--a', 'b'] __main__ True\nimport torch\n"
    assert "mine" in ran.errors


def test_a_loop_of_calls_writes_down_a_few(record):
    ran = record(
        "f = torch.compile(lambda x: x + 1, dynamic=True)\nfor n in range(2, 40): f(torch.ones(n))"
    )
    assert sum(len(each["calls"]) for each in ran.regions) <= 8


def test_too_many_graphs_are_said(record):
    ran = record(
        "for n in range(20):\n"
        "    torch._dynamo.reset()\n"
        "    torch.compile(lambda x: x + n)(torch.ones(2))\n"
    )
    assert ran.status == 0
    assert len(ran.regions) == 16
    assert "more than 16 graphs" in ran.reasons[0]["reason"]


def test_tensors_beyond_the_limit_are_said(record):
    ran = record(FIRST + "torch.compile(lambda x: x * 2)(torch.randn(1 << 23))")
    assert ran.status == 0
    assert len(ran.cases) == 1
    assert "limit of bytes" in ran.reasons[0]["reason"]


def test_what_no_case_can_say_is_said_with_its_place(record):
    ran = record(FIRST + "torch.compile(lambda x: x.to_dense() + 1)(torch.eye(2).to_sparse())")
    assert ran.status == 0, ran.errors
    assert len(ran.cases) == 1
    assert [each["reason"] for each in ran.reasons] == ["Dynamo hands over no graph of it"]
    assert ran.reasons[0]["source"]["file"] == "model.py"


def test_random_numbers_stay_the_programs(record):
    text = "torch.manual_seed(1)\nx = {}(torch.rand(4))\nprint(x.tolist(), torch.rand(2).tolist())"
    plain = record(text.format("(lambda x: x * torch.rand(4))"), name="plain.py")
    ran = record(text.format("torch.compile(lambda x: x * torch.rand(4), backend='eager')"))
    assert ran.text == plain.text
    assert ran.only().region["replay"] is None


def test_modules_that_are_imported_from_the_programs_folder(record, tmp_path):
    (tmp_path / "layers.py").write_text("import torch\ndef swish(x):\n    return x * x.sigmoid()\n")
    ran = record("from layers import swish\ntorch.compile(swish)(torch.randn(3))")
    assert ran.status == 0, ran.errors
    assert ran.only().region["where"] == {"file": "layers.py", "line": 3, "name": "swish"}


def test_a_program_that_deletes_its_folders(record, tmp_path):
    ran = record(
        """
        import os, pathlib, shutil
        spool = pathlib.Path("/proc/self/cmdline").read_bytes().split(b"\\0")[2].decode()
        shutil.rmtree(spool)
        shutil.rmtree(os.path.dirname(os.path.abspath(__file__)))
        torch.compile(lambda x: x.cos())(torch.randn(3))
        print("still here")
        """
    )
    assert ran.status == 0, ran.errors
    assert ran.text == "still here\n" and ran.cases == []


def test_what_a_program_writes_among_what_is_captured_is_no_case(record):
    ran = record(
        FIRST
        + """
import pathlib
spool = pathlib.Path("/proc/self/cmdline").read_bytes().split(b"\\0")[2].decode()
for at, text in enumerate(("", "[]", "{", "3", '{"a": 1}', "\\0" * 5000)):
    (pathlib.Path(spool) / f"00000001-{at}.json").write_text(text)
import os
os.mkfifo(pathlib.Path(spool) / "00000001-fifo.json")
os.mkfifo(pathlib.Path(spool) / "reasons")
"""
    )
    assert ran.status == 0, ran.errors
    assert len(ran.cases) == 1


def test_exits_of_each_kind_keep_what_was_captured(record):
    for text, status in (
        ("import os; os._exit(5)", 5),
        ("raise SystemExit('bye')", 1),
        ("raise KeyboardInterrupt", -2),
        ("import os; os.abort()", -6),
        ("import os; os.execv('/bin/true', ['true'])", 0),
        ("import ctypes; ctypes.string_at(0)", -11),
    ):
        ran = record(FIRST + text)
        assert (ran.status, len(ran.cases)) == (status, 1), text


def test_a_tensor_beyond_all_memory_is_the_programs_error(record):
    ran = record(FIRST + "f(torch.empty(1 << 60, dtype=torch.uint8))")
    assert ran.status == 1 and "RuntimeError" in ran.errors
    assert len(ran.cases) == 1


def test_thousands_of_calls_and_steps(record):
    ran = record(
        """
        f = torch.compile(lambda x: x + 1)
        x = torch.zeros(3)
        for _ in range(5000):
            x = f(x)
        @torch.compile
        def g(x):
            for _ in range(1500):
                x = x.sin()
            return x
        g(torch.ones(2))
        """
    )
    assert ran.status == 0, ran.errors
    few, many = ran.cases
    assert len(few.calls) <= 8 and len(many.program["steps"]) == 1500
