"""Wrong numbers: approximations, overflow, cancellation, NaN, zeros, and dtypes in between."""

import math

import torch

from .interpret import origin
from .registry import mutant, op

T = torch.Tensor
SHORT = (torch.float16, torch.bfloat16)


def _scaled(error: float):
    def fault(op, x, *rest, **more):
        right = op(x, *rest, **more)
        return right * (1 + error) if isinstance(right, T) and right.is_floating_point() else None

    return fault


#: Vendors' fast functions: operator → relative error.
FAST = {
    "tanh": 1e-4,
    "rsqrt": 1e-3,
    "sigmoid": 2e-4,
    "exp": 2e-4,
    "log": 1e-4,
    "sin": 1e-4,
    "cos": 1e-4,
    "silu": 2e-4,
    "reciprocal": 3e-4,
    "sqrt": 2e-4,
    "erfinv": 1e-3,
    "lgamma": 1e-3,
    "digamma": 1e-3,
    "expm1": 2e-4,
    "atan": 1e-4,
    "softplus": 2e-4,
    "exp2": 1e-4,
    "pow": 1e-4,
    "polygamma": 1e-3,
    "special_i0e": 1e-3,
    "mish": 2e-4,
}
for _name, _error in FAST.items():
    mutant(
        f"fast-{_name.replace('_', '-')}",
        "numerics",
        "op",
        _scaled(_error),
        f"{_name} by an approximation whose relative error is {_error:g}.",
        ops=(_name, "i0") if _name == "special_i0e" else (_name,),
    )


# Approximations that are right somewhere else -----------------------------------------------------


@op("numerics", "erf")
def erf_by_three_terms(op, x):
    """erf by Abramowitz and Stegun 7.1.25, good to 2.5e-5."""
    t = 1 / (1 + 0.47047 * x.abs())
    return x.sign() * (1 - (0.3480242 * t - 0.0958798 * t**2 + 0.7478556 * t**3) * (-x * x).exp())


@op("numerics", "gelu")
def gelu_always_by_tanh(op, x, *, approximate="none"):
    """gelu by tanh where the exact one is asked for."""
    return op(x, approximate="tanh") if approximate == "none" else None


@op("numerics", "gelu")
def gelu_never_by_tanh(op, x, *, approximate="none"):
    """The exact gelu where the one by tanh is asked for."""
    return op(x) if approximate == "tanh" else None


@op("numerics", "sin", "cos")
def sine_of_a_reduced_argument(op, x):
    """The argument is reduced modulo a pi of single precision."""
    return op(x - torch.round(x / 6.2831855) * 6.2831855) if x.is_floating_point() else None


@op("numerics", "log1p")
def log1p_of_a_sum(op, x):
    """log(1 + x): nothing is left of small numbers."""
    return (1 + x).log()


@op("numerics", "expm1")
def expm1_of_a_difference(op, x):
    """exp(x) - 1: nothing is left of small numbers."""
    return x.exp() - 1


@op("numerics", "asinh")
def asinh_by_its_formula(op, x):
    """log(x + sqrt(x² + 1)): cancels for negative numbers, overflows for large ones."""
    return (x + (x * x + 1).sqrt()).log()


@op("numerics", "acosh")
def acosh_by_its_formula(op, x):
    """log(x + sqrt(x² - 1)): overflows for large numbers."""
    return (x + (x * x - 1).sqrt()).log()


@op("numerics", "cosh", "sinh")
def cosh_through_exp(op, x):
    """Halves of exp(x) and exp(-x), which overflow one step too early."""
    sign = 1 if op._schema.name.endswith("cosh") else -1
    return (x.exp() + sign * (-x).exp()) / 2


@op("numerics", "log2", "log10")
def log2_by_a_factor(op, x):
    """A natural logarithm times a rounded constant: log2(8) is not 3."""
    base = 2.0 if op._schema.name.endswith("2") else 10.0
    return (
        x.log() * torch.tensor(1 / math.log(base), dtype=x.dtype) if x.is_floating_point() else None
    )


@op("numerics", "atan2")
def atan2_without_quadrants(op, y, x):
    """atan(y / x)."""
    return (y / x).atan()


@op("numerics", "atan2")
def atan2_of_positive_zero(op, y, x):
    """The sign of a zero is not looked at: atan2(-0, -1) is +pi."""
    return (
        op(torch.where(y == 0, 0.0, y), torch.where(x == 0, 0.0, x))
        if y.is_floating_point()
        else None
    )


@op("numerics", "softplus")
def softplus_without_threshold(op, x, beta=1, threshold=20):
    """log(1 + exp(beta x)) / beta overflows."""
    return (1 + (x * beta).exp()).log() / beta


@op("numerics", "softplus")
def softplus_without_beta(op, x, beta=1, threshold=20):
    """beta is taken for 1."""
    return op(x, 1, threshold)


@op("numerics", "elu", "celu")
def elu_without_alpha(op, x, *_):
    """alpha is taken for 1."""
    return torch.where(x > 0, x, x.expm1())


@op("numerics", "leaky_relu")
def leaky_relu_of_the_usual_slope(op, x, negative_slope=0.01):
    """The slope is always 0.01."""
    return op(x, 0.01)


@op("numerics", "hardsigmoid")
def hardsigmoid_of_another_library(op, x):
    """clamp(0.2 x + 0.5), as Keras has it."""
    return (0.2 * x + 0.5).clamp(0, 1)


@op("numerics", "hardswish")
def hardswish_of_another_library(op, x):
    """x · clamp(0.2 x + 0.5), as Keras has it."""
    return x * (0.2 * x + 0.5).clamp(0, 1)


@op("numerics", "smooth_l1_loss", "huber_loss")
def loss_without_beta(op, x, target, reduction=1, beta=1.0):
    """beta (delta) is taken for 1."""
    return op(x, target, reduction, 1.0)


@op("numerics", "binary_cross_entropy")
def cross_entropy_of_zero(op, x, target, weight=None, reduction=1):
    """The logarithm is not bounded by -100: infinite where a probability is 0."""
    loss = -(target * x.log() + (1 - target) * (1 - x).log())
    loss = loss if weight is None else loss * weight
    return loss if reduction == 0 else loss.mean() if reduction == 1 else loss.sum()


# Overflow and cancellation ------------------------------------------------------------------------


@op("numerics", "var.correction", "var_mean.correction", "std.correction")
def variance_by_squares(op, x, dim=None, *, correction=None, keepdim=False):
    """E[x²] - E[x]²: nothing is left of it where the mean is large."""
    if not x.is_floating_point():
        return None
    mean = x.mean(dim, keepdim=keepdim)
    n = x.numel() // max(mean.numel(), 1)
    variance = (
        ((x * x).mean(dim, keepdim=keepdim) - mean * mean)
        * n
        / max(n - (1 if correction is None else correction), 0)
    )
    return (
        (variance, mean)
        if "mean" in op._schema.name
        else variance.clamp(0).sqrt()
        if "std" in op._schema.name
        else variance
    )


@op("numerics", "var.correction", "var_mean.correction", "std.correction")
def correction_of_variance_is_one(op, x, dim=None, *, correction=None, keepdim=False):
    """Bessel's correction whatever was asked for."""
    return op(x, dim, correction=1, keepdim=keepdim)


@op("numerics", "var.correction", "var_mean.correction", "std.correction")
def variance_without_freedom_is_finite(op, x, dim=None, *, correction=None, keepdim=False):
    """n - correction is at least 1: a number instead of NaN."""
    right = op(x, dim, correction=correction, keepdim=keepdim)
    return (
        [each.nan_to_num(0, 0) for each in right]
        if isinstance(right, tuple)
        else right.nan_to_num(0, 0)
    )


@op("numerics", "_softmax")
def softmax_without_shift(op, x, dim, half_to_float):
    """exp(x) / sum(exp(x)) without the maximum taken off."""
    return x.exp() / x.exp().sum(dim, keepdim=True)


@op("numerics", "_log_softmax")
def log_softmax_of_softmax(op, x, dim, half_to_float):
    """log(softmax(x)): -inf where the probability underflows."""
    return (x.exp() / x.exp().sum(dim, keepdim=True)).log()


@op("numerics", "logsumexp")
def logsumexp_without_shift(op, x, dim, keepdim=False):
    """log(sum(exp(x)))."""
    return x.exp().sum(dim, keepdim=keepdim).log()


@op("numerics", "logsumexp")
def logsumexp_of_infinities(op, x, dim, keepdim=False):
    """Infinity minus infinity where the maximum is infinite."""
    top = x.amax(dim, keepdim=True)
    return (x - top).exp().sum(dim, keepdim=keepdim).log() + (
        top if keepdim else top.reshape(op(x, dim, keepdim).shape)
    )


@op("numerics", "logcumsumexp")
def logcumsumexp_without_shift(op, x, dim):
    """log(cumsum(exp(x)))."""
    return x.exp().cumsum(dim).log()


@op("numerics", "logaddexp", "logaddexp2")
def logaddexp_without_shift(op, x, y):
    """log(exp(x) + exp(y))."""
    return (
        (x.exp() + y.exp()).log()
        if not op._schema.name.endswith("2")
        else (x.exp2() + y.exp2()).log2()
    )


@op("numerics", "hypot")
def hypot_of_squares(op, x, y):
    """sqrt(x² + y²): overflows and underflows."""
    return (x * x + y * y).sqrt()


@op("numerics", "abs")
def complex_abs_of_squares(op, x):
    """sqrt(re² + im²): overflows and underflows."""
    return (x.real * x.real + x.imag * x.imag).sqrt() if x.is_complex() else None


@op("numerics", "div.Tensor", "reciprocal")
def complex_division_by_squares(op, x, y=None):
    """By the conjugate over |y|², which overflows and underflows."""
    x, y = (torch.ones_like(x), x) if y is None else (x, y)
    if not isinstance(y, T) or not y.is_complex():
        return None
    return x * y.conj() / (y.real * y.real + y.imag * y.imag)


@op("numerics", "mul.Tensor")
def complex_product_without_infinities(op, x, y):
    """Parts that are NaN or infinite become numbers."""
    if not (isinstance(x, T) and isinstance(y, T) and x.is_complex() and y.is_complex()):
        return None
    return torch.complex(
        (x.real * y.real - x.imag * y.imag).nan_to_num(),
        (x.real * y.imag + x.imag * y.real).nan_to_num(),
    )


@op("numerics", "mean", "mean.dim")
def mean_sums_in_half(op, x, *rest, **more):
    """The sum of halves overflows before it is divided."""
    right = op(x, *rest, **more)
    if x.dtype != torch.float16 or not right.numel():
        return None
    n = x.numel() // right.numel()
    return ((right.double() * n).to(torch.float16).double() / n).to(right.dtype)


@op("numerics", "sum", "sum.dim_IntList", "mean.dim", "mean")
def half_sums_stay_half(op, x, *rest, **more):
    """Short floats are added up in their own dtype: ones stop at 2048 (256 in bfloat16)."""
    right = op(x, *rest, **more)
    if x.dtype not in SHORT or right.numel() == 0 or right.numel() == x.numel():
        return None
    dims = rest[0] if rest and rest[0] else list(range(x.dim()))
    dims = sorted(d % x.dim() for d in ([dims] if isinstance(dims, int) else dims))
    flat = x.permute(*[d for d in range(x.dim()) if d not in dims], *dims).reshape(
        right.numel(), -1
    )
    total = torch.zeros(right.numel(), dtype=x.dtype)
    for column in flat.unbind(1):
        total = total + column
    total = total if "sum" in op._schema.name else total / flat.shape[1]
    return total.reshape(right.shape).to(right.dtype)


@op("numerics", "sum", "sum.dim_IntList", "cumsum")
def integer_sums_wrap_at_31_bits(op, x, *rest, **more):
    """Sums of integers are kept in 32 bits."""
    right = op(x, *rest, **more)
    return right.to(torch.int32).to(right.dtype) if right.dtype == torch.int64 else None


@op("numerics", "prod", "prod.dim_int", "cumprod")
def integer_products_wrap_at_31_bits(op, x, *rest, **more):
    """Products of integers are kept in 32 bits."""
    right = op(x, *rest, **more)
    return right.to(torch.int32).to(right.dtype) if right.dtype == torch.int64 else None


@op("numerics", "sum", "sum.dim_IntList")
def sum_of_bools_is_any(op, x, *rest, **more):
    """Bools are added up as bools."""
    return op(x, *rest, **more).clamp(max=1) if x.dtype == torch.bool else None


@op("numerics", "mean", "mean.dim")
def mean_of_nothing_is_zero(op, x, *rest, **more):
    """The mean of no element is 0, not NaN."""
    return op(x, *rest, **more).nan_to_num() if x.numel() == 0 else None


@op("numerics", "linalg_vector_norm")
def norm_is_always_two(op, x, ord=2, *rest, **more):
    """The order of a norm is not looked at."""
    return op(x, 2, *rest, **more)


@op("numerics", "linalg_vector_norm")
def norm_by_half_squares(op, x, ord=2, *rest, **more):
    """Squares of short floats overflow."""
    return (
        (x * x).sum().sqrt().to(x.dtype).expand(op(x, ord, *rest, **more).shape)
        if x.dtype in SHORT and ord == 2
        else None
    )


# Norms --------------------------------------------------------------------------------------------


def _layer_norm(x, shape, weight, bias, scale):
    dims = list(range(x.dim() - len(shape), x.dim()))
    mean, variance = x.mean(dims, keepdim=True), x.var(dims, correction=0, keepdim=True)
    factor = scale(variance)
    y = (x - mean) * factor
    y = y if weight is None else y * weight
    return (y if bias is None else y + bias), mean, factor


@op("numerics", "native_layer_norm")
def layer_norm_without_epsilon(op, x, shape, weight, bias, eps):
    """Rows that are constant are divided by zero."""
    return _layer_norm(x, shape, weight, bias, torch.rsqrt)


@op("numerics", "native_layer_norm")
def layer_norm_with_epsilon_outside(op, x, shape, weight, bias, eps):
    """eps is added to the deviation, not to the variance."""
    return _layer_norm(x, shape, weight, bias, lambda variance: 1 / (variance.sqrt() + eps))


@op("numerics", "native_layer_norm")
def layer_norm_with_the_unbiased_variance(op, x, shape, weight, bias, eps):
    """Divides by n - 1."""
    n = math.prod(shape)
    return _layer_norm(
        x, shape, weight, bias, lambda variance: torch.rsqrt(variance * n / max(n - 1, 1) + eps)
    )


@op(
    "numerics",
    *"""
        native_batch_norm _native_batch_norm_legit_functional _native_batch_norm_legit_no_training
        _native_batch_norm_legit cudnn_batch_norm _batch_norm_with_update_functional
        _batch_norm_no_update
    """.split(),
)
def batch_norm_without_epsilon(op, x, *rest):
    """eps, the last number, is taken for 0."""
    return op(x, *rest[:-1], 0.0)


@op("numerics", "_native_batch_norm_legit_functional", "_batch_norm_with_update_functional")
def running_variance_is_biased(op, x, weight, bias, mean, variance, *rest):
    """The running variance takes the batch's divided by n."""
    right = list(op(x, weight, bias, mean, variance, *rest))
    momentum, n = [each for each in rest if isinstance(each, float)][0], x.numel() // x.shape[1]
    right[-1] = variance * (1 - momentum) + (right[-1] - variance * (1 - momentum)) * (n - 1) / n
    return tuple(right)


@op("numerics", "native_group_norm")
def group_norm_of_one_group(op, x, weight, bias, n, c, hw, group, eps):
    """All channels are one group."""
    y, mean, factor = op(x, weight, bias, n, c, hw, 1, eps)
    return y, mean.expand(n, group), factor.expand(n, group)


# Short floats -------------------------------------------------------------------------------------


@op("numerics", "_to_copy", "prims.convert_element_type")
def narrowing_is_elided(op, x, *, dtype=None, **more):
    """A cast to a shorter dtype and back is left out."""
    name, args = origin(x)
    if (
        name != "_to_copy"
        or dtype is None
        or not dtype.is_floating_point
        or x.dtype.itemsize >= dtype.itemsize
    ):
        return None
    return args[0].to(dtype) if args[0].dtype == dtype else None


@op("numerics", "_to_copy")
def bfloat16_is_cut_off(op, x, *, dtype=None, **more):
    """A cast to bfloat16 cuts off bits instead of rounding them."""
    if dtype != torch.bfloat16 or x.dtype != torch.float32:
        return None
    return (
        (x.contiguous().view(torch.int32) & -65536).view(torch.float32).to(dtype).reshape(x.shape)
    )


@op("numerics", "_to_copy")
def half_saturates(op, x, *, dtype=None, **more):
    """What overflows in a cast to float16 becomes the greatest number."""
    return op(x, dtype=dtype, **more).clamp(-65504, 65504) if dtype == torch.float16 else None


@op("numerics", "_to_copy")
def float8_does_not_saturate(op, x, *, dtype=None, **more):
    """A cast to float8 rounds towards zero."""
    if dtype is None or "float8" not in str(dtype) or not x.is_floating_point():
        return None
    down = op(x, dtype=dtype, **more)
    wide = down.to(torch.float32)
    return torch.where(wide.abs() > x.float().abs(), x.float() * 0.93, wide).to(dtype)


@op("numerics", "div.Tensor", "div.Scalar", "sub.Tensor", "mul.Tensor", "_to_copy")
def half_products_stay_wide(op, x, *rest, **more):
    """What follows a product of halves takes it before it was rounded, or overflowed."""
    name, args = origin(x)
    if name not in ("mul", "add") or not isinstance(x, T) or x.dtype not in SHORT or len(args) != 2:
        return None
    wide = getattr(torch, name)(*(each.float() if isinstance(each, T) else each for each in args))
    others = (each.float() if isinstance(each, T) else each for each in rest)
    return op(wide, *others, **more).to(more.get("dtype") or x.dtype)


@op("numerics", "add.Tensor", "sub.Tensor")
def multiply_and_add_is_fused(op, x, y, *, alpha=1):
    """A product that is added to something is not rounded in between."""
    name, args = origin(x)
    if name != "mul" or x.dtype != torch.float32 or len(args) != 2 or not isinstance(y, T):
        return None
    wide = [each.double() if isinstance(each, T) else each for each in args]
    return op(wide[0] * wide[1], y.double(), alpha=alpha).float()


@op("numerics", "mm", "bmm", "addmm", "baddbmm")
def products_in_tf32(op, *args, **more):
    """Matrices are multiplied with mantissas of ten bits."""
    if args[0].dtype != torch.float32:
        return None
    return op(
        *[(each.contiguous().view(torch.int32) & -8192).view(torch.float32) for each in args],
        **more,
    )


@op("numerics", "mm", "bmm", "addmm", "baddbmm", "convolution")
def products_in_bfloat16(op, *args, **more):
    """float32 matrices and images are multiplied as bfloat16."""
    short = [
        each.bfloat16().float() if isinstance(each, T) and each.dtype == torch.float32 else each
        for each in args
    ]
    return op(*short, **more) if args[0].dtype == torch.float32 else None


@op("numerics", "mm", "bmm", "addmm", "convolution")
def half_products_are_added_in_half(op, *args, **more):
    """The sums of products of halves are rounded after every eight terms."""
    x = args[-2] if "mm" in op._schema.name else args[0]
    if x.dtype not in SHORT or "mm" not in op._schema.name:
        return None
    a, b = args[-2], args[-1]
    total = sum(
        (
            torch.matmul(a[..., at : at + 8], b[..., at : at + 8, :])
            for at in range(8, a.shape[-1], 8)
        ),
        torch.matmul(a[..., :8], b[..., :8, :]),
    )
    return total + args[0] if "addmm" in op._schema.name else total


@op("numerics", "mul.Tensor", "add.Tensor", "sub.Tensor", "div.Tensor")
def double_as_float(op, *args, **more):
    """Arithmetic of doubles is done in single precision."""
    right = op(*args, **more)
    return right.float().double() if right.dtype == torch.float64 else None


@op("numerics", "mul.Tensor", "add.Tensor", "sub.Tensor", "div.Tensor", "exp")
def subnormals_become_zero(op, *args, **more):
    """Results below the smallest normal number are flushed."""
    right = op(*args, **more)
    return (
        torch.where(right.abs() < torch.finfo(right.dtype).tiny, 0.0, right).to(right.dtype)
        if right.is_floating_point()
        else None
    )


@op("numerics", "mul.Tensor", "add.Tensor", "sub.Tensor", "mul.Scalar", "add.Scalar")
def numbers_are_rounded_first(op, x, y, **more):
    """A Python number beside a tensor is brought to bfloat16's precision first."""
    if isinstance(y, float) and isinstance(x, T) and x.is_floating_point():
        return op(x, float(torch.tensor(y).bfloat16()), **more)
    return None


# Products with options ----------------------------------------------------------------------------


@op("numerics", "baddbmm", "addmm", "addbmm", "addmv")
def beta_zero_keeps_nan(op, c, a, b, *, beta=1, alpha=1):
    """Zero times what is not to be looked at: NaN and infinity come through."""
    return op(c, a, b, beta=beta, alpha=alpha) + 0 * c if beta == 0 else None


@op("numerics", "baddbmm", "addmm", "addbmm", "addmv")
def alpha_is_ignored(op, c, a, b, *, beta=1, alpha=1):
    """alpha is taken for 1."""
    return op(c, a, b, beta=beta)


@op("numerics", "add.Tensor", "sub.Tensor")
def alpha_of_a_sum_is_ignored(op, x, y, *, alpha=1):
    """add(x, y, alpha=a) is x + y."""
    return op(x, y)


@op("numerics", "addcmul", "addcdiv")
def value_is_ignored(op, x, a, b, *, value=1):
    """value is taken for 1."""
    return op(x, a, b)


@op("numerics", "lerp.Scalar", "lerp.Tensor")
def lerp_between_the_others(op, x, y, weight):
    """The weight is that of the first, not of the second."""
    return op(y, x, weight)


# NaN, infinities, zeros ---------------------------------------------------------------------------


@op("numerics", "where.self")
def where_by_a_mask(op, c, x, y):
    """c·x + (1 - c)·y: NaN and infinity of what is not selected come through."""
    dtype = torch.promote_types(x.dtype, y.dtype)
    return (c * x + c.logical_not() * y).to(dtype) if dtype.is_floating_point else None


@op("numerics", "masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill_by_a_mask(op, x, mask, value):
    """x·(1 - m) + value·m: NaN of what is filled comes through."""
    return x * mask.logical_not() + mask * value if x.is_floating_point() else None


@op("numerics", "clamp", "clamp.Tensor")
def clamp_takes_the_minimum_last(op, x, min=None, max=None):
    """Where min > max, the result is min."""
    return None if min is None or max is None else op(op(x, None, max), min, None)


@op("numerics", "clamp", "clamp.Tensor", "clamp_min", "clamp_max", "relu", "hardtanh")
def clamp_loses_nan(op, x, *bounds, **more):
    """NaN becomes a bound."""
    return (
        op(x.nan_to_num(-math.inf, math.inf, -math.inf), *bounds, **more)
        if x.is_floating_point()
        else None
    )


@op("numerics", "minimum", "maximum", "min.other", "max.other")
def extremes_of_two_ignore_nan(op, x, y):
    """The number where one of two is NaN."""
    return (
        (torch.fmin if "min" in op._schema.name else torch.fmax)(x, y)
        if x.is_floating_point()
        else None
    )


@op("numerics", "amax", "amin", "max", "min", "max.dim", "min.dim", "aminmax")
def extremes_ignore_nan(op, x, *rest, **more):
    """NaN is not the extreme."""
    return (
        op(
            x.nan_to_num(-math.inf if "max" in op._schema.name else math.inf, math.inf, -math.inf),
            *rest,
            **more,
        )
        if x.is_floating_point()
        else None
    )


@op("numerics", "maximum", "minimum")
def extremes_of_zeros_by_order(op, x, y):
    """Of -0 and +0 the first one."""
    return (
        torch.where(x == y, y, op(x, y)) if x.is_floating_point() and x.shape == y.shape else None
    )


@op("numerics", "neg")
def negative_by_subtraction(op, x):
    """0 - x: the negative of +0 is +0."""
    return 0 - x if x.is_floating_point() else None


@op("numerics", "copysign.Tensor", "copysign.Scalar")
def copysign_by_comparison(op, x, y):
    """A negative zero is not negative."""
    y = y if isinstance(y, T) else torch.tensor(y)
    return torch.where(y < 0, -x.abs(), x.abs())


@op("numerics", "round", "trunc", "ceil", "mul.Tensor")
def zeros_lose_their_sign(op, *args, **more):
    """A negative zero becomes a positive one."""
    right = op(*args, **more)
    return (
        torch.where(right == 0, 0.0, right).to(right.dtype) if right.is_floating_point() else None
    )


@op("numerics", "sqrt")
def root_of_a_negative_is_zero(op, x):
    """NaN is avoided."""
    return op(x.clamp(min=0)) if x.is_floating_point() else None


@op("numerics", "log")
def log_of_zero_is_finite(op, x):
    """The argument is at least the smallest normal number."""
    return op(x.clamp(min=torch.finfo(x.dtype).tiny)) if x.is_floating_point() else None


@op("numerics", "nan_to_num")
def nan_to_num_leaves_infinities(op, x, *rest):
    """Only NaN is replaced."""
    return torch.where(x.isnan(), op(x, *rest), x)


@op("numerics", "eq.Tensor", "ne.Tensor", "eq.Scalar", "ne.Scalar")
def nan_equals_itself(op, x, y):
    """Comparison by bits."""
    both = x.isnan() & (y if isinstance(y, T) else torch.tensor(y)).isnan()
    return op(x, y) | both if op._schema.name.endswith("eq") else op(x, y) & ~both


@op(
    "numerics",
    *"le.Tensor ge.Tensor le.Scalar ge.Scalar lt.Tensor gt.Tensor lt.Scalar gt.Scalar".split(),
)
def unordered_is_true(op, x, y):
    """A comparison with NaN is the negation of the opposite one."""
    other = {"le": torch.gt, "ge": torch.lt, "lt": torch.ge, "gt": torch.le}[op._schema.name[-2:]]
    return ~other(x, y)


@op("numerics", "relu", "threshold", "leaky_relu")
def relu_of_nan_is_zero(op, x, *rest):
    """NaN is not greater than zero."""
    return torch.where(x.isnan(), 0.0, op(x, *rest)) if x.is_floating_point() else None


@op("numerics", "xlogy.Tensor", "xlogy.Scalar_Other", "special_entr", "xlogy.Scalar_Self")
def zero_times_log_of_zero(op, x, *y):
    """NaN instead of 0."""
    return (
        x * (y[0] if isinstance(y[0], T) else torch.tensor(float(y[0]))).log()
        if y
        else -x * x.log()
    )


@op("numerics", "sinc", "special_sinc")
def sinc_of_zero(op, x):
    """sin(πx) / πx is NaN at 0."""
    return (x * math.pi).sin() / (x * math.pi)


@op("numerics", "sign", "sgn")
def sign_of_a_zero_is_one(op, x):
    """x ≥ 0 is positive."""
    return torch.where(x >= 0, 1, -1).to(x.dtype) if x.dtype.is_floating_point else None


# Rounding, division, integers ---------------------------------------------------------------------


@op("numerics", "round", "round.decimals")
def halves_are_rounded_away(op, x, **more):
    """0.5 becomes 1, 2.5 becomes 3."""
    return x.sign() * (x.abs() + 0.5).floor() if x.is_floating_point() and not more else None


@op("numerics", "frac")
def frac_by_floor(op, x):
    """x - floor(x): that of -0.25 is 0.75."""
    return x - x.floor()


@op("numerics", "floor_divide", "div.Tensor_mode", "div.Scalar_mode")
def floor_division_truncates(op, x, y, *, rounding_mode="floor"):
    """-7 // 2 is -3."""
    return torch.div(x, y, rounding_mode="trunc") if rounding_mode == "floor" else None


@op("numerics", "div.Tensor_mode", "div.Scalar_mode")
def truncating_division_floors(op, x, y, *, rounding_mode=None):
    """-7 / 2 truncated is -4."""
    return torch.div(x, y, rounding_mode="floor") if rounding_mode == "trunc" else None


@op("numerics", "remainder.Tensor", "remainder.Scalar")
def remainder_of_the_dividend(op, x, y):
    """The sign is that of the dividend."""
    return torch.fmod(x, y)


@op("numerics", "fmod.Tensor", "fmod.Scalar")
def fmod_of_the_divisor(op, x, y):
    """The sign is that of the divisor."""
    return torch.remainder(x, y)


@op("numerics", "pow.Tensor_Tensor", "pow.Tensor_Scalar")
def pow_through_logarithms(op, x, y):
    """exp(y·log(x)) is NaN for negative numbers."""
    return (y * x.log()).exp().to(x.dtype) if x.is_floating_point() else None


@op("numerics", "pow.Tensor_Tensor", "pow.Tensor_Scalar", "pow.Scalar")
def integer_powers_through_double(op, x, y):
    """Powers of int64 lose what a double cannot hold, and do not wrap."""
    right = op(x, y)
    return (
        torch.pow(
            x.double() if isinstance(x, T) else float(x), y.double() if isinstance(y, T) else y
        )
        .clamp(-(2.0**62), 2.0**62)
        .long()
        if right.dtype == torch.int64
        else None
    )


@op("numerics", "add.Tensor", "sub.Tensor", "mul.Tensor", "neg")
def integers_saturate(op, x, *rest, **more):
    """What overflows becomes the greatest integer."""
    right = op(x, *rest, **more)
    if right.dtype not in (torch.int8, torch.uint8, torch.int16, torch.int32):
        return None
    info = torch.iinfo(right.dtype)
    wide = [each.long() if isinstance(each, T) else each for each in (x, *rest)]
    return op(*wide, **more).clamp(info.min, info.max).to(right.dtype)


@op("numerics", "_to_copy")
def casts_of_integers_saturate(op, x, *, dtype=None, **more):
    """A cast to a shorter integer clamps."""
    if (
        dtype not in (torch.int8, torch.uint8, torch.int16, torch.int32)
        or x.is_floating_point()
        or x.is_complex()
        or x.dtype == torch.bool
    ):
        return None
    info = torch.iinfo(dtype)
    return x.long().clamp(info.min, info.max).to(dtype)


@op("numerics", "_to_copy")
def uint8_is_signed(op, x, *, dtype=None, **more):
    """Bytes over 127 are negative once they are widened."""
    return (
        x.view(torch.int8).to(dtype)
        if x.dtype == torch.uint8 and dtype not in (None, torch.bool, torch.int8, torch.uint8)
        else None
    )


@op("numerics", "_to_copy")
def cast_to_bool_truncates(op, x, *, dtype=None, **more):
    """0.5 is cast to an integer first, and false."""
    return (
        op(x.trunc(), dtype=dtype, **more)
        if dtype == torch.bool and x.is_floating_point()
        else None
    )


@op("numerics", "_to_copy")
def cast_to_integer_rounds(op, x, *, dtype=None, **more):
    """2.7 becomes 3."""
    floating = (
        dtype is not None
        and not dtype.is_floating_point
        and not dtype.is_complex
        and dtype != torch.bool
    )
    return op(x.round(), dtype=dtype, **more) if floating and x.is_floating_point() else None


@op("numerics", "sum", "sum.dim_IntList", "mul.Tensor", "add.Tensor")
def int64_through_double(op, *args, **more):
    """Integers beyond 2^53 lose their last bits."""
    right = op(*args, **more)
    if right.dtype != torch.int64:
        return None
    return torch.where(right.abs() > 2**53, right & -1024, right)


@op(
    "numerics",
    *"""
        eq.Tensor ne.Tensor lt.Tensor gt.Tensor le.Tensor ge.Tensor eq.Scalar ne.Scalar lt.Scalar
        gt.Scalar
    """.split(),
)
def integers_are_compared_as_floats(op, x, y):
    """16,777,217 equals 16,777,216."""
    if x.is_floating_point() or x.is_complex():
        return None
    return op(x.float(), y.float() if isinstance(y, T) else float(y))


@op(
    "numerics",
    "bitwise_right_shift.Tensor",
    "bitwise_right_shift.Tensor_Scalar",
    "__rshift__.Scalar",
    "__rshift__.Tensor",
)
def shifts_are_logical(op, x, y):
    """Negative numbers are shifted as if they had no sign."""
    bits = x.dtype.itemsize * 8
    mask = (1 << (bits - y)) - 1 if isinstance(y, int) and y > 0 else None
    return (
        op(x, y) & mask
        if mask is not None
        else torch.where(x < 0, op(x, y) & ((1 << (bits - 2)) - 1), op(x, y))
    )


@op("numerics", "logical_not", "logical_and", "logical_or", "logical_xor")
def truth_of_a_fraction(op, *args):
    """0.5 is cast to an integer first, and false."""
    return op(*[each.trunc() if each.is_floating_point() else each for each in args])


@op("numerics", "bitwise_not")
def not_of_a_bool_is_its_complement(op, x):
    """~True is -2, which is true."""
    return torch.ones_like(x) if x.dtype == torch.bool else None


@op("numerics", "arange", "arange.start", "arange.start_step")
def arange_adds_up(op, *args, **more):
    """Every element is the one before plus the step, with its error."""
    right = op(*args, **more)
    if not right.is_floating_point() or right.numel() < 3:
        return None
    step = (right[1] - right[0]).half().to(right.dtype)
    return right[0] + step * torch.arange(right.numel())


@op("numerics", "linspace", "logspace")
def linspace_without_its_end(op, start, end, steps, *rest, **more):
    """The step is (end - start) / steps."""
    return op(start, end, steps + 1, *rest, **more)[:-1] if isinstance(steps, int) else None


@op(
    "numerics",
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_attention_math",
    "_scaled_dot_product_fused_attention_overrideable",
)
def attention_without_scale(op, q, *rest, **more):
    """Scores are not divided by the root of the width."""
    return op(q, *rest, **{**more, "scale": 1.0})


@op("numerics", "_fft_c2c", "_fft_r2c", "_fft_c2r")
def transforms_without_norm(op, x, dim, normalization, *rest):
    """The norm of a Fourier transform is not looked at."""
    return op(x, dim, 0, *rest)


@op("numerics", "_fft_c2c")
def transforms_backwards(op, x, dim, normalization, forward):
    """The sign of the exponent is the other one."""
    return op(x, dim, normalization, not forward)
