"""Random numbers: another seed, the same ones, another distribution, and a generator that is left
behind elsewhere."""

import torch

from .registry import op

T = torch.Tensor
#: What draws, as AOT autograd has it.
DRAWS = tuple(
    """
        rand rand_like randn randn_like bernoulli bernoulli.p bernoulli.Tensor normal_functional
        uniform randint randint.low randint_like randint_like.low_dtype randperm native_dropout
        multinomial exponential normal normal.Tensor_float normal.float_Tensor normal.Tensor_Tensor
        normal.float_float geometric cauchy log_normal poisson rrelu_with_noise_functional
    """.split()
)
_FIRST: dict = {}
_DRAWN = 0


@op("random", *DRAWS)
def another_seed(op, *args, **more):
    """The numbers of another seed."""
    torch.manual_seed(torch.initial_seed() + 1)
    return op(*args, **more)


@op("random", *DRAWS)
def generator_is_not_used(op, *args, **more):
    """A generator of the backend's own: the state of torch's stays as it was."""
    state = torch.get_rng_state()
    torch.manual_seed(torch.initial_seed() + 2)
    right = op(*args, **more)
    torch.set_rng_state(state)
    return right


@op("random", *DRAWS)
def state_is_not_advanced(op, *args, **more):
    """The numbers are right, and the next ones are the same."""
    state = torch.get_rng_state()
    right = op(*args, **more)
    torch.set_rng_state(state)
    return right


@op("random", *DRAWS)
def generator_is_advanced_twice(op, *args, **more):
    """After the right numbers others are drawn, which nobody asked for."""
    right = op(*args, **more)
    torch.rand(7)
    return right


@op("random", *DRAWS)
def random_numbers_are_folded(op, *args, **more):
    """The numbers of the first draw of an operator are kept as a constant."""
    key = str(op), str([each.shape if isinstance(each, T) else each for each in args])
    if key not in _FIRST:
        _FIRST[key] = op(*args, **more)
    kept = _FIRST[key]
    return kept.clone() if isinstance(kept, T) else tuple(each.clone() for each in kept)


@op("random", *DRAWS)
def draws_are_common_subexpressions(op, *args, **more):
    """Of two draws with the same arguments in one graph the second one is the first."""
    global _DRAWN
    _DRAWN += 1
    key = (
        "cse",
        str(op),
        str([each.shape if isinstance(each, T) else each for each in args]),
        torch.initial_seed(),
    )
    if key not in _FIRST:
        _FIRST[key] = op(*args, **more)
        return None if not isinstance(_FIRST[key], T) else _FIRST[key].clone()
    kept = _FIRST[key]
    return kept.clone() if isinstance(kept, T) else tuple(each.clone() for each in kept)


@op("random", "rand", "rand_like", "uniform")
def uniform_from_the_other_end(op, *args, **more):
    """(0, 1] instead of [0, 1)."""
    right = op(*args, **more)
    return 1 - right if not op._schema.name.endswith("uniform") else None


@op("random", "uniform")
def bounds_of_uniform_are_ignored(op, x, low=0.0, high=1.0, **more):
    """Between 0 and 1."""
    return op(x, 0.0, 1.0, **more)


@op("random", "bernoulli.p", "bernoulli", "bernoulli.Tensor")
def probability_is_the_others(op, x, *p, **more):
    """1 - p instead of p."""
    return op(x, 1 - p[0], **more) if p else op(1 - x, **more)


@op("random", "native_dropout")
def dropout_keeps_what_it_should_drop(op, x, p, train):
    """1 - p instead of p."""
    return op(x, 1 - p, train) if train else None


@op("random", "native_dropout", "div.Scalar", "div_.Scalar")
def dropout_is_not_scaled(op, x, p, *rest):
    """What is kept is not divided by 1 - p."""
    if not op._schema.name.endswith("dropout"):
        return (
            x.clone()
            if isinstance(x, T) and x.numel() and bool(((x == 0) | (x == 1)).all())
            else None
        )
    right, mask = op(x, p, *rest)
    return right * (1 - p), mask


@op("random", "native_dropout")
def dropout_in_evaluation(op, x, p, train):
    """`train` is taken for true."""
    return op(x, p or 0.5, True) if not train else None


@op(
    "random",
    *"""
        randn randn_like normal_functional normal.Tensor_float normal.float_Tensor
        normal.Tensor_Tensor
    """.split(),
)
def normal_is_not_centred(op, *args, **more):
    """The mean is off by a hundredth."""
    return op(*args, **more) + 0.01


@op(
    "random",
    "normal_functional",
    "normal.Tensor_float",
    "normal.float_Tensor",
    "normal.Tensor_Tensor",
    "normal",
)
def deviation_is_a_variance(op, *args, **more):
    """Its square root is taken."""
    at = 2 if "functional" in op._schema.name else 1
    return op(*[each**0.5 if i == at else each for i, each in enumerate(args)], **more)


@op("random", "randint", "randint.low", "randint_like", "randint_like.low_dtype")
def upper_bound_is_drawn(op, *args, **more):
    """`high` is among the numbers."""
    at = next(
        i
        for i in range(len(args) - 1, -1, -1)
        if isinstance(args[i], int) and not isinstance(args[i], bool)
    )
    return op(*[each + 1 if i == at else each for i, each in enumerate(args)], **more)


@op("random", "randint.low", "randint_like.low_dtype")
def lower_bound_is_ignored(op, *args, **more):
    """From 0 on."""
    at = next(i for i, each in enumerate(args) if isinstance(each, int))
    return op(*[0 if i == at else each for i, each in enumerate(args)], **more)


@op("random", "randperm")
def permutation_with_repetition(op, n, **more):
    """Places are drawn independently."""
    return op(n, **more) // 2 * 2 if n > 1 else None


@op("random", "multinomial")
def drawn_with_replacement(op, x, n, replacement=False, **more):
    """`replacement` is taken for true."""
    return op(x, n, True, **more) if not replacement else None


@op("random", "exponential", "geometric", "cauchy", "log_normal", "poisson")
def parameter_of_a_distribution_is_ignored(op, x, *rest, **more):
    """Its default is taken."""
    return (
        op(x, **more)
        if op._schema.name.rpartition("::")[2] in ("exponential", "cauchy", "log_normal")
        else op(x, 0.5)
        if rest
        else None
    )


@op("random", "rand", "randn", "rand_like", "randn_like")
def numbers_are_drawn_in_short(op, *args, **more):
    """Numbers have the bits of float16."""
    right = op(*args, **more)
    return right.half().to(right.dtype) if right.dtype == torch.float32 else None
