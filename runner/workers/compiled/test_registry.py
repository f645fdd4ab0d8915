"""Every overload's Python spelling against its schema: what the dispatcher is handed when the
binding is called, and when the overload itself is, must be the same. No kernel runs, so shapes do
not matter."""

import collections
import warnings

import pytest
import torch
from torch._dispatch.python import enable_python_dispatcher

from lockstep_worker import spelling
from lockstep_worker.problems import Unsupported
from lockstep_worker.spelling import Argument, bindings, resolve, spell

#: Which overload a binding reaches instead of the one that was meant, and why that is the same: the
#: arguments decide, and these say the same of both.
ANOTHER = {
    "a number is wrapped into a tensor": {
        f"{name}{place}.{overload}": f"{name}{place}.{reached}"
        for name, overload, reached in [
            *(
                (name, "Scalar", "Tensor")
                for name in "add sub subtract mul multiply div divide true_divide".split()
            ),
            *((name, "Scalar_mode", "Tensor_mode") for name in ("div", "divide")),
        ]
        for place in ("", "_")
    },
    "a number is wrapped into a tensor, by another name": {
        "floor_divide.Scalar": "floor_divide.default",
        "floor_divide_.Scalar": "floor_divide_.Tensor",
    },
    "no dim, no bound, no tolerance: all of them mean so": {
        **{
            f"{name}.{a}": f"{name}.{b}"
            for name in ("all", "any")
            for a, b in [("dims", "default"), ("dims_out", "all_out")]
        },
        **{
            f"{name}.{a}": f"{name}.{b}"
            for name in ("clamp", "clip")
            for a, b in [("default", "Tensor"), ("out", "Tensor_out")]
        },
        "clamp_.default": "clamp_.Tensor",
        "clip_.default": "clip_.Tensor",
        **{
            f"linalg_{name}.atol_rtol_float{out}": f"linalg_{name}.atol_rtol_tensor{out}"
            for name in ("pinv", "matrix_rank")
            for out in ("", "_out")
        },
    },
    "unbiased is a correction of one": {
        f"{name}.default": f"{name}.correction" for name in ("std", "var", "std_mean", "var_mean")
    },
    "a step of one": {
        "arange.start_step": "arange.start",
        "range.default": "range.step",
        "range.out_": "range.out",
    },
    "a padding of nothing": {f"conv{n}d.padding": f"conv{n}d.default" for n in (1, 2, 3)},
    "the device and the dtype of a tensor": {"to.other": "to.device"},
}
#: What a binding made by hand does before it calls the overload.
CONVERTS = frozenset(
    f"sparse_{kind}_tensor" for kind in ("coo", "csr", "csc", "bsr", "bsc", "compressed")
)
#: What is left out means the same as one of these.
OPTIONS = {
    "dtype": (torch.float32,),
    "layout": (torch.strided, torch.sparse_coo),
    "device": (torch.device("cpu"),),
    "pin_memory": (False,),
}
#: By what two overloads of `ANOTHER` differ, though they say the same.
SAID_OTHERWISE = {
    "to.other": {"dtype", "device"},
    **{f"conv{n}d.padding": {"padding"} for n in (1, 2, 3)},
}


class Reached(Exception):
    """The dispatcher was handed a call: nothing below it shall run."""


@pytest.fixture(scope="module")
def reach():
    """A function that says what the dispatcher is handed by an expression: the overload and all of
    its arguments, or None where it is handed nothing."""
    seen = []

    def instead(op, key):
        def record(*args, **kwargs):
            seen.append((op, args, kwargs))
            raise Reached

        return record

    def reach(text, scope):
        seen.clear()
        with enable_python_dispatcher():
            try:
                eval(text, scope)
            except Reached:
                pass
        if not seen:
            return None
        op, args, kwargs = seen[0]
        given = dict(zip((a.name for a in op._schema.arguments), args)) | kwargs
        return op, {a.name: given.get(a.name, a.default_value) for a in op._schema.arguments}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch._ops.OpOverload, "_get_dispatch", instead)
        for op in overloads():
            op._dispatch_cache.clear()
        yield reach


def overloads():
    """Every overload of aten that the worker executes."""
    for name in sorted(torch._C._dispatch_get_all_op_names()):
        if name.startswith("aten::"):
            try:
                yield resolve(name if "." in name else f"{name}.default")
            except Unsupported:
                pass


def name_of(op):
    return str(op).removeprefix("aten.")


def sample(i, declared, scope):
    """An argument for the place `i` that no other place gets, and that is no default; None where no
    case can give one."""
    kind = str(declared.real_type)
    while kind.startswith("Optional["):
        kind = kind[len("Optional[") : -1]
    size = declared.N or 2

    def tensor(j):
        scope[f"x{i}{j}"] = torch.ones(3, 3)
        return f"x{i}{j}"

    texts = {
        "Tensor": lambda: tensor(0),
        "List[Tensor]": lambda: f"[{tensor(0)}, {tensor(1)}]",
        "List[Optional[Tensor]]": lambda: f"[{tensor(0)}, None]",
        "str": lambda: f"'word{i}'",
        "int": lambda: str(40 + i if declared.default_value == i else i),
        "bool": lambda: str(not declared.default_value),
        "float": lambda: f"{i}.625",
        "number": lambda: f"{i}.375",
        "List[int]": lambda: str([40 + i + j for j in range(size)]),
        "List[float]": lambda: f"[{i}.5, {i}.25]",
        "List[bool]": lambda: str([bool((i + j) % 2) for j in range(size)]),
        "List[number]": lambda: f"[{i}.5, {i}]",
        "Device": lambda: "torch.device('meta')",
        "ScalarType": lambda: "torch.float64",
        "Layout": lambda: "torch.sparse_coo",
        "MemoryFormat": lambda: "torch.channels_last",
    }
    if kind not in texts:
        return None
    numbers = ("int", "float", "bool", "number")
    what = (
        "tensor"
        if kind == "Tensor"
        else "number"
        if kind in numbers
        else "gaps"
        if "Optional" in kind
        else "other"
    )
    return Argument(texts[kind](), what)


def given(op, mode, scope):
    """Arguments for a call: `defaults` leaves out what may be left out, `positional` and `named`
    give all. None where a type cannot be given."""
    args, kwargs = [], {}
    for i, declared in enumerate(op._schema.arguments):
        optional = declared.has_default_value()
        if optional and mode == "defaults":
            continue
        value = sample(i, declared, scope)
        if value is None:
            if not optional:
                return None
            if declared.kwarg_only or mode == "named":
                continue
            break
        if declared.kwarg_only or optional and mode == "named":
            kwargs[declared.name] = value
        else:
            args.append(value)
    return args, kwargs


def same(ours, theirs, name):
    if isinstance(ours, (list, tuple)) and isinstance(theirs, (list, tuple)):
        return len(ours) == len(theirs) and all(same(a, b, name) for a, b in zip(ours, theirs))
    if isinstance(ours, torch.Tensor) or isinstance(theirs, torch.Tensor):
        return ours is theirs
    if name in OPTIONS and ours != theirs and None in (ours, theirs):
        return (theirs if ours is None else ours) in OPTIONS[name]
    return ours == theirs and isinstance(ours, bool) == isinstance(theirs, bool)


def is_spelled(op):
    return (
        bool(bindings(op))
        or op._schema.name in spelling._SIZES
        or f"aten::{name_of(op)}" in spelling._SIZES
    )


def outcome(text, scope):
    try:
        return eval(text, dict(scope))
    except Exception as error:
        return type(error), str(error).splitlines()[0]


def difference(reach, op, mode):
    """Why the spelling is another call than the overload: None where it is not, else a reason and
    what is seen. Reasons without a text are known ones."""
    scope = {"torch": torch}
    arguments = given(op, mode, scope)
    if arguments is None:
        return "a type that no case can give", None
    text = spell(op, *arguments)
    if text.startswith("torch.ops."):
        return "written out", None
    scope["overload"] = op
    joined = spelling._join(*arguments)
    try:
        meant = reach(f"overload({joined})", scope)
        reached = reach(text, scope)
    except Exception as error:
        if "from=" in joined:
            return "a keyword of Python", None
        if " is missing value for argument 'out'" in str(error) and "torch.ops" not in text:
            return "the schema lets nobody leave its results out", None
        if (
            "retain_grad" in text
            or "pin_memory=True" in text
            and ("range(" in text or "sparse" in text)
        ):
            return "refused by a binding made by hand", None
        return "refused", f"{text}: {type(error).__name__}: {error}"
    if reached is None:
        one, other = outcome(text, scope), outcome(f"overload({joined})", scope)
        agree = (
            one is other
            or type(one) is type(other)
            and not isinstance(one, torch.Tensor)
            and one == other
        )
        return "never dispatched, same answer", None if agree else f"{text}: {one}, not {other}"
    if reached[0] is not op:
        for reason, pairs in ANOTHER.items():
            if pairs.get(name_of(op)) == name_of(reached[0]):
                shared = (reached[1].keys() & meant[1].keys()) - SAID_OTHERWISE.get(
                    name_of(op), set()
                )
                others = [
                    name for name in shared if not same(reached[1][name], meant[1][name], name)
                ]
                return reason, f"{text}: {others}" if others else None
        if (
            op._schema.name.removeprefix("aten::") in CONVERTS
            and name_of(reached[0]) == "to.device"
        ):
            return "converts first", None
        return "another overload", f"{text} reaches {reached[0]}"
    wrong = {
        name: (value, meant[1][name])
        for name, value in reached[1].items()
        if not same(value, meant[1][name], name)
    }
    return "same", f"{text}: {wrong}" if wrong else None


#: How many overloads of one mode a reason other than "same" holds at most: more of them is news.
KNOWN = {
    "a type that no case can give": 20,
    "written out": 12,
    "a keyword of Python": 2,
    "converts first": 12,
    "never dispatched, same answer": 24,
    "the schema lets nobody leave its results out": 1,
    "refused by a binding made by hand": 6,
    **{reason: len(pairs) for reason, pairs in ANOTHER.items()},
}


@pytest.mark.parametrize("mode", ["defaults", "positional", "named"])
def test_a_spelling_is_the_call_that_the_schema_means(reach, mode, record_property):
    counts: collections.Counter = collections.Counter()
    wrong = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for op in filter(is_spelled, overloads()):
            reason, fault = difference(reach, op, mode)
            counts[reason] += 1
            if fault:
                wrong.append((str(op), reason, fault))
    for reason, count in counts.items():
        record_property(f"{mode}: {reason}", count)
    assert not wrong, f"{len(wrong)}:\n" + "\n".join(map(str, wrong[:40]))
    assert counts["same"] > 2000
    assert {
        reason: count
        for reason, count in counts.items()
        if reason != "same" and count > KNOWN.get(reason, 0)
    } == {}
