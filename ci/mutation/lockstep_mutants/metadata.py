"""Right numbers in a wrong tensor: strides, dtypes, shapes, flags, and numbers of Python."""

import torch

from .registry import op, result

T = torch.Tensor
_WIDER = {
    torch.float16: torch.float32,
    torch.bfloat16: torch.float32,
    torch.float32: torch.float64,
    torch.int8: torch.int32,
    torch.uint8: torch.int32,
    torch.int16: torch.int32,
    torch.int32: torch.int64,
}


def _each(outputs, change):
    """`outputs` with `change` of each tensor, None where it changes none of them."""
    new = [change(each) if isinstance(each, T) else None for each in outputs]
    return (
        None
        if all(each is None for each in new)
        else [old if each is None else each for old, each in zip(outputs, new)]
    )


@result("metadata")
def outputs_are_contiguous(outputs, inputs):
    """Whatever strides eager gives."""
    return _each(outputs, lambda t: None if t.is_contiguous() else t.contiguous())


@result("metadata")
def outputs_are_columns_first(outputs, inputs):
    """Matrices are stored by columns."""
    return _each(
        outputs, lambda t: t.mT.contiguous().mT if t.dim() >= 2 and min(t.shape[-2:]) > 1 else None
    )


@result("metadata")
def channels_last_is_lost(outputs, inputs):
    """Images are contiguous, channels first."""
    return _each(
        outputs,
        lambda t: (
            t.contiguous()
            if t.dim() == 4
            and t.is_contiguous(memory_format=torch.channels_last)
            and not t.is_contiguous()
            else None
        ),
    )


@result("metadata")
def channels_last_for_all(outputs, inputs):
    """Images are channels last, though the program says nothing of it."""
    return _each(
        outputs,
        lambda t: (
            t.contiguous(memory_format=torch.channels_last)
            if t.dim() == 4 and min(t.shape[1], t.shape[2] * t.shape[3]) > 1
            else None
        ),
    )


@result("metadata")
def expanded_is_copied(outputs, inputs):
    """Strides of 0 are made real."""
    return _each(
        outputs,
        lambda t: (
            t.contiguous() if 0 in [s for n, s in zip(t.shape, t.stride()) if n > 1] else None
        ),
    )


@result("metadata")
def dtype_is_widened(outputs, inputs):
    """Results have the dtype of the accumulator."""
    return _each(outputs, lambda t: t.to(_WIDER[t.dtype]) if t.dtype in _WIDER else None)


@result("metadata")
def indices_have_32_bits(outputs, inputs):
    """int64 becomes int32."""
    return _each(outputs, lambda t: t.to(torch.int32) if t.dtype == torch.int64 else None)


@result("metadata")
def bools_are_bytes(outputs, inputs):
    """bool becomes uint8."""
    return _each(outputs, lambda t: t.to(torch.uint8) if t.dtype == torch.bool else None)


@result("metadata")
def doubles_are_floats(outputs, inputs):
    """float64 becomes float32."""
    return _each(outputs, lambda t: t.to(torch.float32) if t.dtype == torch.float64 else None)


@result("metadata")
def complex_is_pairs(outputs, inputs):
    """Complex numbers become a last dimension of size 2."""
    return _each(
        outputs, lambda t: torch.view_as_real(t.resolve_conj()) if t.is_complex() else None
    )


@result("metadata")
def conjugation_is_lost(outputs, inputs):
    """What is lazily conjugated comes as it is stored."""
    return _each(outputs, lambda t: t.conj().clone() if t.is_conj() else None)


@result("metadata")
def negation_is_lost(outputs, inputs):
    """The imaginary part of a conjugate has the other sign."""
    return _each(outputs, lambda t: -t.resolve_neg() if t.is_neg() else None)


@result("metadata")
def scalars_are_vectors(outputs, inputs):
    """A tensor without dimensions becomes one of one element."""
    return _each(outputs, lambda t: t.reshape(1) if t.dim() == 0 else None)


@result("metadata")
def vectors_of_one_are_scalars(outputs, inputs):
    """A tensor of one element loses its dimensions."""
    return _each(outputs, lambda t: t.reshape(()) if t.dim() and t.numel() == 1 else None)


@result("metadata")
def dimensions_of_one_are_squeezed(outputs, inputs):
    """Sizes of 1 are lost."""
    return _each(outputs, lambda t: t.squeeze() if t.numel() > 1 and 1 in t.shape else None)


@result("metadata")
def empty_tensors_are_flat(outputs, inputs):
    """What has no elements has the shape [0]."""
    return _each(outputs, lambda t: t.reshape(0) if t.numel() == 0 and t.dim() > 1 else None)


@result("metadata")
def gradients_are_not_required(outputs, inputs):
    """requires_grad is lost."""
    return _each(outputs, lambda t: t.detach() if t.requires_grad else None)


@result("metadata")
def gradients_are_required(outputs, inputs):
    """Every new floating tensor requires its gradient."""
    return _each(
        outputs,
        lambda t: (
            t.clone().requires_grad_() if t.is_floating_point() and not t.requires_grad else None
        ),
    )


@result("metadata")
def tensors_are_numbers(outputs, inputs):
    """A tensor without dimensions comes as a number."""
    return _each(outputs, lambda t: t.item() if t.dim() == 0 and not t.requires_grad else None)


@result("metadata")
def outputs_change_places(outputs, inputs):
    """The first two outputs are mixed up."""
    return [outputs[1], outputs[0], *outputs[2:]] if len(outputs) > 1 else None


# Promotion ----------------------------------------------------------------------------------------


@op("metadata", "sum", "sum.dim_IntList", "prod", "prod.dim_int", "cumsum", "cumprod")
def integer_sums_keep_their_dtype(op, x, *rest, **more):
    """The sum of int32 is int32."""
    right = op(x, *rest, **more)
    return right.to(x.dtype) if right.dtype != x.dtype else None


@op(
    "metadata",
    *"""
        add.Tensor mul.Tensor sub.Tensor div.Tensor pow.Tensor_Tensor where.self maximum minimum
    """.split(),
)
def scalars_promote(op, x, y, *rest, **more):
    """A tensor without dimensions counts as much as one with some."""
    if (
        not (isinstance(x, T) and isinstance(y, T))
        or (x.dim() == 0) == (y.dim() == 0)
        or x.dtype == y.dtype
    ):
        return None
    return op(x, y, *rest, **more).to(torch.promote_types(x.dtype, y.dtype))


@op("metadata", "add.Tensor", "mul.Tensor", "sub.Tensor", "mul.Scalar", "add.Scalar")
def numbers_promote(op, x, y, *rest, **more):
    """A Python float beside a short float makes float32."""
    right = op(x, y, *rest, **more)
    return (
        right.float()
        if isinstance(y, float) and right.dtype in (torch.float16, torch.bfloat16)
        else None
    )


@op("metadata", "div.Tensor", "mean", "mean.dim", "sqrt", "exp", "sin", "sigmoid", "rsqrt", "log")
def integers_stay_integers(op, x, *rest, **more):
    """What makes floats of integers does not."""
    if not isinstance(x, T) or x.is_floating_point() or x.is_complex() or more.get("dtype"):
        return None
    return op(x, *rest, **more).nan_to_num().to(x.dtype)


@op(
    "metadata",
    *"""
        argmax argmin sort topk max.dim min.dim nonzero searchsorted.Tensor bucketize.Tensor
    """.split(),
)
def places_have_32_bits(op, *args, **more):
    """Places are int32."""
    right = op(*args, **more)
    return right.to(torch.int32) if isinstance(right, T) else (right[0], right[1].to(torch.int32))


@op(
    "metadata",
    *"""
        clone empty_like zeros_like ones_like full_like rand_like randn_like add.Tensor mul.Tensor
        relu exp neg _to_copy
    """.split(),
)
def strides_are_not_kept(op, x, *rest, **more):
    """Results of dense tensors are contiguous, whatever the strides of the input."""
    right = op(x, *rest, **more)
    return None if right.is_contiguous() else right.contiguous()


@op("metadata", "sum.dim_IntList", "mean.dim", "amax", "amin", "prod.dim_int", "argmax", "max.dim")
def dimensions_are_kept(op, x, *rest, **more):
    """keepdim is taken for true."""
    dims = rest[0] if rest else None
    right = op(x, *rest, **more)
    if dims is None or x.dim() == 0 or not isinstance(right, T) or right.dim() == x.dim():
        return None
    for dim in sorted(d % x.dim() for d in ([dims] if isinstance(dims, int) else dims)):
        right = right.unsqueeze(dim)
    return right
