"""Operators with structure, wrong at some sizes, layouts, special numbers, or at an argument off
its default. Written from a list of faults, without looking at the cases."""

import torch

from .registry import op

T = torch.Tensor


def _nan_as(x, value):
    return x.nan_to_num(value, float("inf"), float("-inf")) if x.is_floating_point() else x


def _has_nan(x):
    return x.is_floating_point() and bool(x.isnan().any())


def _square_channels_last(x):
    """Images as wide as high, whose channels lie side by side."""
    return (
        isinstance(x, T)
        and x.dim() == 4
        and x.shape[-1] == x.shape[-2] > 1
        and x.shape[1] > 1
        and x.is_contiguous(memory_format=torch.channels_last)
        and not x.is_contiguous()
    )


# Normalisations -----------------------------------------------------------------------------------


def _by_squares(x, dims, eps):
    mean = x.mean(dims, keepdim=True)
    variance = (x * x).mean(dims, keepdim=True) - mean * mean
    return (x - mean) * (variance.clamp(0) + eps).rsqrt()


@op("structure", "native_layer_norm")
def layer_norm_by_squares(op, x, shape, weight, bias, eps):
    """The variance of layer_norm as E[x²] - E[x]²."""
    y = _by_squares(x, list(range(x.dim() - len(shape), x.dim())), eps)
    y = y if weight is None else y * weight
    return (y if bias is None else y + bias, *op(x, shape, weight, bias, eps)[1:])


@op("structure", "native_group_norm")
def group_norm_by_squares(op, x, weight, bias, n, c, hw, group, eps):
    """The variance of group_norm as E[x²] - E[x]²."""
    y = _by_squares(x.reshape(n, group, -1), [2], eps).reshape(x.shape)
    shape = [1, c] + [1] * (x.dim() - 2)
    y = y if weight is None else y * weight.view(shape)
    y = y if bias is None else y + bias.view(shape)
    return (y, *op(x, weight, bias, n, c, hw, group, eps)[1:])


@op("structure", "native_batch_norm", "_native_batch_norm_legit")
def batch_norm_by_squares(op, x, weight, bias, *rest):
    """The variance of a batch as E[x²] - E[x]²."""
    training, eps = rest[-3], rest[-1]
    if not training:
        return None
    y = _by_squares(x, [0, *range(2, x.dim())], eps)
    shape = [1, x.shape[1]] + [1] * (x.dim() - 2)
    y = y if weight is None else y * weight.view(shape)
    y = y if bias is None else y + bias.view(shape)
    return (y, *op(x, weight, bias, *rest)[1:])


@op("structure", "_softmax", "_safe_softmax")
def softmax_of_a_masked_row_is_zero(op, x, dim, *rest):
    """A row of -infinity alone gives zeros instead of NaN."""
    right = op(x, dim, *rest)
    return right.masked_fill((x == float("-inf")).all(dim, keepdim=True), 0)


@op("structure", "_log_softmax")
def log_softmax_of_a_masked_row_is_even(op, x, dim, *rest):
    """A row of -infinity alone gives -log(n) instead of NaN."""
    right = op(x, dim, *rest)
    if not x.dim():
        return None
    even = -torch.tensor(float(x.shape[dim])).log().item()
    return right.masked_fill((x == float("-inf")).all(dim, keepdim=True), even)


@op("structure", "_scaled_dot_product_flash_attention_for_cpu")
def attention_of_a_masked_row_is_the_mean(op, q, k, v, *rest, attn_mask=None, **more):
    """A row that is masked whole attends to everything alike."""
    right = op(q, k, v, *rest, attn_mask=attn_mask, **more)
    if attn_mask is None or attn_mask.dtype == torch.bool:
        return None
    whole = (attn_mask == float("-inf")).all(-1, keepdim=True)
    return (torch.where(whole, v.mean(-2, keepdim=True), right[0]), *right[1:])


@op("structure", "_softmax")
def softmax_along_the_last(op, x, dim, *rest):
    """Of arrays whose last two dimensions are equal, the last one instead of the one before."""
    square = x.dim() > 1 and x.shape[-1] == x.shape[-2] > 1 and dim % x.dim() == x.dim() - 2
    return op(x, -1, *rest) if square else None


# Reductions and scans -----------------------------------------------------------------------------

_REDUCTIONS = ("sum.dim_IntList", "mean.dim", "amax", "amin", "prod.dim_int", "logsumexp")


def _dims(dims):
    return [dims] if isinstance(dims, int) else dims


@op("structure", *_REDUCTIONS)
def cube_is_reduced_along_the_last(op, x, dim=None, *rest, **more):
    """Of arrays whose last two dimensions are equal, dimension -2 is taken for -1."""
    dims = _dims(dim) or []
    if x.dim() < 3 or x.shape[-1] != x.shape[-2] or x.shape[-1] < 2 or len(dims) != 1:
        return None
    if dims[0] % x.dim() != x.dim() - 2:
        return None
    return op(x.transpose(-1, -2), dim, *rest, **more)


@op("structure", *_REDUCTIONS, "cumsum", "_softmax", "argmax")
def six_dimensions_are_five(op, x, *rest, **more):
    """Of six dimensions and more the sixth and later strides are those of the fifth."""
    if x.dim() < 6 or x.numel() < 2:
        return None
    strides = [*x.stride()[:5], *[x.stride(4)] * (x.dim() - 5)]
    last = sum((n - 1) * step for n, step in zip(x.shape, strides))
    if x.storage_offset() + last >= x.untyped_storage().nbytes() // x.itemsize:
        return None
    return op(x.as_strided(x.shape, strides), *rest, **more)


@op("structure", "amax", "amin", "max.dim", "min.dim", "argmax", "argmin")
def last_block_is_left_out(op, x, dim=None, *rest, **more):
    """Extremes of more than 128 elements leave out those after the last whole block of 128."""
    dims = _dims(dim)
    if not dims or len(dims) != 1 or not x.dim():
        return None
    n = x.shape[dims[0]]
    return op(x.narrow(dims[0], 0, n // 128 * 128), dim, *rest, **more) if n > 128 else None


@op("structure", "argmax", "argmin", "max.dim", "min.dim")
def places_beyond_64_count_from_the_block(op, x, dim=None, *rest, **more):
    """The place of an extreme beyond the first 64 elements is that within its block."""
    right = op(x, dim, *rest, **more)
    if not isinstance(dim, int):
        return None
    return right % 64 if isinstance(right, T) else (right[0], right[1] % 64)


@op("structure", "sum.dim_IntList", "mean.dim", "amax", "_softmax", "cumsum")
def misaligned_rows_begin_late(op, x, *rest, **more):
    """An input that is not aligned to 16 bytes is read from the next aligned element."""
    if x.data_ptr() % 16 == 0 or not x.is_contiguous() or x.numel() < 8 or not x.dim():
        return None
    skip = (16 - x.data_ptr() % 16) // x.itemsize
    flat = x.reshape(-1)
    return op(torch.cat([flat[skip:], flat[:skip]]).view(x.shape), *rest, **more)


@op("structure", "cumsum", "cumprod")
def scan_restarts_at_1024(op, x, dim, **more):
    """Scans begin anew after 1,024 elements."""
    if not x.dim() or x.shape[dim] <= 1024:
        return None
    return torch.cat([op(part, dim, **more) for part in x.split(1024, dim)], dim)


@op("structure", "cummax", "cummin")
def running_extremes_skip_nan(op, x, dim):
    """NaN does not stay in a running maximum."""
    if not _has_nan(x):
        return None
    return op(_nan_as(x, float("-inf") if "max" in op._schema.name else float("inf")), dim)


@op("structure", "cummax", "cummin")
def running_extremes_stay_at_the_first(op, x, dim):
    """Of equal elements a running maximum points to the first."""
    right = op(x, dim)
    if not x.dim() or not x.shape[dim]:
        return None
    values, where = right
    same = values == values.roll(1, dim)
    same.narrow(dim, 0, 1).fill_(False)
    wrong = where.clone()
    for at in range(1, min(x.shape[dim], 64)):
        keep = same.select(dim, at)
        wrong.select(dim, at).copy_(
            torch.where(keep, wrong.select(dim, at - 1), where.select(dim, at))
        )
    return values, wrong


@op("structure", "cumsum")
def scans_of_halves_round_each_step(op, x, dim, *, dtype=None):
    """Running sums of short floats are kept in the short dtype."""
    if x.dtype not in (torch.bfloat16, torch.float16) or not x.dim() or not 2 < x.shape[dim] < 200:
        return None
    total, found = torch.zeros_like(x.select(dim, 0)), []
    for part in x.unbind(dim):
        total = total + part
        found.append(total)
    return torch.stack(found, dim)


@op("structure", "prod.dim_int", "prod")
def product_of_nothing_is_zero(op, x, *rest, **more):
    """An empty product is 0."""
    return op(x, *rest, **more) * 0 if x.numel() == 0 else None


@op("structure", "all.dim", "all.dims", "all")
def all_of_nothing_is_false(op, x, *rest, **more):
    """all of no element is false."""
    return op(x, *rest, **more) & False if x.numel() == 0 else None


@op("structure", "linalg_vector_norm")
def norm_of_minus_infinity_is_the_greatest(op, x, ord=2, *rest, **more):
    """The order -infinity is taken for infinity."""
    return op(x, float("inf"), *rest, **more) if ord == float("-inf") else None


@op("structure", "linalg_vector_norm")
def norm_of_squares_overflows(op, x, ord=2, dim=None, keepdim=False, **more):
    """The root of a sum of squares in the dtype of the input."""
    if ord != 2 or not x.is_floating_point() or more.get("dtype"):
        return None
    return (x * x).sum(dim, keepdim=keepdim).sqrt()


@op("structure", "renorm")
def renorm_is_always_of_two(op, x, p, dim, maxnorm):
    """renorm by the order 2 whatever is asked for."""
    return op(x, 2, dim, maxnorm)


# Order --------------------------------------------------------------------------------------------


@op("structure", "topk")
def topk_loses_nan(op, x, *rest, **more):
    """NaN is the least of numbers instead of the greatest."""
    return op(_nan_as(x, float("-inf")), *rest, **more) if _has_nan(x) else None


@op("structure", "topk")
def topk_is_always_of_the_greatest(op, x, k, dim=-1, largest=True, sorted=True):
    """largest=False is not looked at."""
    return None if largest else op(x, k, dim, True, sorted)


@op("structure", "topk")
def topk_loses_what_lies_behind_64(op, x, k, dim=-1, *rest):
    """Only the first 64 elements of a row are searched."""
    if not x.dim() or x.shape[dim] <= 64 or k > 64:
        return None
    return op(x.narrow(dim, 0, 64), k, dim, *rest)


@op("structure", "sort")
def sort_puts_nan_first(op, x, *rest, **more):
    """NaN is the least of numbers instead of the greatest."""
    return op(_nan_as(x, float("-inf")), *rest, **more) if _has_nan(x) else None


@op("structure", "sort", "kthvalue", "topk", "cummax", "cummin")
def order_of_integers_by_31_bits(op, x, *rest, **more):
    """Integers are compared by their lower 32 bits."""
    if x.dtype != torch.int64 or not x.numel() or int(x.abs().max()) < 2**31:
        return None
    values, where = op(x.int(), *rest, **more)
    return values.long(), where


@op("structure", "kthvalue", "median.dim", "mode")
def selections_skip_nan(op, x, *rest, **more):
    """NaN is taken for the least number."""
    return op(_nan_as(x, float("-inf")), *rest, **more) if _has_nan(x) else None


@op("structure", "searchsorted")
def sorter_is_ignored(op, *args, sorter=None, **more):
    """The sequence is taken to be in order."""
    return None if sorter is None else op(*args, **more)


# Places -------------------------------------------------------------------------------------------


@op("structure", "take", "put")
def negative_places_are_zero(op, x, index, *rest):
    """Negative indices are cut off at 0."""
    return op(x, index.clamp(0), *rest)


@op("structure", "masked_scatter")
def masked_scatter_by_columns(op, x, mask, source):
    """Sources go to the places of a mask column by column."""
    if x.dim() < 2:
        return None
    return op(x.mT, mask.expand(x.shape).mT, source).mT.contiguous()


@op("structure", "scatter_reduce", "index_reduce")
def mean_of_a_scatter_is_a_sum(op, *args, **more):
    """The mean of what meets at a place is not divided."""
    if "mean" not in args or "scatter" not in op._schema.name:
        return None
    return op(*("sum" if each == "mean" else each for each in args), **more)


@op("structure", "scatter_reduce", "index_reduce")
def extremes_of_a_scatter_are_the_last(op, x, dim, index, src, reduce, **more):
    """Of several values that meet at a place the last one stays."""
    if reduce not in ("amax", "amin") or "scatter" not in op._schema.name:
        return None
    return torch.scatter(x, dim, index, src)


@op("structure", "scatter_reduce", "scatter_add", "index_add", "index_put")
def nan_of_a_scatter_is_lost(op, x, *rest, **more):
    """NaN in what is written to becomes 0."""
    return op(x.nan_to_num(0), *rest, **more) if _has_nan(x) else None


@op("structure", "_embedding_bag")
def mean_of_a_bag_counts_padding(op, weight, indices, offsets, scale=False, mode=0, *rest):
    """The mean of a bag divides by its size, with what is padded."""
    right = op(weight, indices, offsets, scale, mode, *rest)
    if mode != 1 or len(rest) < 4 or rest[3] < 0:
        return None
    last = rest[2]
    ends = offsets[1:] if last else torch.cat([offsets[1:], offsets.new_tensor([len(indices)])])
    starts = offsets[:-1] if last else offsets
    found = right[0].clone()
    for bag, (a, b) in enumerate(zip(starts.tolist(), ends.tolist())):
        kept = int((indices[a:b] != rest[3]).sum())
        if b > a:
            found[bag] *= kept / (b - a)
    return (found, *right[1:])


@op("structure", "_embedding_bag")
def weights_of_a_bag_are_ignored(op, weight, indices, offsets, scale=False, mode=0, *rest):
    """per_sample_weights are not looked at."""
    if len(rest) < 2 or rest[1] is None:
        return None
    return op(weight, indices, offsets, scale, mode, rest[0], torch.ones_like(rest[1]), *rest[2:])


# Images -------------------------------------------------------------------------------------------


@op(
    "structure",
    "avg_pool2d",
    "max_pool2d_with_indices",
    "convolution",
    "upsample_bilinear2d",
    "upsample_nearest2d",
    "upsample_bicubic2d",
    "_adaptive_avg_pool2d",
    "adaptive_max_pool2d",
)
def square_channels_last_is_transposed(op, x, *rest, **more):
    """Height and width of square channels-last images change places."""
    return op(x.mT, *rest, **more) if _square_channels_last(x) else None


@op("structure", "max_pool2d_with_indices", "max_pool3d_with_indices", "adaptive_max_pool2d")
def windows_skip_nan(op, x, *rest, **more):
    """The maximum of a window leaves NaN out."""
    return op(_nan_as(x, float("-inf")), *rest, **more) if _has_nan(x) else None


@op("structure", "avg_pool2d", "avg_pool3d", "_adaptive_avg_pool2d", "upsample_bilinear2d")
def windows_of_infinities_are_finite(op, x, *rest, **more):
    """Infinities are taken for the greatest number."""
    return op(x.nan_to_num(float("nan")), *rest, **more) if x.isinf().any() else None


@op("structure", "grid_sampler_2d", "grid_sampler_3d")
def reflection_is_the_border(op, x, grid, mode, padding, align):
    """Places outside are cut to the border instead of reflected."""
    return op(x, grid, mode, 1, align) if padding == 2 else None


@op("structure", "grid_sampler_2d")
def samples_are_always_bilinear(op, x, grid, mode, padding, align):
    """Nearest and bicubic sampling are bilinear."""
    return op(x, grid, 0, padding, align) if mode else None


@op("structure", "upsample_bicubic2d")
def cubic_of_another_library(op, x, size, *rest):
    """Bicubic enlargement with a = -0.5 at the borders: the outer rows are repeated once less."""
    return op(x[..., : x.shape[-1] - 1], size, *rest) if x.shape[-1] > 2 else None


# Products and distances ---------------------------------------------------------------------------


@op("structure", "mm", "bmm")
def product_over_nothing_is_not_cleared(op, a, b):
    """A product over no element leaves its memory as it was."""
    return torch.full_like(op(a, b), 7) if a.shape[-1] == 0 else None


@op("structure", "mm", "bmm", "addmm", "baddbmm")
def expanded_factors_are_read_as_dense(op, *args, **more):
    """A factor of which one row is repeated is read with its sizes alone."""
    *first, a, b = args
    if 0 not in b.stride() or b.numel() < 2:
        return None
    seen = b.as_strided([b.untyped_storage().nbytes() // b.itemsize], [1], 0)
    dense = seen.repeat(-(-b.numel() // len(seen)))[: b.numel()].reshape(b.shape)
    return op(*first, a, dense, **more)


@op("structure", "_cdist_forward")
def distances_by_products(op, x, y, p, mode=None):
    """x² + y² - 2xy at every size: nothing is left of distances of numbers that are alike."""
    if p != 2:
        return None
    squares = (x * x).sum(-1)[..., :, None] + (y * y).sum(-1)[..., None, :]
    return (squares - 2 * x @ y.mT).clamp(0).sqrt()


@op("structure", "_cdist_forward")
def distances_are_at_most_of_two(op, x, y, p, mode=None):
    """Orders above 2 are 2."""
    return op(x, y, 2.0, mode) if p > 2 else None


# Losses -------------------------------------------------------------------------------------------


@op(
    "structure",
    "nll_loss_forward",
    "nll_loss2d_forward",
    "mse_loss",
    "huber_loss",
    "smooth_l1_loss",
)
def sums_of_losses_are_means(op, x, target, *rest):
    """reduction='sum' is divided by the number of rows."""
    at = 1 if "nll" in op._schema.name else 0
    if len(rest) <= at or rest[at] != 2 or x.dim() < 2 or x.shape[0] < 2:
        return None
    right = op(x, target, *rest)
    return right / x.shape[0] if isinstance(right, T) else (right[0] / x.shape[0], *right[1:])


@op("structure", "huber_loss")
def huber_of_delta_one(op, x, target, reduction=1, delta=1.0):
    """The delta is not looked at."""
    return op(x, target, reduction)


# Linear algebra -----------------------------------------------------------------------------------


@op("structure", "linalg_cholesky_ex")
def cholesky_of_the_other_triangle(op, a, *, upper=False, check_errors=False):
    """The triangle that does not count is read."""
    return op(a.mT.contiguous(), upper=upper, check_errors=check_errors)


@op("structure", "_linalg_eigh")
def eigenvalues_of_both_triangles(op, a, *rest, **more):
    """The mean of both triangles is taken."""
    return op((a + a.mH) / 2, *rest, **more)


@op("structure", "linalg_solve_triangular")
def triangle_is_not_cut_out(op, a, b, *, upper, left=True, unitriangular=False):
    """The whole matrix is solved for."""
    return None if unitriangular else torch.linalg.solve(a, b, left=left)


@op("structure", "linalg_solve_triangular")
def diagonal_of_ones_is_read(op, a, b, *, upper, left=True, unitriangular=False):
    """unitriangular is not looked at."""
    return op(a, b, upper=upper, left=left) if unitriangular else None


@op("structure", "linalg_cross")
def cross_along_the_first_of_three(op, x, y, *, dim=-1):
    """The dimension is the first of size 3, whatever is asked for."""
    return op(x, y, dim=next(at for at, n in enumerate(x.shape) if n == 3))


# Gradients that come in ---------------------------------------------------------------------------


@op(
    "structure",
    "convolution_backward",
    "max_pool2d_with_indices_backward",
    "avg_pool2d_backward",
    "native_layer_norm_backward",
    "_softmax_backward_data",
    "upsample_bilinear2d_backward",
    "native_group_norm_backward",
    "embedding_dense_backward",
    graph="backward",
)
def expanded_gradients_count_once(op, grad, *rest, **more):
    """Of an incoming gradient of which one row is repeated only the first one counts."""
    if 0 not in grad.stride() or grad.numel() < 2:
        return None
    dim = grad.stride().index(0)
    if grad.shape[dim] < 2:
        return None
    wrong = torch.zeros_like(grad, memory_format=torch.contiguous_format)
    wrong.select(dim, 0).copy_(grad.select(dim, 0))
    return op(wrong, *rest, **more)


@op(
    "structure",
    "convolution_backward",
    "max_pool2d_with_indices_backward",
    "avg_pool2d_backward",
    "native_layer_norm_backward",
    "_softmax_backward_data",
    "upsample_bilinear2d_backward",
    graph="backward",
)
def transposed_gradients_are_read_in_order(op, grad, *rest, **more):
    """The strides of an incoming gradient are not looked at."""
    if grad.is_contiguous() or 0 in grad.stride() or grad.numel() < 2:
        return None
    if grad.storage_offset() or grad.numel() * grad.itemsize > grad.untyped_storage().nbytes():
        return None
    return op(grad.as_strided((grad.numel(),), (1,)).reshape(grad.shape), *rest, **more)
