"""What no verdict can do without: whether a program was compiled, and what it left behind."""

from typing import Any

from ..compat import dynamo, operators, tensors
from .trial import Trial, compiled, expect, two_steps, untraced


def _graphs() -> None:
    import torch

    proof = compiled(two_steps, 3)
    for key, expected in {
        "graphs": 1,
        "operators": 2,
        "frames": 1,
        "frames_skipped": 0,
        "breaks": [],
        "recompiles": 0,
        "recompile_limit": False,
    }.items():
        expect(f"{key} of a program of two operators", proof[key], expected)
    with torch.compiler.set_stance("force_eager"):
        proof = compiled(two_steps, 3)
    expect(
        "graphs, operators and frames of a program that ran eagerly",
        [proof[key] for key in ("graphs", "operators", "frames")],
        [0, 0, 0],
    )


def _nothing() -> None:
    proof = compiled(lambda x: (x,), 3)
    expect(
        "graphs, operators, frames and skipped frames of a program without an operator",
        [proof[key] for key in ("graphs", "operators", "frames", "frames_skipped")],
        [0, 0, 1, 0],
    )


def _breaks() -> None:
    import torch

    leave = untraced()

    def unbreakable(x: Any) -> Any:
        try:  # Dynamo gives the whole function up
            with torch.no_grad():
                leave(x)
                return x + 1
        finally:
            pass

    proof = compiled(lambda x: leave(x.relu()) + 1, 3, fullgraph=False)
    expect(
        "graphs and breaks of a program in two parts",
        [proof["graphs"], len(proof["breaks"])],
        [2, 1],
    )
    proof = compiled(unbreakable, 3, fullgraph=False)
    expect(
        "graphs and skipped frames of a program that is not traced",
        [proof["graphs"], proof["frames_skipped"]],
        [0, 1],
    )


def _recompile_limit() -> None:
    with dynamo.recompile_limit(1):
        proof = compiled(two_steps, 3, 4, fullgraph=False)
    expect("a function past the recompile limit", proof["recompile_limit"], True)
    proof = compiled(two_steps, 3, 4, fullgraph=False)
    expect(
        "a function within the recompile limit",
        [proof["recompile_limit"], proof["recompiles"]],
        [False, 1],
    )


def _operators() -> None:
    from ..spelling import resolve

    declared = operators.schema(resolve("aten::sum.dim_IntList"))
    expect(
        "the arguments of aten::sum.dim_IntList",
        [a.name for a in declared.arguments],
        ["self", "dim", "keepdim", "dtype"],
    )
    expect(
        "which of them is a tensor",
        [operators.is_tensor(a) for a in declared.arguments],
        [True, False, False, False],
    )
    expect("an operator that there is not", operators.overload("aten", "nope", "default"), None)


def _storages() -> None:
    import torch

    x, empty = torch.ones(3), torch.ones(0)
    of = [
        tensors.identity(t.untyped_storage()) for t in (x, x[1:], x.clone(), empty, torch.ones(0))
    ]
    expect("a view's storage and its tensor's are one", of[0] == of[1], True)
    expect("different storages", len(set(of)), 4)


NEEDED = (
    Trial("graphs", "whether a program was compiled cannot be told", _graphs),
    Trial(
        "empty programs",
        "a program with nothing to compile is not told from one that was not compiled",
        _nothing,
    ),
    Trial(
        "graph breaks",
        "a program that was compiled in parts is not told from one that was compiled whole",
        _breaks,
    ),
    Trial(
        "recompile limit",
        "a program that ran eagerly past it is not told from a compiled one",
        _recompile_limit,
    ),
    Trial("operators", "no operator can be looked up", _operators),
    Trial("storages", "which results share memory cannot be told", _storages),
)
