"""The reproducer: a script without Lockstep that tells by its exit status whether eager and
compiled agree."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

from conversation import HERE, pack, path, view
from lockstep_worker.repro.definitions import MODULES, chosen, module
from lockstep_worker.repro.part import counting_text
from lockstep_worker.repro.write import render as written

X = {"ref": "x"}
ROUND_TRIP: dict = {
    "inputs": ["x"],
    "outputs": ["y"],
    "context": {},
    "backward": None,
    "steps": [
        {"let": ["h"], "op": "aten::to.dtype", "args": [{"ref": "x"}, {"dtype": "float16"}]},
        {"let": ["y"], "op": "aten::to.dtype", "args": [{"ref": "h"}, {"dtype": "float32"}]},
    ],
}
SEVENTHS = pack([i / 7 for i in range(20)], "f")


WORDS = json.loads((pathlib.Path(HERE).parents[2] / "reports" / "words.json").read_text("utf-8"))


def request(tmp_path, program=ROUND_TRIP, calls=None, storages=(SEVENTHS,), path_=None, **rest):
    files = []
    for i, data in enumerate(storages):
        (tmp_path / f"in{i}").write_bytes(data)
        files.append({"file": str(tmp_path / f"in{i}"), "bytes": len(data)})
    calls = calls or [{"x": view(0, [4, 5], [1, 4])}]
    return {
        "id": "test@cpu/inductor",
        "title": "a test",
        "links": [],
        "path": path_ or path("inductor"),
        "device": "cpu",
        "seed": 0,
        "threads": 1,
        "program": program,
        "storages": files,
        "calls": [{"inputs": call} for call in calls],
        "policies": {"y": "bits"},
        "strides": "significant",
        "raises": None,
        "recorded": None,
        "words": WORDS,
        "prepare": None,
        **rest,
    }


def render(message, status=0):
    done = subprocess.run(
        [sys.executable, "-m", "lockstep_worker", "repro"],
        input=json.dumps(message),
        text=True,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": HERE},
        timeout=120,
    )
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


@pytest.fixture(scope="session")
def script_environment(cache):
    """No Lockstep on the path; the cache of the tests, which has the precompiled header."""
    environment = {
        key: value
        for key, value in os.environ.items()
        if key not in ("PYTHONPATH", "TORCH_COMPILE_BACKEND")
    }
    return {**environment, "TORCHINDUCTOR_CACHE_DIR": os.path.join(cache, "repro")}


def execute(text, folder, environment, before=(), **variables):
    (folder / "repro.py").write_text(text)
    return subprocess.run(
        [sys.executable, *before, "repro.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**environment, **variables},
        timeout=600,
    )


def test_the_known_report_fails_on_inductor_and_agrees_elsewhere(tmp_path, script_environment):
    text = render(request(tmp_path))
    assert "lockstep_worker" not in text and str(tmp_path) not in text
    done = execute(text, tmp_path, script_environment)
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


def test_the_brief_script_returns_what_has_no_name(tmp_path, script_environment):
    program = {**ROUND_TRIP, "outputs": ["y", "y", None], "backward": {"of": ["y"]}}
    given = [{"x": {**view(0, [20], [1]), "requires_grad": True}}]
    (text,) = brief(tmp_path, request(tmp_path, program, given))
    assert "y, output_2, output_3 = run(x)" in text
    done = execute(text, tmp_path, script_environment)
    assert done.returncode == 0 and done.stdout.count("None") == 2, done.stdout + done.stderr


def brief(tmp_path, *requests):
    """The brief scripts of some requests."""
    done = subprocess.run(
        [sys.executable, "-m", "lockstep_worker", "repro"],
        input=json.dumps({"brief": requests}),
        text=True,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": HERE},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


CONTIGUOUS = [{"x": view(0, [20], [1])}]


def test_the_brief_script_shows_both_sides(tmp_path, script_environment):
    (text,) = brief(tmp_path, request(tmp_path, calls=CONTIGUOUS))
    assert len(text.splitlines()) < 20 and "lockstep" not in text
    eager, compiled = execute(text, tmp_path, script_environment).stdout.split("tensor(")[1:]
    assert "0.571289062" in eager and "0.571428597" in compiled


def test_the_brief_script_says_what_the_path_sets_and_what_is_raised(tmp_path, script_environment):
    step = {
        "let": ["y"],
        "op": "aten::div.Tensor_mode",
        "args": [{"ref": "x"}, {"ref": "x"}],
        "kwargs": {"rounding_mode": {"str": "no'such"}},
    }
    raising = {
        "inputs": ["x"],
        "outputs": ["y"],
        "context": {"grad": False},
        "backward": None,
        "steps": [step],
    }
    settings = {
        "config": {"torch._inductor.config.freezing": True},
        "environment": {"A": "b'c"},
        "mode": None,
        "fullgraph": False,
    }
    (text,) = brief(
        tmp_path,
        request(
            tmp_path,
            raising,
            CONTIGUOUS,
            path_=path("inductor", **settings),
            raises={"class": "", "match": ""},
        ),
    )
    assert (
        "os.environ['A'] = \"b'c\"" in text
        and "torch._inductor.config.freezing = True" in text
        and "with torch.no_grad():" in text
    )
    done = execute(text, tmp_path, script_environment)
    assert done.returncode == 0 and "RuntimeError div expected rounding_mode" in done.stdout, (
        done.stdout + done.stderr
    )


def test_the_brief_script_has_gradients_and_numbers_that_are_not_finite(
    tmp_path, script_environment
):
    program = {
        "inputs": ["x"],
        "outputs": ["y"],
        "context": {},
        "backward": {"of": ["y"]},
        "steps": [{"let": ["y"], "op": "aten::abs.default", "args": [{"ref": "x"}]}],
    }
    data = pack([float("nan"), float("-inf"), -0.0, 2.0], "f")
    (text,) = brief(
        tmp_path,
        request(tmp_path, program, [{"x": {**view(0, [4], [1]), "requires_grad": True}}], (data,)),
    )
    assert (
        "torch.tensor([math.nan, -math.inf, -0.0, 2.0], dtype=torch.float32, requires_grad=True)"
        in text
    )
    done = execute(text, tmp_path, script_environment)
    assert done.stdout.count("inf") == 2 and done.stdout.count("-1.") == 2, (
        done.stdout + done.stderr
    )


@pytest.mark.parametrize(
    "change, why",
    [
        ({}, "contiguous"),
        ({"calls": CONTIGUOUS * 2}, "one call"),
        (
            {
                "calls": CONTIGUOUS,
                "libraries": ["x.so"],
                "program": {
                    **ROUND_TRIP,
                    "steps": [{"let": ["y"], "op": "theirs::relu.default", "args": [X]}],
                },
            },
            "a script for a report loads no libraries, and torch 2",
        ),
        ({"calls": CONTIGUOUS, "libraries": ["x.so"], "device": "theirs"}, "has no device theirs"),
        ({"calls": CONTIGUOUS, "prepare": {}}, "prepares no inputs"),
        (
            {
                "calls": CONTIGUOUS,
                "program": {
                    **ROUND_TRIP,
                    "steps": [
                        {"let": ["y"], "op": "aten::bernoulli.default", "args": [{"ref": "x"}]}
                    ],
                },
            },
            "random",
        ),
    ],
)
def test_what_has_no_brief_script_says_why(tmp_path, change, why):
    (text,) = brief(tmp_path, request(tmp_path, **change))
    assert why in text["unsupported"]


def test_a_library_that_the_case_does_not_need_is_left_out(tmp_path):
    given = request(tmp_path, calls=CONTIGUOUS, libraries=[str(tmp_path / "no_such.so")])
    (text,) = brief(tmp_path, given)
    assert "def program(x):" in text and "no_such" not in text
    assert "no_such" not in render(given)
    given["program"] = {
        **ROUND_TRIP,
        "steps": [{"let": ["y"], "op": "theirs::relu.default", "args": [X]}],
    }
    assert "no_such.so" in render(given, status=3), "this one is needed, and loaded"


long = pytest.mark.skipif(
    not os.environ.get("LOCKSTEP_LONG"),
    reason="many processes that compile anew; LOCKSTEP_LONG=1 runs it",
)


@long
def test_the_bisector_of_torch_finds_the_setting(tmp_path, script_environment):
    """All backends, then the parts of Inductor, until setting emulate_precision_casts mends it:
    eleven processes."""
    pytest.importorskip("torch._inductor.compiler_bisector")
    (tmp_path / "repro.py").write_text(render(request(tmp_path)))
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "torch._inductor.compiler_bisector",
            "run",
            sys.executable,
            "repro.py",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=1800,
        # It empties its cache directory, before and after.
        env={**script_environment, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")},
    )
    if (
        "Invalid command: run" in done.stdout
        or "Usage" in done.stdout
        and "run <cmd>" not in done.stdout
    ):
        pytest.skip("this torch's bisector has no `run`")
    said = done.stdout + done.stderr
    assert "The issue is in the inductor system" in said, said
    assert (
        "Bisection complete: BisectionResult(backend='inductor', "
        "subsystem='inductor_emulate_precision_casts'" in said
    ), said


@long
def test_git_bisect_names_the_commit(tmp_path, script_environment):
    """A module that the path imports sets Inductor's configuration: rightly, not at all in one
    commit, and wrongly at last."""
    repository = tmp_path / "repository"
    repository.mkdir()

    def git(*words):
        done = subprocess.run(
            ["git", "-c", "user.name=n", "-c", "user.email=e", *words],
            cwd=repository,
            capture_output=True,
            text=True,
            timeout=900,
            env={
                **script_environment,
                "PYTHONPATH": str(repository),
                "PYTHONDONTWRITEBYTECODE": "1",
                "GIT_CONFIG_GLOBAL": os.devnull,
            },
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    git("init", "-q")
    good, bad = (
        f"import torch._inductor.config as c\nc.emulate_precision_casts = {value}\n"
        for value in (True, False)
    )
    commits = []
    for number, text in enumerate([good, good, good, "import no_such_module\n", good, bad, bad]):
        (repository / "bisected_settings.py").write_text(f"# {number}\n" + text)
        git("add", ".")
        git("commit", "-q", "-m", f"change {number}")
        commits.append(git("rev-parse", "HEAD").strip())
    script = tmp_path / "repro.py"
    script.write_text(
        render(request(tmp_path, path_=path("inductor", **{"import": ["bisected_settings"]})))
    )
    git("bisect", "start", commits[6], commits[0])
    said = git("bisect", "run", sys.executable, str(script))
    assert "cannot run: ModuleNotFoundError: No module named 'no_such_module'" in said, said  # 125
    assert f"{commits[5]} is the first bad commit" in said, said


def test_test_fn_is_there_and_git_bisect_can_skip(tmp_path, script_environment):
    text = render(request(tmp_path, path_=path("inductor", backend="aot_eager")))
    (tmp_path / "repro.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", "import repro; assert repro.test_fn() is True"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=script_environment,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for lacking in (
        {"config": {"torch._inductor.config.no_such_thing": 1}},
        {"import": ["no_such_module"]},
        {"backend": "no_such_backend"},
    ):
        done = execute(
            render(request(tmp_path, path_=path("inductor", **lacking))),
            tmp_path,
            script_environment,
        )
        assert done.returncode == 125 and "cannot " in done.stderr and "no_such" in done.stderr, (
            done.stdout + done.stderr
        )


def test_hostile_strings_stay_data(tmp_path, script_environment):
    hostile = "'''\"\"\"\n\r\u2028import os; os._exit(99)\n#$about ${settings} \\"
    program: dict = {
        "inputs": ["x"],
        "outputs": ["y"],
        "context": {},
        "backward": None,
        "steps": [
            {
                "let": ["y"],
                "op": "aten::div.Tensor_mode",
                "args": [{"ref": "x"}, {"ref": "x"}],
                "kwargs": {"rounding_mode": {"str": hostile}},
            }
        ],
    }
    message = request(
        tmp_path,
        program,
        title=hostile,
        id=hostile,
        links=[hostile],
        policies={hostile: "bits"},
        raises={"class": "", "match": hostile},
        path_=path("inductor", backend="eager", environment={"HOSTILE": hostile}),
    )
    text = render(message)
    of_case = text.split("\n# From here on")[0] + text.split("\nCASE = ")[1]
    assert of_case.isascii()
    done = execute(text, tmp_path, script_environment)
    assert done.returncode == 125 and "cannot tell: Python may read" in done.stderr, (
        done.stdout + done.stderr
    )
    for wrong in ({"policies": {"y": hostile}}, {"strides": hostile}, {"raises": hostile}):
        assert hostile not in render(request(tmp_path, **wrong), status=3)
    program["steps"][0]["let"] = ["y\nimport os"]
    assert "is not a name" in render(request(tmp_path, program), status=3)


def test_everything_of_a_program_comes_along(tmp_path, script_environment):
    """Mutated, strided and large inputs, numbers, literals, gradients, contexts, two calls,
    prepare."""
    program = {
        "inputs": ["p", "x", "x2", "n", "big"],
        "outputs": ["y", "z"],
        "context": {"deterministic_algorithms": True},
        "backward": {"of": ["z"], "with": "ones"},
        "steps": [
            {"let": ["t"], "tensor": view(2, [2])},
            {"let": [], "op": "aten::add_.Tensor", "args": [{"ref": "x2"}, {"ref": "t"}]},
            {"let": ["y"], "op": "aten::mul.Tensor", "args": [{"ref": "x"}, {"ref": "n"}]},
            {"let": ["q"], "op": "aten::mul.Tensor", "args": [{"ref": "p"}, {"ref": "p"}]},
            {"let": ["r"], "op": "aten::sum.default", "args": [{"ref": "big"}]},
            {"let": ["z"], "op": "aten::add.Tensor", "args": [{"ref": "q"}, {"ref": "r"}]},
        ],
    }
    prepare = {
        "program": {
            "inputs": [],
            "outputs": ["p"],
            "context": {},
            "backward": None,
            "steps": [{"let": ["p"], "op": "aten::randn.default", "args": [[3]]}],
        },
        "storages": [],
        "calls": [{"inputs": {}}],
        "seed": 42,
        "requires_grad": ["p"],
    }
    call = {
        "x": view(0, [4, 5], [1, 4]),
        "x2": view(3, [2], [2], offset=1),
        "n": {"float": "-inf"},
        "big": view(1, [70, 70]),
    }
    storages = (
        SEVENTHS,
        pack(list(range(4900)), "f"),
        pack([float("nan"), -0.0], "f"),
        pack([1, 2, 3, 4], "f"),
    )
    text = render(
        request(
            tmp_path,
            program,
            [call, {**call, "n": 3}],
            storages,
            prepare=prepare,
            path_=path("aot_eager"),
        )
    )
    assert "0x3e124925" in text and "packed(" in text
    assert "**prepared(program_prepare, {}, [], ['p'], 42, 'cpu', ['p'])" in text
    done = execute(text, tmp_path, script_environment)
    assert done.returncode == 0, done.stdout + done.stderr
    # What runs is what the worker runs, to the bit.
    check = (
        "import repro, torch; a = repro.inputs(0)['x']; b = repro.inputs(0)['big'];"
        "assert a.stride() == (1, 4) and b.sum() == 4899 * 4900 / 2;"
        f"assert bytes(a.t().contiguous().view(torch.uint8).flatten().tolist()) == {SEVENTHS!r}"
    )
    done = subprocess.run(
        [sys.executable, "-c", check],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=script_environment,
    )
    assert done.returncode == 0, done.stderr


def test_every_bit_of_every_width_survives(tmp_path, script_environment):
    shapes = {
        "float16": ("e", 2),
        "bfloat16": ("e", 2),
        "float64": ("d", 8),
        "int64": ("q", 8),
        "bool": ("?", 1),
        "complex64": ("d", 8),
        "float8_e4m3fn": ("b", 1),
    }
    names = list(shapes)
    program: dict = {
        "inputs": names,
        "outputs": ["y0"],
        "context": {},
        "backward": None,
        "steps": [{"let": ["y0"], "op": "aten::clone.default", "args": [{"ref": "float16"}]}],
    }
    data = [
        bytes(
            (17 * i + k) % 2 if name == "bool" else (201 * i + 7 * k) % 256
            for i in range(3 * width)
        )
        for k, (name, (_, width)) in enumerate(shapes.items())
    ]
    call = {name: view(k, [3], dtype=name) for k, name in enumerate(names)}
    (tmp_path / "repro.py").write_text(
        render(request(tmp_path, program, [call], data, path_=path("eager")))
    )
    check = (
        "import repro, torch, json; x = repro.inputs(0); flat = torch.empty(0, dtype=torch.uint8);"
        "print(json.dumps([bytes(flat.set_(v.untyped_storage()).tolist()).hex() "
        "for v in x.values()]))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", check],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=script_environment,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [each.hex() for each in data]


@pytest.mark.parametrize(
    "width, count, text",
    [
        (2, 65536, "range(65536)"),
        (2, 1000, "range(1000)"),
        (1, 256, "range(256)"),
        (1, 1024, "[*range(256)] * 4"),
        (1, 300, ""),
        (2, 64, ""),
        (4, 1000, ""),
    ],
)
def test_a_storage_of_every_pattern_is_written_as_a_range(width, count, text):
    data = b"".join((k % 256**width).to_bytes(width, "little") for k in range(count))
    assert counting_text(data, width) == text
    assert counting_text(data[:-1] + bytes([data[-1] ^ 1]), width) == "", "one bit flipped"
    if text:
        assert b"".join(number.to_bytes(width, "little") for number in eval(text)) == data


def test_quantized_tensors_are_written_with_their_scales(tmp_path, script_environment):
    program: dict = {
        "inputs": ["a", "b"],
        "outputs": ["x", "b", "y"],
        "context": {},
        "backward": None,
        "steps": [
            {"let": ["x"], "op": "aten::dequantize.self", "args": [{"ref": "a"}]},
            {"let": ["y"], "op": "aten::dequantize.self", "args": [{"ref": "b"}]},
        ],
    }
    scales = [{"float": (0.5).hex()}, {"float": (2.0).hex()}]
    call = {
        "a": {
            **view(0, [4], [1], dtype="qint8"),
            "quantizer": {"scheme": "per_tensor_affine", "scales": scales[:1], "zero_points": [-1]},
        },
        "b": {
            **view(1, [2, 2], [2, 1], dtype="quint8"),
            "quantizer": {
                "scheme": "per_channel_affine",
                "scales": scales,
                "zero_points": [3, 0],
                "axis": 0,
            },
        },
    }
    text = render(
        request(
            tmp_path,
            program,
            [call],
            [bytes([0x80, 0xFF, 0, 0x7F]), bytes([0, 1, 2, 3])],
            path("aot_eager"),
        )
    )
    check = (
        "import repro; seen = repro.execute(repro.CASE, repro.program, [0]).runs[0][0];"
        "print([seen[name].numbers.flatten().tolist() for name in 'xy']);"
        "print(seen['b'].about['quantizer'][2], seen['b'].numbers.flatten().tolist())"
    )
    done = execute(text, tmp_path, script_environment, ["-c", check])
    assert done.stdout.splitlines() == [
        "[[-63.5, 0.0, 0.5, 64.0], [-1.5, -1.0, 4.0, 6.0]]",
        "0 [0, 1, 2, 3]",
    ], done.stdout + done.stderr


def test_the_modules_of_a_script_fit_into_one_file():
    """They import the standard library and torch only, and no two define the same name, nor one of
    a program."""
    defined: dict = {}
    imported: dict = {}
    for name in MODULES:
        for each in module(name).definitions:
            for found in each.names:
                owner = defined.setdefault(found, name)
                assert owner == name, f"{found} in {name} and {owner}"
        for line, bound in module(name).imports.items():
            assert line.split()[1].split(".")[0] in {*sys.stdlib_module_names, "torch"}, line
            one = imported.setdefault(bound, line)
            assert one == line or bound == "torch", f"{bound} means {one} and {line}"
    made = set("""CASE test_fn configured program inputs literals call compiled""".split())
    assert not made & set(defined) and not [
        name for name in defined if name.rstrip("_") == "literal"
    ]


def test_a_script_has_only_what_its_case_needs():
    """`bits` needs no gold; what is taken has all that it uses."""
    imports, short = chosen("CASE = Case(rules=bits, proof=was_compiled)\n")
    whole = "\n".join(short)
    assert "class Steps" not in whole and "def close" not in whole and "class Exported" not in whole
    _, golds = chosen("CASE = Case(rules=no_worse, golds=golds, proof=was_compiled)\n")
    assert "class Steps" in "\n".join(golds) and "import math" in imports
    judge = pathlib.Path(HERE, "lockstep_worker", "repro", "script").glob("*.py")
    assert sum(len(each.read_text("utf-8").splitlines()) for each in judge) <= 500


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
#: Runs each script in a fork, so that torch is imported once; prints what each said and its exit
#: status.
DRIVER = """
import os
os.dup2(1, 2)
import json, os, runpy, sys, torch, torch._dynamo, torch._inductor.config
torch.compile(lambda x: x + 1, backend="eager")(torch.ones(1))  # imports what they all need
for script in sys.argv[1:]:
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        sys.argv = [script]
        try:
            runpy.run_path(script, run_name="__main__")
        except SystemExit as end:
            sys.stdout.flush()
            os._exit(end.code)
        os._exit(99)
    print("status", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
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
    expected: list = []
    scripts: list = []
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
        scripts.append(str(tmp_path / f"script{len(scripts)}.py"))
        (tmp_path / scripts[-1]).write_text(text)
        expected.append((policy, perturb, status, words))
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, *scripts],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        env={**script_environment, "PYTHONPATH": str(tmp_path)},
    )
    said = re.findall(r"(.*?)^status (-?\d+)$", done.stdout, re.DOTALL | re.MULTILINE)
    assert len(said) == len(expected), done.stdout + done.stderr
    wrong = [
        (case, text, status)
        for case, (text, status) in zip(expected, said, strict=True)
        if int(status) != case[2] or case[3] not in text
    ]
    assert not wrong, "\n".join(map(str, wrong)) + done.stderr


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
    done = execute(text, tmp_path, script_environment)
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
