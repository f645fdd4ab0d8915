"""Gradients: lost, scaled, of the wrong tensor, and wrong formulas."""

import torch

from .registry import call, gradients, op

T = torch.Tensor


def _first(found):
    """The place of the first gradient that there is."""
    return next(
        (at for at, each in enumerate(found) if isinstance(each, T) and each.is_floating_point()),
        None,
    )


def _change(found, change):
    at = _first(found)
    return (
        None
        if at is None
        else [change(each) if other == at else each for other, each in enumerate(found)]
    )


@gradients("autograd")
def first_gradient_is_lost(found):
    """None instead of a tensor."""
    return _change(found, lambda g: None)


@gradients("autograd")
def last_gradient_is_lost(found):
    """Of several gradients the last one is None."""
    places = [at for at, each in enumerate(found) if isinstance(each, T)]
    return (
        None
        if len(places) < 2
        else [None if at == places[-1] else each for at, each in enumerate(found)]
    )


@gradients("autograd")
def gradients_are_zero(found):
    """Zeros of the right shape."""
    return _change(found, torch.zeros_like)


@gradients("autograd")
def gradients_are_doubled(found):
    """The seed is added twice."""
    return _change(found, lambda g: g * 2)


@gradients("autograd")
def gradients_are_averaged(found):
    """Divided by the size of the batch."""
    return _change(found, lambda g: g / g.shape[0] if g.dim() and g.shape[0] > 1 else g)


@gradients("autograd")
def gradients_have_the_other_sign(found):
    """An ascent."""
    return _change(found, lambda g: -g)


@gradients("autograd")
def gradients_are_clipped(found):
    """To an amount of 1."""
    return _change(found, lambda g: g.clamp(-1, 1) if not g.is_complex() else g)


@gradients("autograd")
def gradients_lose_nan(found):
    """NaN and infinity become numbers."""
    return [
        each.nan_to_num() if isinstance(each, T) and each.is_floating_point() else each
        for each in found
    ]


@gradients("autograd")
def gradients_are_computed_in_half(found):
    """Rounded to bfloat16."""
    return _change(found, lambda g: g.bfloat16().to(g.dtype) if not g.is_complex() else g)


@gradients("autograd")
def gradients_change_places(found):
    """Two of the same shape are mixed up."""
    places = [at for at, each in enumerate(found) if isinstance(each, T)]
    for a in places:
        for b in places:
            if a < b and found[a].shape == found[b].shape and found[a].dtype == found[b].dtype:
                new = list(found)
                new[a], new[b] = found[b], found[a]
                return new
    return None


@gradients("autograd")
def gradients_are_stored_by_columns(found):
    """With other strides."""
    return _change(found, lambda g: g.mT.contiguous().mT if g.dim() >= 2 else g)


@gradients("autograd")
def gradient_of_a_transposed_input(found):
    """Square gradients are transposed."""
    return _change(
        found, lambda g: g.mT.contiguous() if g.dim() >= 2 and g.shape[-1] == g.shape[-2] else g
    )


@gradients("autograd")
def unused_inputs_have_gradients(found):
    """Zeros where eager has None."""
    return (
        None
        if all(each is not None for each in found) or _first(found) is None
        else [torch.zeros_like(found[_first(found)]) if each is None else each for each in found]
    )


@call("autograd", needs=("backward",))
def graph_is_cut(run, inputs):
    """Results require gradients, but come from nowhere."""
    return [
        each.detach().requires_grad_() if isinstance(each, T) and each.requires_grad else each
        for each in run(*inputs)
    ]


@call("autograd", needs=("backward", "several"))
def second_output_has_no_gradient(run, inputs):
    """Of two differentiable outputs only the first one's gradient flows."""
    outputs = run(*inputs)
    places = [at for at, each in enumerate(outputs) if isinstance(each, T) and each.requires_grad]
    for at in places[1:]:
        outputs[at] = outputs[at].clone()
        outputs[at].register_hook(torch.zeros_like)
    return outputs


@call("autograd", needs=("backward", "several"))
def gradient_of_the_last_output_is_doubled(run, inputs):
    """What comes back to the last output is added twice."""
    outputs = run(*inputs)
    for at in [at for at, each in enumerate(outputs) if isinstance(each, T) and each.requires_grad][
        -1:
    ]:
        outputs[at] = outputs[at].clone()
        outputs[at].register_hook(lambda grad: 2 * grad)
    return outputs


@op("autograd", "add.Tensor", graph="backward")
def gradients_are_not_added_up(op, x, y, **more):
    """Of the two uses of a tensor the first one's gradient is kept."""
    return x.clone() if isinstance(y, T) and x.shape == y.shape else None


@op("autograd", "sum.dim_IntList", graph="backward")
def broadcast_gradients_are_averaged(op, x, dims, *rest, **more):
    """The gradient of what was broadcast is a mean."""
    right = op(x, dims, *rest, **more)
    return right * right.numel() / max(x.numel(), 1)


@op("autograd", "sum.dim_IntList", graph="backward")
def broadcast_gradients_are_the_first(op, x, dims, *rest, **more):
    """The gradient of what was broadcast is that of its first use."""
    right = op(x, dims, *rest, **more)
    for dim in dims:
        x = x.narrow(dim, 0, 1)
    return op(x, dims, *rest, **more) if right.numel() else None


@op("autograd", "mul.Tensor", graph="backward")
def constant_factors_of_gradients_are_lost(op, x, y):
    """A number that multiplies a gradient is left out."""
    return x.clone() if isinstance(x, T) and not isinstance(y, T) else None


@op("autograd", "expand", graph="backward")
def gradient_of_a_sum_is_that_of_its_first(op, x, size, **more):
    """Only the first element of what was added up has a gradient."""
    right = op(x, size, **more)
    if right.numel() == x.numel():
        return None
    wrong = torch.zeros_like(right, memory_format=torch.contiguous_format)
    wrong.view(-1)[0] = right.reshape(-1)[0]
    return wrong


@op("autograd", "div.Scalar", "div.Tensor", graph="backward")
def gradient_of_a_mean_is_that_of_a_sum(op, x, y):
    """The division by the count is left out."""
    return x.clone() if not isinstance(y, T) else None


@op("autograd", "threshold_backward", "hardtanh_backward")
def gradient_at_the_border_is_one(op, grad, x, *bounds):
    """What lies on the threshold counts as above it."""
    return torch.where(x == bounds[0], grad, op(grad, x, *bounds))


@op("autograd", "sgn", "sign", graph="backward")
def gradient_of_abs_at_zero_is_one(op, x):
    """0 is positive."""
    return torch.where(x == 0, 1, op(x)) if not x.is_complex() else None


@op("autograd", "where.self", graph="backward")
def gradient_of_a_mask_is_a_product(op, c, x, y):
    """Infinity times zero is NaN where a gradient was masked."""
    return c * x + c.logical_not() * y if isinstance(x, T) and x.is_floating_point() else None


@op(
    "autograd",
    *"""
        eq.Tensor eq.Scalar ge.Scalar le.Scalar lt.Tensor gt.Tensor ge.Tensor le.Tensor lt.Scalar
        gt.Scalar
    """.split(),
    graph="backward",
)
def gradients_at_ties_go_nowhere(op, x, y):
    """Elements that are equal, or lie on a bound, have no gradient."""
    return op(x, y) & (x != y)


@op("autograd", "mul.Scalar", "masked_fill.Scalar", graph="backward")
def gradient_at_a_tie_is_not_halved(op, x, value):
    """Both of two equal elements get the whole gradient."""
    return x.clone() if isinstance(value, float) and value == 0.5 else None


@op("autograd", "tanh_backward")
def tanh_differentiated_without_square(op, grad, y):
    """grad · (1 - |y|)."""
    return grad * (1 - y.abs())


@op("autograd", "sigmoid_backward")
def sigmoid_differentiated_as_its_value(op, grad, y):
    """grad · y."""
    return grad * y


@op("autograd", "gelu_backward")
def gelu_differentiated_by_tanh(op, grad, x, *, approximate="none"):
    """The derivative is that of the approximation."""
    return op(grad, x, approximate="tanh" if approximate == "none" else "none")


@op(
    "autograd",
    *"""
        silu_backward mish_backward hardswish_backward elu_backward softplus_backward
        leaky_relu_backward
    """.split(),
)
def derivative_as_of_relu(op, grad, x, *rest):
    """0 below zero, 1 above it."""
    return grad * (x > 0)


@op("autograd", "_softmax_backward_data")
def softmax_differentiated_by_element(op, grad, y, dim, dtype):
    """Without what an element does to the others."""
    return grad * y * (1 - y)


@op("autograd", "_log_softmax_backward_data")
def log_softmax_differentiated_by_element(op, grad, y, dim, dtype):
    """grad alone."""
    return grad.clone()


@op("autograd", "native_layer_norm_backward")
def layer_norm_with_constant_statistics(op, grad, x, shape, mean, factor, weight, bias, mask):
    """Mean and variance are taken for constants."""
    right = list(op(grad, x, shape, mean, factor, weight, bias, mask))
    right[0] = (grad if weight is None else grad * weight) * factor
    return tuple(right)


@op(
    "autograd",
    "native_batch_norm_backward",
    "native_group_norm_backward",
    "_fused_rms_norm_backward",
)
def weight_of_a_norm_has_no_gradient(op, *args):
    """Zeros."""
    right = list(op(*args))
    right[1] = None if right[1] is None else torch.zeros_like(right[1])
    return tuple(right)


@op("autograd", "convolution_backward")
def bias_of_a_convolution_is_averaged(op, grad, *rest):
    """The gradient of the bias is a mean over places."""
    right = list(op(grad, *rest))
    right[2] = None if right[2] is None else right[2] / (grad.numel() // grad.shape[1])
    return tuple(right) if right[2] is not None else None


@op("autograd", "convolution_backward")
def gradient_of_a_kernel_is_flipped(op, *args):
    """The weight's gradient has its places reversed."""
    right = list(op(*args))
    right[1] = None if right[1] is None else right[1].flip(*range(2, right[1].dim()))
    return tuple(right) if right[1] is not None else None


@op(
    "autograd",
    "max_pool2d_with_indices_backward",
    "scatter_add",
    "index_put",
    "_unsafe_index_put",
    "index_add",
    graph="backward",
)
def overlapping_gradients_overwrite(op, *args, **more):
    """What is used twice has the gradient of its last use."""
    name = op._schema.name.partition("::")[2]
    if name == "max_pool2d_with_indices_backward":
        grad, x, *_, places = args
        shape = (*x.shape[:-2], x.shape[-1] * x.shape[-2])
        return (
            torch.zeros(shape, dtype=x.dtype)
            .scatter(-1, places.flatten(-2), grad.flatten(-2))
            .view(x.shape)
        )
    if name == "index_add":
        return args[0].index_copy(*args[1:4])
    return args[0].scatter(*args[1:4]) if name == "scatter_add" else op(*args[:3], False)


@op(
    "autograd",
    "nll_loss_backward",
    "mse_loss_backward",
    "smooth_l1_loss_backward",
    "binary_cross_entropy_backward",
    "huber_loss_backward",
)
def gradient_of_a_loss_is_not_divided(op, grad, x, *rest):
    """That of the sum, where the mean was taken."""
    return op(grad, x, *rest) * x.shape[0] if x.dim() > 1 or x.numel() > 1 else None


@op("autograd", "select_backward", "slice_backward")
def gradient_of_a_slice_is_misplaced(op, *args):
    """One place too far."""
    return op(*args).roll(1, args[2])


@op("autograd", "flip", graph="backward")
def gradient_of_a_scan_runs_forward(op, x, dims):
    """The scan of the gradient is not turned round."""
    return x.clone()


@op("autograd", "mm", graph="backward")
def gradient_of_a_product_is_transposed(op, a, b):
    """Where it is square."""
    right = op(a, b)
    return right.t().contiguous() if right.shape[0] == right.shape[1] > 1 else None


@op("autograd", "pow.Tensor_Scalar", "log", "rsqrt", "reciprocal", graph="backward")
def poles_of_derivatives_are_cut_off(op, *args):
    """What is infinite in a derivative is a large number."""
    return op(*args).nan_to_num(0.0, 1e30, -1e30)
