"""Programs that end, fork, print, loop, or ask for too much: what was captured stays."""

FIRST = "f = torch.compile(lambda x: x.exp() + 1)\nf(torch.randn(3))\n"


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
