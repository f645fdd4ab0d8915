"""Thirty programs, each with a call of a public function and with the operator that it makes: under
one policy both have the same verdict, since golds are made for either."""

import json
import os
import pathlib
import subprocess

import pytest

#: Name → dtype, shapes of inputs, the call, the operator. Inputs are a, b, c; `d` is the dtype.
BUILT = {
    "layer_norm": (
        "bfloat16",
        [[8, 64]],
        ("layer_norm", ["%a", [64]]),
        ("layer_norm", ["%a", [64]]),
    ),
    "gelu": ("bfloat16", [[64, 32]], ("gelu", ["%a"]), ("gelu", ["%a"])),
    "gelu_tanh": (
        "float16",
        [[64, 32]],
        ("gelu", ["%a"], {"approximate": "tanh"}),
        ("gelu", ["%a"], {"approximate": "tanh"}),
    ),
    "softmax": ("bfloat16", [[8, 50]], ("softmax", ["%a"], {"dim": 1}), ("softmax.int", ["%a", 1])),
    "log_softmax": (
        "float16",
        [[8, 50]],
        ("log_softmax", ["%a"], {"dim": 1}),
        ("log_softmax.int", ["%a", 1]),
    ),
    "linear": (
        "bfloat16",
        [[16, 64], [32, 64], [32]],
        ("linear", ["%a", "%b", "%c"]),
        ("linear", ["%a", "%b", "%c"]),
    ),
    "attention": (
        "float32",
        [[2, 4, 16, 8]] * 3,
        ("scaled_dot_product_attention", ["%a", "%b", "%c"]),
        ("scaled_dot_product_attention", ["%a", "%b", "%c"]),
    ),
    "conv2d": (
        "float32",
        [[1, 3, 9, 9], [4, 3, 3, 3], [4]],
        ("conv2d", ["%a", "%b", "%c"]),
        ("conv2d", ["%a", "%b", "%c"]),
    ),
    "interpolate": (
        "float32",
        [[1, 3, 7, 7]],
        ("interpolate", ["%a"], {"size": [5, 9], "mode": "bilinear"}),
        ("upsample_bilinear2d.vec", ["%a", [5, 9], False, None]),
    ),
    "pad": (
        "float16",
        [[2, 3, 5]],
        ("pad", ["%a", [1, 2]], {"mode": "reflect"}),
        ("reflection_pad1d", ["%a", [1, 2]]),
    ),
    "silu": ("bfloat16", [[64, 32]], ("silu", ["%a"]), ("silu", ["%a"])),
    "mish": ("float16", [[64, 32]], ("mish", ["%a"]), ("mish", ["%a"])),
    "group_norm": ("bfloat16", [[2, 8, 10]], ("group_norm", ["%a", 4]), ("group_norm", ["%a", 4])),
    "avg_pool2d": (
        "bfloat16",
        [[1, 2, 8, 8]],
        ("avg_pool2d", ["%a", 3], {"stride": 2}),
        ("avg_pool2d", ["%a", [3], [2]]),
    ),
    "mse_loss": ("float16", [[20, 30]] * 2, ("mse_loss", ["%a", "%b"]), ("mse_loss", ["%a", "%b"])),
    "cosine_similarity": (
        "bfloat16",
        [[20, 30]] * 2,
        ("cosine_similarity", ["%a", "%b"]),
        ("cosine_similarity", ["%a", "%b"]),
    ),
    "einsum": (
        "bfloat16",
        [[4, 5, 6], [4, 6, 7]],
        ("torch.einsum", ["bij,bjk->bik", ["%a", "%b"]]),
        ("einsum", ["bij,bjk->bik", ["%a", "%b"]]),
    ),
    "addmm": (
        "float16",
        [[16, 8], [16, 32], [32, 8]],
        ("torch.addmm", ["%a", "%b", "%c"]),
        ("addmm", ["%a", "%b", "%c"]),
    ),
    "logsumexp": (
        "bfloat16",
        [[8, 100]],
        ("torch.logsumexp", ["%a", 1]),
        ("logsumexp", ["%a", [1]]),
    ),
    "cumsum": ("bfloat16", [[4, 200]], ("torch.cumsum", ["%a", 1]), ("cumsum", ["%a", 1])),
}
HELD_OUT = {
    "rms_norm": ("bfloat16", [[8, 64]], ("rms_norm", ["%a", [64]]), ("rms_norm", ["%a", [64]])),
    "softplus": ("float16", [[64, 32]], ("softplus", ["%a"]), ("softplus", ["%a"])),
    "conv1d": (
        "float32",
        [[2, 3, 20], [4, 3, 5]],
        ("conv1d", ["%a", "%b"], {"padding": 2}),
        ("conv1d", ["%a", "%b", None, [1], [2]]),
    ),
    "instance_norm": (
        "float32",
        [[2, 4, 30]],
        ("instance_norm", ["%a"]),
        ("instance_norm", ["%a", None, None, None, None, True, 0.1, 1e-05, True]),
    ),
    "smooth_l1": (
        "bfloat16",
        [[20, 30]] * 2,
        ("smooth_l1_loss", ["%a", "%b"]),
        ("smooth_l1_loss", ["%a", "%b"]),
    ),
    "normalize": (
        "float16",
        [[8, 40]],
        ("torch.nn.functional.pairwise_distance", ["%a", "%a"]),
        ("pairwise_distance", ["%a", "%a"]),
    ),
    "bilinear": (
        "float32",
        [[6, 5], [6, 7], [4, 5, 7]],
        ("bilinear", ["%a", "%b", "%c"]),
        ("bilinear", ["%a", "%b", "%c"]),
    ),
    "var": ("bfloat16", [[8, 100]], ("torch.var", ["%a", 1]), ("var.dim", ["%a", [1]])),
    "tensordot": (
        "bfloat16",
        [[6, 20], [20, 7]],
        ("torch.matmul", ["%a", "%b"]),
        ("matmul", ["%a", "%b"]),
    ),
    "softsign_of_sigmoid": (
        "bfloat16",
        [[64, 32]],
        ("logsigmoid", ["%a"]),
        ("log_sigmoid", ["%a"]),
    ),
}


def binary():
    """The build that is tested."""
    found = os.environ.get("LOCKSTEP_BINARY_DIR")
    if not found or not pathlib.Path(found, "bin", "lockstep-eager").is_file():
        pytest.skip("needs a build with torch")
    return found


def case(name, dtype, shapes, spelled, is_call):
    """A case file of one step, whose gradient is asked for, too, of floats of 32 bits."""
    function, args, kwargs = (*spelled, {})[:3]
    if is_call and not function.startswith("torch."):
        function = "torch.nn.functional." + function
    inputs = {
        "abc"[at]: {
            "dtype": dtype,
            "shape": shape,
            "fill": {"normal": {}, "seed": at + 1},
            "requires_grad": dtype == "float32",
        }
        for at, shape in enumerate(shapes)
    }
    step = {"let": "y", "call" if is_call else "op": function, "args": args, "kwargs": kwargs}
    backward = {"backward": {"of": ["y"]}} if dtype == "float32" else {}
    return {
        "format": 1,
        "title": f"{name} by {'a call' if is_call else 'an operator'}",
        "inputs": inputs,
        "steps": [step],
        "outputs": ["y"],
        **backward,
        "compare": {"y": "no_worse(1)"},
    }


def verdicts(folder, programs):
    """What one run says of each program in both spellings: name → (status, policy's reason)."""
    files = []
    for name, (dtype, shapes, call, op) in programs.items():
        for kind, spelled in (("call", call), ("op", op)):
            files.append(folder / f"{name}-{kind}.json")
            made = case(name, dtype, shapes, spelled, kind == "call")
            files[-1].write_text(json.dumps(made), encoding="utf-8")
    command = [f"{binary()}/bin/lockstep", "run", *map(str, files), "--path", "inductor"]
    done = subprocess.run(
        [*command, "--out", str(folder / "run"), "-j", "1"],
        capture_output=True,
        text=True,
        timeout=1500,
    )
    found = {}
    for line in (folder / "run" / "run.jsonl").read_text("utf-8").splitlines():
        verdict = json.loads(line)
        if verdict.get("status") and "id" in verdict:
            found[verdict["id"].split("@")[0].rpartition("/")[2]] = verdict
    assert len(found) == len(files), done.stdout[-3000:] + done.stderr[-3000:]
    return found


def told(verdict):
    """What both spellings have to share."""
    outputs = verdict.get("outputs", [])
    return verdict["status"], [(o["name"], o.get("status"), o.get("grade")) for o in outputs]


@pytest.mark.parametrize("programs", [BUILT, HELD_OUT], ids=["built", "held out"])
def test_a_call_and_its_operator_have_one_verdict(tmp_path, programs):
    found = verdicts(tmp_path, programs)
    other = {
        name: (found[f"{name}-call"].get("reason"), found[f"{name}-op"].get("reason"))
        for name in programs
        if told(found[f"{name}-call"]) != told(found[f"{name}-op"])
    }
    assert not other
    with_gold = {key for key, each in found.items() if any(o.get("gold") for o in each["outputs"])}
    calls, operators = (
        {key.rpartition("-")[0] for key in with_gold if key.endswith(kind)}
        for kind in ("call", "op")
    )
    assert calls == operators and calls
    # C++ executes the operators of a call to the bits of the call.
    apart = [
        name
        for name in programs
        if found[f"{name}-call"]["eager_digest"] != found[f"{name}-op"]["eager_digest"]
    ]
    assert not apart


def test_what_has_no_golds_says_why(tmp_path):
    """`dropout` draws numbers, so that nothing is lowered; the verdict has the reason."""
    shapes = [[2000]]
    spelled = "dropout", ["%a", 0.5]
    file = tmp_path / "drawn.json"
    made = case("drawn", "bfloat16", shapes, spelled, is_call=True)
    made["steps"] += [{"let": "z", "op": "exp", "args": ["%y"]}]
    made["outputs"], made["compare"] = ["z"], {"z": "no_worse(0.0001)"}
    file.write_text(json.dumps(made), encoding="utf-8")
    command = [f"{binary()}/bin/lockstep", "run", str(file), "--path", "inductor"]
    wrong = ["--path-file", str(tmp_path / "wrong.json"), "--path", "wrong"]
    (tmp_path / "wrong.json").write_text(
        json.dumps(
            {
                "format": 2,
                "title": "Inductor with random numbers of its own",
                "name": "wrong",
                "worker": "compiled",
                "backend": "inductor",
                "contract": "values",
                "config": {"torch._inductor.config.fallback_random": False},
            }
        ),
        encoding="utf-8",
    )
    done = subprocess.run(
        [*command, *wrong, "--out", str(tmp_path / "run"), "-j", "1"],
        capture_output=True,
        text=True,
        timeout=600,
    )
    why = "`torch.nn.functional.dropout` has no operators in its place: it draws random numbers"
    assert why in done.stdout, done.stdout + done.stderr
