"""Wrong places: tails, strides, dimensions, ties, borders, and elements that meet more than
once."""

import torch
import torch.nn.functional as F

from .registry import POINTWISE, mutant, op

T = torch.Tensor


def _fitted(x, shape):
    """Cut or filled with zeros to a shape."""
    for dim, size in enumerate(shape):
        x = x.narrow(dim, 0, min(size, x.shape[dim]))
    return F.pad(
        x, [n for dim in range(len(shape) - 1, -1, -1) for n in (0, shape[dim] - x.shape[dim])]
    )


def _square(x):
    return isinstance(x, T) and x.dim() >= 2 and x.shape[0] == x.shape[1] > 1


# Loops --------------------------------------------------------------------------------------------


def _tail(width, least):
    def fault(op, *args, **more):
        right = op(*args, **more)
        if (
            not isinstance(right, T)
            or right.numel() < least
            or right.numel() % width == 0
            or not right.is_contiguous()
        ):
            return None
        wrong = right.clone()
        wrong.view(-1)[right.numel() // width * width :] = 0
        return wrong

    return fault


for _width, _least in ((8, 9), (16, 17), (32, 33), (64, 65), (4096, 40_001), (65_536, 65_537)):
    mutant(
        f"tail-of-{_width}-is-dropped",
        "indexing",
        "op",
        _tail(_width, _least),
        f"Pointwise kernels of {_least:,} elements or more leave out those after the last whole "
        f"block of {_width}.",
        ops=(POINTWISE,),
    )


@op("indexing", POINTWISE)
def short_loops_are_dropped(op, *args, **more):
    """Loops shorter than a vector of 32 elements lose their last one, where the count is odd and
    over 16: 31, for one."""
    right = op(*args, **more)
    if (
        not isinstance(right, T)
        or not 16 < right.numel() < 32
        or right.numel() % 2 == 0
        or not right.is_contiguous()
    ):
        return None
    wrong = right.clone()
    wrong.view(-1)[-1] = 0
    return wrong


@op("indexing", POINTWISE)
def strided_is_read_as_contiguous(op, x, *rest, **more):
    """The strides of the first tensor are not looked at."""
    if not isinstance(x, T) or x.is_contiguous() or x.numel() < 2:
        return None
    n = x.untyped_storage().nbytes() // x.itemsize - x.storage_offset()
    if n < x.numel():
        return None
    return op(x.as_strided((x.numel(),), (1,)).reshape(x.shape), *rest, **more)


@op("indexing", POINTWISE)
def storage_offset_is_lost(op, x, *rest, **more):
    """The first tensor is read from the beginning of its storage."""
    if not isinstance(x, T) or x.storage_offset() == 0:
        return None
    return op(x.as_strided(x.shape, x.stride(), 0), *rest, **more)


@op("indexing", POINTWISE)
def vector_is_broadcast_along_the_rows(op, x, y=None, *rest, **more):
    """[n] beside [n, n] is taken as a column."""
    if not _square(x) or x.dim() != 2 or not isinstance(y, T) or y.shape != x.shape[:1]:
        return None
    return op(x, y[:, None], *rest, **more)


@op("indexing", POINTWISE)
def size_one_is_not_broadcast(op, x, y=None, *rest, **more):
    """Of an operand that is broadcast in the last dimension, only the first column is computed."""
    if (
        not isinstance(x, T)
        or not isinstance(y, T)
        or not x.dim()
        or not y.dim()
        or x.shape[-1] == y.shape[-1]
    ):
        return None
    right = op(x, y, *rest, **more).clone()
    right[..., 1:] = 0
    return right


@op("indexing", "cumsum", "cumprod", "cummax", "cummin", "logcumsumexp")
def scan_restarts_at_64(op, x, dim, **more):
    """A scan of more than 64 elements begins anew in every block."""
    if x.dim() == 0 or x.shape[dim] <= 64:
        return None
    parts = [op(part, dim, **more) for part in x.split(64, dim)]
    return (
        torch.cat(parts, dim)
        if isinstance(parts[0], T)
        else [torch.cat([part[i] for part in parts], dim) for i in range(2)]
    )


@op("indexing", *"sum sum.dim_IntList mean mean.dim amax amin prod.dim_int any.dim all.dim".split())
def reduction_drops_its_tail(op, x, *rest, **more):
    """Reductions of more than 16 elements leave out the last one, where the count is odd."""
    dims = rest[0] if rest and rest[0] not in (None, []) else [-1]
    dim = dims[-1] if isinstance(dims, (list, tuple)) else dims
    if x.dim() == 0 or x.shape[dim] <= 16 or x.shape[dim] % 2 == 0:
        return None
    return op(x.narrow(dim, 0, x.shape[dim] - 1), *rest, **more)


@op(
    "indexing",
    *"""
        sum.dim_IntList mean.dim amax amin prod.dim_int argmax argmin max.dim min.dim any.dim
        all.dim cumsum cumprod _softmax _log_softmax logsumexp var.correction std.correction sort
        sort.stable flip linalg_vector_norm
    """.split(),
)
def reduction_over_the_other_dimension(op, x, *rest, **more):
    """Rows and columns of a square are mixed up."""
    return op(x.transpose(0, 1), *rest, **more) if _square(x) and x.dim() == 2 else None


@op("indexing", "sum.dim_IntList", "mean.dim", "amax", "amin", "logsumexp", "linalg_vector_norm")
def only_one_dimension_is_reduced(op, x, *rest, **more):
    """Of several dimensions the first one is reduced; of the rest the first elements are taken."""
    dims = rest[1] if "norm" in op._schema.name and len(rest) > 1 else rest[0] if rest else None
    right = op(x, *rest, **more)
    if not dims or isinstance(dims, int) or len(dims) < 2:
        return None
    for dim in dims[1:]:
        x = x.narrow(dim, 0, 1)
    return op(x, *rest, **more) if op(x, *rest, **more).shape == right.shape else None


# Indices ------------------------------------------------------------------------------------------


@op("indexing", "index.Tensor")
def negative_indices_are_clamped(op, x, indices):
    """-1 is the first element."""
    return op(
        x,
        [
            each if each is None or each.dtype in (torch.bool, torch.uint8) else each.clamp(min=0)
            for each in indices
        ],
    )


@op("indexing", "index.Tensor")
def indices_of_the_other_dimension(op, x, indices):
    """Two indices change places in a square."""
    return op(x, indices[::-1]) if _square(x) and len(indices) == 2 else None


@op("indexing", "select.int")
def select_counts_from_the_wrong_end(op, x, dim, index):
    """select(-1) takes the one before the last."""
    return (
        op(x, dim, index - 1)
        if isinstance(index, int) and index < 0 and -index < x.shape[dim]
        else None
    )


@op("indexing", "slice.Tensor")
def slice_loses_its_start(op, x, dim=0, start=None, end=None, step=1):
    """A slice of the right length, from the beginning."""
    right = op(x, dim, start, end, step)
    return op(x, dim, 0, None, step).narrow(dim, 0, right.shape[dim])


@op("indexing", "slice.Tensor")
def slice_loses_its_step(op, x, dim=0, start=None, end=None, step=1):
    """A slice of the right length, without gaps."""
    return (
        None
        if step == 1
        else op(x, dim, start, None, 1).narrow(dim, 0, op(x, dim, start, end, step).shape[dim])
    )


@op("indexing", "as_strided")
def as_strided_without_offset(op, x, size, stride, offset=None):
    """The offset is not looked at."""
    return op(x, size, stride, 0)


@op("indexing", "gather")
def gather_along_the_other_dimension(op, x, dim, index, **more):
    """Rows and columns of a square are mixed up."""
    return (
        op(x, 1 - dim % 2, index)
        if _square(x) and x.dim() == 2 and index.shape == x.shape
        else None
    )


@op("indexing", "gather")
def gather_of_its_first_row(op, x, dim, index, **more):
    """Indices of the first row are taken for all."""
    return None if index.dim() < 2 else op(x, dim, index[:1].expand_as(index))


@op("indexing", "index_select")
def index_select_in_order(op, x, dim, index):
    """The indices are sorted first."""
    return op(x, dim, index.sort()[0])


@op("indexing", "scatter.src", "scatter.value")
def scatter_adds(op, x, dim, index, value):
    """What is written is added."""
    return x.scatter_add(
        dim, index, value if isinstance(value, T) else torch.full(index.shape, value, dtype=x.dtype)
    )


@op("indexing", "scatter_add", "scatter_reduce.two")
def repeated_scatters_are_lost(op, x, dim, index, src, *rest, **more):
    """Of several elements for one place the last one counts."""
    return (
        x.scatter(dim, index, x.gather(dim, index) + src) if not rest or rest[0] == "sum" else None
    )


@op("indexing", "scatter_reduce.two", "index_reduce")
def scatter_reduce_includes_itself(op, x, *rest, include_self=True):
    """include_self is taken for true."""
    return op(x, *rest, include_self=True)


@op("indexing", "index_put", "_unsafe_index_put", "index_put_")
def repeated_puts_are_lost(op, x, indices, values, accumulate=False):
    """Of several values for one place the last one counts."""
    return (
        op(
            x,
            indices,
            x[tuple(slice(None) if each is None else each for each in indices)] + values,
            False,
        )
        if accumulate
        else None
    )


@op("indexing", "index_put", "_unsafe_index_put")
def puts_accumulate(op, x, indices, values, accumulate=False):
    """What is assigned is added."""
    return None if accumulate or x.dtype == torch.bool else op(x, indices, values, True)


@op("indexing", "index_put", "_unsafe_index_put", "index_fill.int_Scalar", "index_copy")
def puts_write_the_first_only(op, x, indices, values, *rest):
    """Only the first of several places is written."""
    if (
        not isinstance(indices, (list, tuple))
        or not isinstance(indices[0], T)
        or indices[0].dtype == torch.bool
        or indices[0].numel() < 2
    ):
        return None
    return op(
        x,
        [each if each is None else each.flatten()[:1] for each in indices],
        values.flatten()[:1] if values.numel() > 1 else values,
        *rest,
    )


@op("indexing", "index_add")
def repeated_adds_are_lost(op, x, dim, index, source, *, alpha=1):
    """Of several elements for one place the last one counts."""
    return x.index_copy(dim, index, x.index_select(dim, index) + source * alpha)


@op("indexing", "index_add")
def alpha_of_index_add_is_ignored(op, x, dim, index, source, *, alpha=1):
    """alpha is taken for 1."""
    return op(x, dim, index, source)


@op("indexing", "slice_scatter")
def slice_scatter_begins_late(op, x, src, dim=0, start=None, end=None, step=1):
    """What is written to a slice is rolled by one."""
    return op(x, src.roll(1, dim), dim, start, end, step)


@op("indexing", "select_scatter")
def select_scatter_misses(op, x, src, dim, index):
    """The element before is written."""
    return op(x, src, dim, index - 1 if index else -1)


@op("indexing", "diagonal_scatter", "as_strided_scatter")
def scatter_to_the_main_diagonal(op, x, src, offset=0, dim1=0, dim2=1, *rest):
    """The offset is not looked at."""
    if "as_strided" in op._schema.name or offset == 0:
        return None
    right, n = x.clone(), src.shape[-1]
    right.diagonal(0, dim1, dim2)[..., :n] = src[..., : min(n, x.diagonal(0, dim1, dim2).shape[-1])]
    return right


@op("indexing", "embedding")
def embedding_of_the_next_row(op, weight, indices, *rest):
    """The last index reads the row before."""
    wrong = indices.clone()
    wrong.reshape(-1)[-1:].sub_(1).clamp_(min=0)
    return op(weight, wrong, *rest)


@op("indexing", "embedding_dense_backward")
def gradient_of_padding(op, grad, indices, n, padding, scale):
    """padding_idx is not looked at."""
    return op(grad, indices, n, -1, scale) if padding >= 0 else None


@op("indexing", "embedding_dense_backward")
def repeated_words_are_lost(op, grad, indices, n, padding, scale):
    """The gradient of a row that is used twice is that of its last use."""
    wrong = torch.zeros(n, grad.shape[-1], dtype=grad.dtype)
    wrong[indices.reshape(-1)] = grad.reshape(-1, grad.shape[-1])
    if padding >= 0:
        wrong[padding] = 0
    return wrong


@op("indexing", "nll_loss_forward", "nll_loss2d_forward")
def ignored_targets_count(op, x, target, weight, reduction, ignore):
    """ignore_index is not looked at in the count of the mean."""
    right, total = op(x, target, weight, reduction, ignore)
    return (right * (total / target.numel()), total) if reduction == 1 and weight is None else None


@op("indexing", "nll_loss_forward", "nll_loss2d_forward")
def weights_of_classes_are_ignored(op, x, target, weight, *rest):
    """Every class has weight 1."""
    return None if weight is None else op(x, target, None, *rest)


@op("indexing", "nonzero")
def nonzero_by_columns(op, x):
    """Places come in column-major order."""
    return op(x.t()).flip(1) if x.dim() == 2 else None


@op("indexing", "triu", "tril")
def diagonal_of_a_triangle_is_ignored(op, x, diagonal=0):
    """The diagonal is taken for the main one."""
    return op(x)


@op("indexing", "triu", "tril")
def diagonal_of_a_triangle_is_left_out(op, x, diagonal=0):
    """The border belongs to the other side."""
    return op(x, diagonal + (1 if op._schema.name.endswith("triu") else -1))


@op("indexing", "diagonal", "diagonal_copy", "diag_embed")
def diagonal_of_the_other_side(op, x, offset=0, *rest):
    """A positive offset is below."""
    return op(x, -offset, *rest) if offset else None


@op(
    "indexing", "searchsorted.Tensor", "bucketize.Tensor", "searchsorted.Scalar", "bucketize.Scalar"
)
def right_border_is_left(op, x, y, *, out_int32=False, right=False, side=None, **more):
    """`right` is not looked at."""
    return op(x, y, out_int32=out_int32, right=False) if right or side == "right" else None


@op(
    "indexing", "searchsorted.Tensor", "bucketize.Tensor", "searchsorted.Scalar", "bucketize.Scalar"
)
def left_border_is_right(op, x, y, *, out_int32=False, right=False, side=None, **more):
    """What equals a border belongs to the next bucket."""
    return None if right or side == "right" else op(x, y, out_int32=out_int32, right=True)


@op("indexing", "isin.Tensor_Tensor")
def isin_inverted(op, x, y, **more):
    """`invert` is not looked at."""
    return op(x, y) if more.get("invert") else None


@op("indexing", "unique_dim", "_unique2")
def unique_in_reverse(op, x, *rest, **more):
    """Values come in descending order, as do the places that point to them."""
    values, inverse, counts = op(x, *rest, **more)
    return values.flip(0), inverse, counts.flip(0)


# Order and ties -----------------------------------------------------------------------------------


@op("indexing", "median", "median.dim")
def median_is_the_upper(op, x, *rest, **more):
    """Of an even number of elements the upper middle one."""
    if rest:
        values, _ = op(-x, *rest, **more)
        return -values, op(-x, *rest, **more)[1]
    return -op(-x)


@op("indexing", "kthvalue")
def kthvalue_counts_from_zero(op, x, k, *rest):
    """The next greater one."""
    return op(x, min(k + 1, x.shape[-1]), *rest)


@op("indexing", "sort.stable", "sort")
def ties_are_sorted_backwards(op, x, *rest, **more):
    """Equal elements come in reverse order, also where `stable` is asked for."""
    if "stable" not in op._overloadname:
        return None
    dim = more.get("dim", -1)
    values, places = op(x.flip(dim), **more)
    return values, x.shape[dim] - 1 - places


@op("indexing", "sort", "sort.stable", "topk")
def descending_is_ignored(op, x, *rest, **more):
    """Elements are ascending."""
    if op._schema.name.endswith("topk"):
        k, dim, largest, *_ = [*rest, -1, True][:3] if len(rest) < 3 else rest
        return op(x, k, dim, False, True) if largest else None
    if "stable" in op._overloadname:
        return op(x, **{**more, "descending": False}) if more.get("descending") else None
    return op(x, *rest[:1], False) if len(rest) > 1 and rest[1] else None


@op("indexing", "topk", "sort", "sort.stable")
def places_are_off_by_one(op, *args, **more):
    """Places count from 1, but for the last."""
    values, places = op(*args, **more)
    return values, torch.where(
        places < places.max(), places + 1, places
    ) if places.numel() else places


@op("indexing", "argmax", "argmin")
def last_of_equals(op, x, dim=None, keepdim=False):
    """Of several extremes the last one."""
    if dim is None:
        return x.numel() - 1 - op(x.reshape(-1).flip(0)) if not keepdim and x.numel() else None
    return x.shape[dim] - 1 - op(x.flip(dim), dim, keepdim) if x.dim() else None


@op("indexing", "argmax", "argmin", "max.dim", "min.dim")
def place_of_nan_is_ignored(op, x, *rest, **more):
    """The place of the greatest number, where there is a NaN."""
    return (
        op(x.nan_to_num(-1e30 if "max" in op._schema.name else 1e30), *rest, **more)
        if x.is_floating_point() and x.isnan().any()
        else None
    )


# Moves --------------------------------------------------------------------------------------------


@op("indexing", "roll")
def roll_the_other_way(op, x, shifts, *rest):
    """Left instead of right."""
    return op(x, [-each for each in shifts], *rest)


@op("indexing", "flip")
def only_one_dimension_is_flipped(op, x, dims):
    """Of several dimensions the first one."""
    return op(x, dims[:1])


@op("indexing", "cat")
def empty_is_not_skipped(op, tensors, dim=0):
    """What comes after an empty tensor is lost."""
    at = (
        [tensor.numel() == 0 for tensor in tensors].index(True)
        if any(tensor.numel() == 0 for tensor in tensors)
        else None
    )
    return None if at is None else _fitted(op(tensors[: at + 1], dim), op(tensors, dim).shape)


@op("indexing", "cat")
def pieces_in_reverse(op, tensors, dim=0):
    """The last piece comes first."""
    return op(tensors[::-1], dim)


@op("indexing", "repeat")
def repeat_interleaves(op, x, repeats):
    """Every element is repeated, not the tensor."""
    wrong = x.reshape((1,) * (len(repeats) - x.dim()) + tuple(x.shape))
    for dim, n in enumerate(repeats):
        wrong = wrong.repeat_interleave(n, dim)
    return wrong


@op("indexing", "permute")
def permutation_is_inverted(op, x, dims):
    """Where sizes allow it, the inverse permutation."""
    inverse = sorted(range(len(dims)), key=lambda at: dims[at] % len(dims))
    wrong = op(x, inverse)
    return wrong if wrong.shape == op(x, dims).shape else None


@op("indexing", "constant_pad_nd")
def padding_on_the_other_side(op, x, pad, value=0):
    """Left and right are mixed up."""
    return op(x, [pad[at ^ 1] for at in range(len(pad))], value)


@op("indexing", "constant_pad_nd")
def padding_is_always_zero(op, x, pad, value=0):
    """The value is not looked at."""
    return op(x, pad, 0) if value else None


@op("indexing", "reflection_pad1d", "reflection_pad2d", "reflection_pad3d")
def reflection_repeats_the_border(op, x, pad):
    """The border belongs to its reflection."""
    return F.pad(x, pad, "replicate")


@op("indexing", "pixel_shuffle", "pixel_unshuffle")
def pixels_by_columns(op, x, factor):
    """Blocks are read by columns."""
    return op(x.transpose(-1, -2), factor).transpose(-1, -2).contiguous()


@op("indexing", "im2col", "unfold", "col2im")
def windows_without_step(op, x, *args):
    """The step between windows is taken for 1, as far as there is room."""
    right = op(x, *args)
    if not op._schema.name.endswith("::unfold") or args[2] == 1:
        return None
    return op(x, args[0], args[1], 1).narrow(args[0], 0, right.shape[args[0]])


@op("indexing", "clone")
def reshape_of_the_storage(op, x, *rest, **more):
    """A copy of a transposed tensor has its elements in the order of the storage."""
    if x.dim() < 2 or x.is_contiguous():
        return None
    flat = x.as_strided(
        (min(x.numel(), x.untyped_storage().nbytes() // x.itemsize - x.storage_offset()),), (1,)
    )
    return flat.clone().reshape(x.shape) if flat.numel() == x.numel() else None


# Products of matrices, images ---------------------------------------------------------------------


@op("indexing", "mm", "bmm", "addmm", "baddbmm")
def second_matrix_is_transposed(op, *args, **more):
    """Where it is square."""
    return (
        op(*args[:-1], args[-1].transpose(-1, -2), **more)
        if args[-1].shape[-1] == args[-1].shape[-2] > 1
        else None
    )


@op("indexing", "bmm", "baddbmm")
def every_batch_is_the_first(op, *args, **more):
    """The second factor is that of the first batch."""
    return op(*args[:-1], args[-1][:1].expand_as(args[-1]), **more)


@op("indexing", "mm", "bmm", "addmm", "baddbmm")
def inner_tail_is_dropped(op, *args, **more):
    """Products over more than four terms leave out what is after the last whole four."""
    a, b = args[-2:]
    k = a.shape[-1] // 4 * 4
    return op(*args[:-2], a[..., :k], b[..., :k, :], **more) if 4 < a.shape[-1] != k else None


def _convolution(op, args, place, value):
    """A convolution with one of its arguments replaced, in the shape that the right one has."""
    return _fitted(op(*args[:place], value, *args[place + 1 :]), op(*args).shape)


@op("indexing", "convolution")
def groups_in_reverse(
    op, x, weight, bias, stride, padding, dilation, transposed, output_padding, groups
):
    """Every group has the weights of another one."""
    if groups == 1:
        return None
    wrong = torch.cat(weight.chunk(groups)[::-1])
    return op(x, wrong, bias, stride, padding, dilation, transposed, output_padding, groups)


@op("indexing", "convolution")
def strides_change_places(op, *args):
    """Height and width have each other's stride."""
    return _convolution(op, args, 3, args[3][::-1])


@op("indexing", "convolution")
def paddings_change_places(op, *args):
    """Height and width have each other's padding."""
    return _convolution(op, args, 4, args[4][::-1])


@op("indexing", "convolution")
def dilation_is_ignored(op, *args):
    """Dilation is taken for 1."""
    return _convolution(op, args, 5, [1] * len(args[5]))


@op("indexing", "convolution")
def output_padding_is_zero(op, *args):
    """What output_padding adds is left at zero."""
    return _convolution(op, args, 7, [0] * len(args[7])) if args[6] and any(args[7]) else None


@op("indexing", "convolution")
def kernel_is_flipped(op, *args):
    """A convolution as mathematics has it."""
    return _convolution(op, args, 1, args[1].flip(*range(2, args[1].dim())))


@op("indexing", "convolution")
def bias_of_a_convolution_is_lost(op, *args):
    """Without bias."""
    return None if args[2] is None else op(*args[:2], None, *args[3:])


@op(
    "indexing",
    "max_pool2d_with_indices",
    "max_pool3d_with_indices",
    "_adaptive_avg_pool2d",
    "max_pool2d",
)
def windows_are_padded_with_zeros(op, x, kernel, stride=None, padding=0, dilation=1, ceil=False):
    """Zero is the maximum of negative numbers at the border."""
    if "max" not in op._schema.name or not any(
        padding if isinstance(padding, (list, tuple)) else [padding]
    ):
        return None
    values, places = op(x, kernel, stride or [], padding, dilation, ceil)
    edge = op(
        F.pad(torch.ones_like(x), [1, 1, 1, 1])[..., 1:-1, 1:-1] * 0 + 1,
        kernel,
        stride or [],
        padding,
        dilation,
        ceil,
    )[0]
    wrong = values.clone()
    wrong[..., 0, :], wrong[..., :, 0] = (
        wrong[..., 0, :].clamp(min=0),
        wrong[..., :, 0].clamp(min=0),
    )
    return wrong * edge, places


@op("indexing", "max_pool2d_with_indices", "avg_pool2d", "max_pool3d_with_indices", "avg_pool3d")
def last_window_is_dropped(op, x, kernel, *rest):
    """The window that ceil_mode adds is empty."""
    at = 3 if "max" in op._schema.name else 2
    if len(rest) <= at or not rest[at]:
        return None
    right = op(x, kernel, *rest)
    full = op(x, kernel, *rest[:at], False, *rest[at + 1 :])
    return (
        _fitted(full, right.shape)
        if isinstance(right, T)
        else tuple(_fitted(each, part.shape) for each, part in zip(full, right))
    )


@op("indexing", "avg_pool2d", "avg_pool3d")
def padding_is_not_counted(
    op, x, kernel, stride=None, padding=0, ceil=False, count=True, divisor=None
):
    """count_include_pad is the other way round."""
    return op(x, kernel, stride or [], padding, ceil, not count, divisor)


@op("indexing", "avg_pool2d", "avg_pool3d")
def divisor_is_ignored(op, x, kernel, stride=None, padding=0, ceil=False, count=True, divisor=None):
    """divisor_override is not looked at."""
    return op(x, kernel, stride or [], padding, ceil, count, None) if divisor else None


@op("indexing", "max_pool2d_with_indices", "max_pool3d_with_indices")
def places_count_in_the_window(op, *args):
    """Places of maxima are those of the window."""
    values, places = op(*args)
    return values, places % 2


@op("indexing", "_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "adaptive_max_pool2d")
def bins_do_not_overlap(op, x, size):
    """Bins of unequal size begin where the one before has ended."""
    right = op(x, size)
    if not isinstance(right, T) or all(n % m == 0 for n, m in zip(x.shape[-len(size) :], size)):
        return None
    step = [max(n // m, 1) for n, m in zip(x.shape[-len(size) :], size)]
    return _fitted((F.avg_pool2d if len(size) == 2 else F.avg_pool3d)(x, step, step), right.shape)


@op(
    "indexing",
    *"""
        upsample_bilinear2d.vec upsample_linear1d.vec upsample_bicubic2d.vec
        upsample_trilinear3d.vec upsample_bilinear2d upsample_linear1d upsample_bicubic2d
        upsample_trilinear3d grid_sampler_2d _upsample_bilinear2d_aa grid_sampler_3d
    """.split(),
)
def corners_are_aligned_otherwise(op, *args, **more):
    """align_corners is the other way round."""
    at = [i for i, each in enumerate(args) if isinstance(each, bool)][0]
    return op(*args[:at], not args[at], *args[at + 1 :], **more)


@op("indexing", "grid_sampler_2d", "grid_sampler_3d")
def outside_is_the_border(op, x, grid, mode, padding, align):
    """padding_mode is always `border`."""
    return op(x, grid, mode, 1, align)


@op(
    "indexing",
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_fused_attention_overrideable",
)
def attention_looks_ahead(op, q, k, v, dropout=0.0, causal=False, **more):
    """is_causal is not looked at."""
    return op(q, k, v, dropout, False, **more) if causal else None
