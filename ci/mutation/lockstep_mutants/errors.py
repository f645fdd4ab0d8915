"""Errors that eager raises and the backend does not, and the other way round."""

import torch

from .registry import call, compiler, op

T = torch.Tensor


def _bounded(index, size):
    return index.clamp(-size, size - 1)


@op("errors", "index.Tensor")
def index_is_not_checked(op, x, indices):
    """An index out of range takes the last element."""
    return op(
        x,
        [
            each if each is None or each.dtype == torch.bool else _bounded(each, x.shape[dim])
            for dim, each in enumerate(indices)
        ],
    )


@op("errors", "index_put", "index_put_")
def index_of_a_put_is_not_checked(op, x, indices, *rest):
    """An index out of range writes to the last element."""
    return op(
        x,
        [
            each if each is None or each.dtype == torch.bool else _bounded(each, x.shape[dim])
            for dim, each in enumerate(indices)
        ],
        *rest,
    )


@op("errors", "gather")
def index_of_gather_is_not_checked(op, x, dim, index, **more):
    """An index out of range takes the first or the last element."""
    return op(x, dim, index.clamp(0, x.shape[dim] - 1), **more)


@op("errors", "scatter.src", "scatter_add", "scatter.value", "scatter_reduce.two")
def index_of_scatter_is_not_checked(op, x, dim, index, *rest, **more):
    """An index out of range writes to the first or the last element."""
    return op(x, dim, index.clamp(0, x.shape[dim] - 1), *rest, **more)


@op("errors", "index_select", "index_add")
def index_of_a_row_is_not_checked(op, x, dim, index, *rest, **more):
    """An index out of range is the first or the last row."""
    return op(x, dim, index.clamp(0, x.shape[dim] - 1), *rest, **more)


@op("errors", "embedding")
def word_is_not_checked(op, weight, indices, *rest):
    """A word that the table lacks is its last."""
    return op(weight, indices.clamp(0, weight.shape[0] - 1), *rest)


@op("errors", "nll_loss_forward", "nll_loss2d_forward")
def target_is_not_checked(op, x, target, weight, reduction, ignore):
    """A class that there is not is the last one."""
    return op(
        x,
        torch.where(
            target == ignore, target, target.clamp(0, x.shape[1 if x.dim() > 1 else 0] - 1)
        ),
        weight,
        reduction,
        ignore,
    )


@op(
    "errors",
    *"""
        div.Tensor_mode floor_divide remainder.Tensor fmod.Tensor div.Scalar_mode remainder.Scalar
    """.split(),
)
def integer_division_by_zero_is_zero(op, x, y, **more):
    """Instead of an error, 0."""
    if (
        not isinstance(y, T)
        or not isinstance(x, T)
        or y.is_floating_point()
        or x.is_floating_point()
    ):
        return None
    return torch.where(y == 0, 0, op(x, torch.where(y == 0, 1, y), **more))


@op(
    "errors",
    "_linalg_check_errors",
    "_assert_async",
    "_assert_async.msg",
    "_assert_scalar",
    "_assert_tensor_metadata",
)
def assertions_are_dropped(op, *args, **more):
    """Whatever was to be checked is passed."""
    return ()


@op(
    "errors",
    "normal_functional",
    "normal.Tensor_float",
    "normal.float_Tensor",
    "normal.Tensor_Tensor",
    "normal",
)
def negative_deviation_is_accepted(op, *args, **more):
    """The deviation is taken by its amount."""
    at = 2 if "functional" in op._schema.name else 1
    return op(
        *(
            abs(each) if i == at and not isinstance(each, T) else each.abs() if i == at else each
            for i, each in enumerate(args)
        ),
        **more,
    )


@op("errors", "bernoulli", "bernoulli.p", "bernoulli.Tensor")
def probability_is_not_checked(op, x, *p, **more):
    """A probability beyond 0 and 1 is the next of the two."""
    return (
        op(*([x.clamp(0, 1)] if not p else [x, min(max(p[0], 0.0), 1.0)]), **more)
        if not p or not isinstance(p[0], T)
        else op(x, p[0].clamp(0, 1), **more)
    )


@op("errors", "multinomial")
def weights_are_not_checked(op, x, *rest, **more):
    """Weights that are negative or all zero are accepted."""
    return op(x.nan_to_num().clamp(min=1e-9), *rest, **more)


@op(
    "errors",
    "_cdist_forward",
    "linalg_cholesky_ex",
    "linalg_inv_ex",
    "_linalg_solve_ex",
    "linalg_lu_factor_ex",
)
def singular_is_accepted(op, *args, **more):
    """A matrix that has no factors is said to have some."""
    right = op(*args, **more)
    return (
        (*right[:-1], torch.zeros_like(right[-1]))
        if isinstance(right, tuple) and right[-1].dtype == torch.int32
        else None
    )


@op(
    "errors",
    *"""
        index.Tensor embedding gather scatter_add index_select div.Tensor_mode _linalg_check_errors
        _assert_async.msg index_put nll_loss_forward multinomial bernoulli.p pow.Tensor_Scalar
    """.split(),
)
def errors_have_another_class(op, *args, **more):
    """Whatever an operator raises is an ArithmeticError."""
    try:
        right = op(*args, **more)
    except Exception as error:
        raise ArithmeticError(str(error)) from None
    return () if right is None else right


@call("errors", needs=("raises",))
def errors_become_zeros(run, inputs):
    """What raises returns zeros."""
    try:
        return run(*inputs)
    except Exception:
        return [torch.zeros(1)] * 8


@call("errors", needs=("raises",))
def errors_have_another_message(run, inputs):
    """An error says nothing of what was wrong."""
    try:
        return run(*inputs)
    except Exception as error:
        raise type(error)("kernel failed") from None


@call("errors", needs=("raises",))
def errors_are_raised_as_memory_errors(run, inputs):
    """The status of a kernel is mapped to the wrong exception."""
    try:
        return run(*inputs)
    except Exception:
        raise MemoryError("status 2") from None


@call("errors", needs=("tensors",))
def every_second_call_fails(run, inputs):
    """A handle is closed after the first call."""
    global _CALLS
    _CALLS += 1
    if _CALLS % 2 == 0:
        raise RuntimeError("invalid resource handle")
    return run(*inputs)


_CALLS = 0


@call("errors", needs=("strided",))
def strided_inputs_are_refused(run, inputs):
    """Inputs must be contiguous."""
    if any(isinstance(each, T) and not each.is_contiguous() for each in inputs):
        raise ValueError("expected a contiguous tensor")
    return run(*inputs)


@call("errors", needs=("empty",))
def empty_inputs_are_refused(run, inputs):
    """A grid of no blocks cannot be launched."""
    if any(isinstance(each, T) and each.numel() == 0 for each in inputs):
        raise RuntimeError("invalid configuration argument")
    return run(*inputs)


@call("errors", needs=("scalars",))
def scalars_are_refused(run, inputs):
    """A tensor without dimensions cannot be an input."""
    if any(isinstance(each, T) and each.dim() == 0 for each in inputs):
        raise IndexError("dimension specified as 0 but tensor has no dimensions")
    return run(*inputs)


@call("errors", needs=("nan",))
def nan_is_refused(run, inputs):
    """Inputs must be finite."""
    if any(
        isinstance(each, T) and each.is_floating_point() and not each.isfinite().all()
        for each in inputs
    ):
        raise FloatingPointError("NaN in an input")
    return run(*inputs)


@compiler("errors")
def compiler_asserts(graph, examples, compile):
    """The compiler's own assertion about graphs of three operators and more."""
    assert sum(node.op in ("call_function", "call_method") for node in graph.graph.nodes) < 3, (
        "scheduler: unreachable"
    )
    return compile(graph, examples)


@compiler("errors", needs=("recompiles",))
def recompilation_fails(graph, examples, compile):
    """A second compilation of the process finds what the first one left."""
    global _COMPILED
    _COMPILED += 1
    if _COMPILED > 1:
        raise KeyError("buf0")
    return compile(graph, examples)


_COMPILED = 0
