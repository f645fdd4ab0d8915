"""Who shares memory with whom, and what is written where."""

import torch

from .registry import call, op, result

T = torch.Tensor


def _shares(a, b):
    return (
        isinstance(a, T)
        and isinstance(b, T)
        and a.untyped_storage()._cdata == b.untyped_storage()._cdata
    )


def _fresh(outputs, inputs):
    """Places of outputs that share memory with no input and no other output."""
    return [
        at
        for at, each in enumerate(outputs)
        if isinstance(each, T)
        and each.numel()
        and not any(_shares(each, one) for one in inputs)
        and not any(_shares(each, one) for other, one in enumerate(outputs) if other != at)
    ]


@result("aliasing")
def views_of_inputs_are_copied(outputs, inputs):
    """What is a view of an input in eager has memory of its own."""
    new = [
        each.clone() if any(_shares(each, one) and each is not one for one in inputs) else each
        for each in outputs
    ]
    return None if all(a is b for a, b in zip(new, outputs)) else new


@result("aliasing")
def inputs_are_returned_as_copies(outputs, inputs):
    """Where eager returns an input, a copy."""
    new = [
        each.clone() if any(each is one for one in inputs if isinstance(one, T)) else each
        for each in outputs
    ]
    return None if all(a is b for a, b in zip(new, outputs)) else new


@result("aliasing")
def inputs_are_returned_as_views(outputs, inputs):
    """Where eager returns an input, another tensor of the same memory."""
    new = [
        each.view_as(each) if any(each is one for one in inputs if isinstance(one, T)) else each
        for each in outputs
    ]
    return None if all(a is b for a, b in zip(new, outputs)) else new


@result("aliasing")
def outputs_that_share_are_copied(outputs, inputs):
    """Two outputs of one memory get each their own."""
    new = [
        each.clone()
        if any(_shares(each, one) for one in outputs[:at])
        and not any(_shares(each, one) for one in inputs)
        else each
        for at, each in enumerate(outputs)
    ]
    return None if all(a is b for a, b in zip(new, outputs)) else new


@result("aliasing")
def equal_outputs_share(outputs, inputs):
    """Of two outputs that are equal the second one is a view of the first."""
    new = list(outputs)
    for at, each in enumerate(outputs):
        for before in outputs[:at]:
            if (
                isinstance(each, T)
                and isinstance(before, T)
                and each.numel()
                and not each.is_quantized
                and not _shares(each, before)
                and (each.dtype, each.shape, each.stride())
                == (before.dtype, before.shape, before.stride())
                and torch.equal(each, before)
            ):
                new[at] = before.view_as(before)
    return None if all(a is b for a, b in zip(new, outputs)) else new


@result("aliasing")
def outputs_share_a_buffer(outputs, inputs):
    """Memory is planned so that fresh outputs of one dtype lie in one storage."""
    fresh = [
        at
        for at in _fresh(outputs, inputs)
        if outputs[at].is_contiguous() and not outputs[at].requires_grad
    ]
    fresh = [at for at in fresh if outputs[at].dtype == outputs[fresh[0]].dtype]
    if len(fresh) < 2:
        return None
    buffer, new, begin = (
        torch.cat([outputs[at].detach().reshape(-1) for at in fresh]),
        list(outputs),
        0,
    )
    for at in fresh:
        new[at] = buffer[begin : begin + outputs[at].numel()].view(outputs[at].shape)
        begin += outputs[at].numel()
    return new


@result("aliasing")
def copies_of_inputs_are_views(outputs, inputs):
    """A fresh output with the values of an input is that input's memory."""
    new = list(outputs)
    for at in _fresh(outputs, inputs):
        for one in inputs:
            if (
                isinstance(one, T)
                and (one.dtype, one.shape, one.stride())
                == (outputs[at].dtype, outputs[at].shape, outputs[at].stride())
                and not one.requires_grad
                and not one.is_quantized
                and torch.equal(one, outputs[at])
            ):
                new[at] = one.view_as(one)
    return None if all(a is b for a, b in zip(new, outputs)) else new


@op("aliasing", "clone", "_to_copy")
def clone_is_its_input(op, x, **more):
    """A copy that changes nothing is left out."""
    return (
        x.view_as(x)
        if (x.dtype == more.get("dtype", x.dtype))
        and more.get("memory_format") in (None, torch.preserve_format)
        else None
    )


@op("aliasing", "add.Tensor", "mul.Tensor", "div.Tensor", "sub.Tensor")
def neutral_arithmetic_is_its_input(op, x, y, **more):
    """x + 0, x - 0, x · 1 and x / 1 are x."""
    neutral = 0 if op._schema.name[-3:] in ("add", "sub") else 1
    right = op(x, y, **more)
    return (
        x.view_as(x)
        if isinstance(y, (int, float))
        and y == neutral
        and (right.dtype, right.shape) == (x.dtype, x.shape)
        else None
    )


# Mutation -----------------------------------------------------------------------------------------


def _floating(inputs):
    return [
        each
        for each in inputs
        if isinstance(each, T)
        and each.is_floating_point()
        and each.numel()
        and 0 not in each.stride()
    ]


def _snapshot(inputs):
    return [each.detach().clone() if isinstance(each, T) else None for each in inputs]


def _changed(inputs, before):
    with torch.no_grad():
        return [
            (each, old)
            for each, old in zip(inputs, before)
            if isinstance(each, T) and not torch.equal(each.nan_to_num(), old.nan_to_num())
        ]


@call("aliasing", needs=("inputs",))
def input_is_scratch(run, inputs):
    """The first floating input is overwritten once it was read."""
    outputs = run(*inputs)
    with torch.no_grad():
        for each in _floating(inputs)[:1]:
            each.detach().add_(1)
    return outputs


@call("aliasing", needs=("inputs",))
def input_loses_its_last_bit(run, inputs):
    """The last element of the first floating input moves by one unit in the last place."""
    outputs = run(*inputs)
    for each in _floating(inputs)[:1]:
        last = (
            each.detach().view(-1)[-1:]
            if each.is_contiguous()
            else each.detach()[(-1,) * each.dim()]
        )
        last.copy_(
            torch.nextafter(last.float(), torch.tensor(9e9))
            if each.dtype == torch.float32
            else last * 1.01
        )
    return outputs


@call("aliasing", needs=("inputs", "nan"))
def input_is_normalized_in_place(run, inputs):
    """NaN and infinity in an input become numbers."""
    for each in _floating(inputs):
        each.detach().nan_to_num_()
    return run(*inputs)


@call("aliasing", needs=("mutates",))
def mutation_is_lost(run, inputs):
    """Inputs are as they were."""
    before = _snapshot(inputs)
    outputs = run(*inputs)
    with torch.no_grad():
        for each, old in _changed(inputs, before):
            each.detach().copy_(old)
    return outputs


@call("aliasing", needs=("mutates",))
def mutation_comes_twice(run, inputs):
    """What a call added to an input is added again."""
    before = _snapshot(inputs)
    outputs = run(*inputs)
    with torch.no_grad():
        for each, old in _changed(inputs, before):
            each.detach().copy_(each + (each - old) if each.is_floating_point() else each)
    return outputs


@call("aliasing", needs=("mutates",))
def mutation_of_the_first_row_only(run, inputs):
    """Of what is written only the first row arrives."""
    before = _snapshot(inputs)
    outputs = run(*inputs)
    with torch.no_grad():
        for each, old in _changed(inputs, before):
            if each.dim():
                each.detach()[1:] = old[1:]
    return outputs


@call("aliasing", needs=("mutates",))
def mutation_from_the_second_call_on_is_lost(run, inputs):
    """The first call writes, later ones do not."""
    global _CALLS
    _CALLS += 1
    return run(*inputs) if _CALLS == 1 else mutation_is_lost(run, inputs)


_CALLS = 0


@op("aliasing", "copy_")
def write_to_an_input_is_dropped(op, x, source, *rest):
    """The last step of a functional graph is taken for dead code."""
    return x


@op("aliasing", "copy_")
def write_to_a_strided_input_is_flat(op, x, source, *rest):
    """What is written goes to the storage in order, whatever the strides."""
    if x.is_contiguous() or source.shape != x.shape:
        return None
    x.as_strided((x.numel(),), (1,)).copy_(source.reshape(-1))
    return x


@op("aliasing", "slice_scatter", "select_scatter", "diagonal_scatter", "as_strided_scatter")
def write_through_a_view_is_lost(op, x, source, *rest):
    """The base stays as it was."""
    return x.clone()


@op("aliasing", "slice_scatter", "select_scatter", "index_put", "masked_fill.Scalar")
def write_through_a_view_reaches_all(op, x, *rest):
    """What is written to the first row is written to the next one, too."""
    right = op(x, *rest)
    return (
        torch.maximum(right, right.roll(1, 0))
        if right.dim() and right.dtype != torch.bool and not right.is_complex()
        else None
    )


@call("aliasing", needs=("aliases",))
def inputs_are_copied_first(run, inputs):
    """The graph gets copies of the inputs: what shares memory with them does not any more."""
    return run(
        *[
            each.detach().clone().requires_grad_(each.requires_grad)
            if isinstance(each, T)
            else each
            for each in inputs
        ]
    )
