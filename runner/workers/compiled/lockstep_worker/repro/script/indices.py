"""Indices that select equal values, as those of argmax, topk and sort."""

import torch

from .view import View, floats, integers


def indices_agree(
    eager: View, compiled: View, of_eager: View, of_compiled: View, dim: int | None
) -> bool:
    """Whether every index of the two sides selects equal values of a tensor of the same call, along
    a dimension or, without one, of the flattened tensor; lies in range; and whether compiled names
    no element twice where eager names none twice."""
    if of_eager.shape != of_compiled.shape or of_eager.dtype != of_compiled.dtype:
        return False
    rank = len(of_eager.shape)
    kept = dim is None or len(eager.shape) == rank
    if dim is not None:
        dim = dim + rank if dim < 0 else dim
        if not 0 <= dim < rank:
            return False
        expected = of_eager.shape[:dim] + of_eager.shape[dim + 1 :]
        found = eager.shape[:dim] + eager.shape[dim + 1 :] if kept else eager.shape
        if expected != found:
            return False
    e, c = (_lines(view, dim if kept else None, kept) for view in (eager, compiled))
    x, y = (_sources(view, dim) for view in (of_eager, of_compiled))
    size = x.shape[1]
    inside = (e >= 0) & (e < size) & (c >= 0) & (c < size)
    wrong = ~inside & (e != c)
    if inside.any():
        left, right = (
            _selected(source, index.clamp(0, size - 1)) for source, index in ((x, e), (y, c))
        )
        wrong |= inside & ~_equal(left, right, of_eager)
    if wrong.any():
        return False
    return not kept or not _repeats(c) or _repeats(e)


def _lines(view: View, dim: int | None, kept: bool) -> torch.Tensor:
    """Indices as a matrix: a row for each line along the dimension."""
    indices = integers(view.words[..., 0], view.number)
    if not kept:
        return indices.reshape(-1, 1)
    return indices.reshape(1, -1) if dim is None else _rows(indices, dim)


def _rows(tensor: torch.Tensor, dim: int) -> torch.Tensor:
    moved = tensor.movedim(dim, -1)
    return moved.reshape(moved.shape[:-1].numel(), moved.shape[-1])


def _sources(view: View, dim: int | None) -> torch.Tensor:
    """The bits of what is indexed: lines, elements along each, parts."""
    parts = view.words.shape[-1]
    if dim is None:
        return view.words.reshape(1, view.elements, parts)
    moved = view.words.movedim(dim, -2)
    return moved.reshape(moved.shape[:-2].numel(), view.shape[dim], parts)


def _selected(source: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    return source.gather(1, index.unsqueeze(-1).expand(-1, -1, source.shape[-1]))


def _equal(left: torch.Tensor, right: torch.Tensor, of: View) -> torch.Tensor:
    same = left == right
    if of.is_float:
        x, y = floats(left, of.number), floats(right, of.number)
        same |= (x == y) | (x.isnan() & y.isnan())
    return same.all(-1)


def _repeats(lines: torch.Tensor) -> bool:
    """Whether a line names an element twice."""
    ordered = lines.sort(dim=1).values
    return bool((ordered[:, 1:] == ordered[:, :-1]).any())
