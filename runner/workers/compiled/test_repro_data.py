"""What a reproducer has of its case: every value to the bit, every part of the program, and nothing
else that is executed."""

import json
import pathlib
import subprocess
import sys

import pytest
from reproducers import SEVENTHS, execute, python, render, request

from conversation import HERE, pack, path, view
from lockstep_worker.repro.definitions import MODULES, chosen, module
from lockstep_worker.repro.part import counting_text


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
    done = python(tmp_path, script_environment, "-c", check)
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
    (tmp_path / "repro.py").write_text(text)
    done = python(tmp_path, script_environment, "-c", check)
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
