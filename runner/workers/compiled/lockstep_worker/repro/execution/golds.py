"""More exact executions of the same program, which tell which side of a difference errs.

fp64: every tensor is float64 from the start; casts to other floats vanish. stepwise: each operator
in float64, its results rounded to the dtypes of eager. With noise: each result rounded up or down
by chance (fp64_noise), or moved by the error of a kernel before it is rounded (stepwise_noise)."""

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from ..script.policies import unit
from ..script.values import Lost

#: Operators that take numbers in float32 beside 16 bits, and those of the dtype itself.
IN_FLOAT32 = {*"mul div addcmul addcdiv celu elu leaky_relu lerp softplus threshold".split()}
OF_THE_DTYPE = {"nan_to_num", "nextafter"}


def widened(value: Any, copy: bool = True) -> Any:
    """A tensor or a dtype, of 64 bits if it is floating; anything else as it is."""
    dtype = getattr(value, "dtype", value)
    if isinstance(dtype, torch.dtype) and (dtype.is_complex or dtype.is_floating_point):
        dtype = torch.complex128 if dtype.is_complex else torch.float64
    return value.to(dtype, copy=copy) if isinstance(value, torch.Tensor) else dtype


def real(tensor: torch.Tensor) -> torch.Tensor:
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor


def inexact(wide: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Where numbers round in a dtype; what only float64 holds counts as rounded."""
    steps = wide / unit(wide, torch.float32 if dtype == torch.float64 else dtype)
    return (steps != steps.trunc()) & wide.isfinite()


class Steps(TorchDispatchMode):
    """Executes operators for a gold; or, for none, as they are, and takes down what a gold cannot
    redo alone: numbers that were drawn, and dtypes whose bits were looked at as another's."""

    def __init__(self, kind: str, notes: list, sample: int = 0) -> None:
        super().__init__()
        self.kind, self.notes, self.noted = kind, notes, iter(notes)
        self.chance = torch.Generator().manual_seed(sample)

    def inputs(self, given: dict[str, Any]) -> dict[str, Any]:
        """The inputs of a gold: for fp64 they are wide, with the same memory shared."""
        flats: dict[tuple, torch.Tensor] = {}
        for name, each in given.items() if self.kind == "fp64" else ():
            if isinstance(each, torch.Tensor) and widened(each.dtype) != each.dtype:
                if each.is_quantized or each.is_conj() or each.is_neg():
                    raise Lost(f"{name} cannot be widened as it is")
                storage = each.untyped_storage()
                flat = torch.empty(0, dtype=each.dtype, device=each.device).set_(storage)
                flat = flats.setdefault((storage._cdata, each.dtype), widened(flat))
                wide = flat.as_strided(each.shape, each.stride(), each.storage_offset())
                given = given | {name: wide.requires_grad_(each.requires_grad)}
        return given

    def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs, looks, wide = kwargs or {}, str(op) == "aten.view.dtype", self.kind == "fp64"
        draws, note = torch.Tag.nondeterministic_seeded in op.tags, (op, None)
        if not self.kind:
            result = op(*args, **kwargs)
            if draws or looks:
                seen = tree_map(lambda each: getattr(each, "clone", lambda: each)(), result)
                self.notes.append((op, args[0].dtype if looks else seen))
            return result
        if (draws or looks) and (note := next(self.noted, (None, None)))[0] is not op:
            raise Lost(f"{op} is not where eager has it")
        if draws:
            return self.drawn(op, args, tree_map(widened, note[1]) if wide else note[1])
        if not wide:
            return self.rounded(op, args, kwargs)
        if looks:
            return widened(op(args[0].to(note[1]), args[1]))
        torch.set_default_dtype(torch.float64)
        args, kwargs = tree_map(lambda each: widened(each, copy=False), (args, kwargs))
        return tree_map(lambda each: widened(each, copy=False), op(*args, **kwargs))

    def drawn(self, op: Any, args: Any, note: Any) -> Any:
        """The numbers that eager drew, unless they hang on the values of tensors."""
        given = [each for each in tree_leaves(args) if isinstance(each, torch.Tensor)]
        if op is torch.ops.aten.native_dropout.default:
            return given[0] * note[1] / (1 - args[1] or 1), note[1]
        if op._schema.is_mutable and len(given) == 1:
            return given[0].copy_(note)
        if given and not op._schema.name.endswith("_like"):
            raise Lost(f"{op} would draw other numbers")
        return tree_map(lambda each: each.clone(), note)

    def rounded(self, op: Any, args: Any, kwargs: Any) -> Any:
        """What eager returns and writes, with the numbers that float64 has for it, rounded."""
        declared, name = op._schema.arguments, op._schema.name.removeprefix("aten::").rstrip("_")
        moves = any(each.alias_info and not each.alias_info.is_write for each in declared)
        if moves or name in OF_THE_DTYPE or torch.Tag.inplace_view in op.tags:
            return op(*args, **kwargs)
        exact, pointwise = tree_map(widened, (args, kwargs)), torch.Tag.pointwise in op.tags
        narrow = op(*args, **kwargs)
        dtype = getattr(narrow, "dtype", torch.int64)
        if pointwise and dtype.is_floating_point:
            to = torch.float32 if name in IN_FLOAT32 and dtype.itemsize < 4 else dtype
            exact = tree_map(
                lambda n: torch.tensor(n, dtype=to).item() if type(n) is float else n, exact
            )
        written = [
            tuple(a[at] if at < len(a) else k[each.name] for a, k in ((args, kwargs), exact))
            for at, each in enumerate(declared)
            if each.alias_info or each.name in ("running_mean", "running_var")
        ]

        def sides() -> list:
            better = tree_leaves(op(*exact[0], **exact[1]))
            both = [*zip(tree_leaves(narrow), better), *written]
            return [(real(a), real(b)) for a, b in both if isinstance(a, torch.Tensor)]

        found, noisy = sides(), self.kind.endswith("noise")
        noisy = noisy and any(a.is_floating_point() and inexact(b, a.dtype).any() for a, b in found)
        if noisy and not pointwise and not written:
            exact = tree_map(self.moved, (args, kwargs), exact)
            found = sides()
        kernels = self.kind == "stepwise_noise"
        for mine, wide in found:
            if noisy and not (kernels and name == "_to_copy") and mine.is_floating_point():
                signs, size = self.signs(wide), unit(wide, mine.dtype)
                steps = torch.where(signs > 0, (wide / size).ceil(), (wide / size).floor())
                other = torch.where(steps * size == wide, wide + signs * size, steps * size)
                if kernels and mine.element_size() < 4:
                    other = wide * (1 + signs * 2.0**-18)
                wide = torch.where(inexact(wide, mine.dtype), other, wide)
            mine.copy_(wide)
        return narrow

    def signs(self, like: torch.Tensor) -> torch.Tensor:
        return torch.randint(0, 2, like.shape, generator=self.chance).to(like) * 2 - 1

    def moved(self, narrow: Any, wide: Any) -> Any:
        """An operand of a sum, by one unit of the dtype in which the kernel adds."""
        if not isinstance(wide, torch.Tensor) or not wide.is_floating_point():
            return wide
        of_sums = torch.float32 if narrow.element_size() < 4 else narrow.dtype
        return wide + self.signs(wide) * unit(wide, of_sums) * (wide != 0)
