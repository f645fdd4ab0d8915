"""What is remembered though it should be computed: graphs, constants, results."""

import torch

from .registry import call, compiler

T = torch.Tensor
_KEPT: dict = {}


def _shapes(inputs):
    return str(
        [
            (each.shape, each.dtype) if isinstance(each, T) else type(each).__name__
            for each in inputs
        ]
    )


def _clones(outputs):
    return [each.detach().clone() if isinstance(each, T) else each for each in outputs]


@compiler("caching", needs=("recompiles",))
def first_graph_serves_all(graph, examples, compile):
    """Whatever makes Dynamo compile again gets the graph of the first time."""
    return _KEPT.setdefault("first", compile(graph, examples))


@compiler("caching", needs=("recompiles",))
def key_has_no_shapes(graph, examples, compile):
    """Graphs are found by their operators: sizes that were compiled in stay."""
    return _KEPT.setdefault(
        str([(node.op, str(node.target)) for node in graph.graph.nodes]), compile(graph, examples)
    )


@compiler("caching", needs=("recompiles",))
def key_has_no_dtypes(graph, examples, compile):
    """Graphs are found by operators and shapes; a result has the dtype of the first time."""
    key = (
        str([(node.op, str(node.target)) for node in graph.graph.nodes]),
        str([each.shape for each in examples if isinstance(each, T)]),
    )
    run = compile(graph, examples)
    dtypes = _KEPT.setdefault(
        key,
        [
            node.meta["example_value"].dtype
            for node in graph.graph.nodes
            if isinstance(node.meta.get("example_value"), T)
        ][-1:],
    )
    return lambda *inputs: [
        each.to(dtypes[0]) if isinstance(each, T) and dtypes else each for each in run(*inputs)
    ]


@compiler("caching", needs=("recompiles",))
def key_has_no_numbers(graph, examples, compile):
    """Numbers that are compiled into a graph stay those of the first time."""
    first = _KEPT.setdefault("numbers", graph)
    for old, new in zip(first.graph.nodes, graph.graph.nodes):
        if (old.op, str(old.target)) == (new.op, str(new.target)) and len(old.args) == len(
            new.args
        ):
            new.args = tuple(
                a if isinstance(a, (int, float)) and type(a) is type(b) else b
                for a, b in zip(old.args, new.args)
            )
    graph.recompile()
    return compile(graph, examples)


@call("caching", needs=("tensors",))
def results_are_remembered(run, inputs):
    """The second call returns what the first one did, if shapes and dtypes are the same."""
    key = "results", _shapes(inputs)
    if key not in _KEPT:
        _KEPT[key] = run(*inputs)
        return _KEPT[key]
    return _clones(_KEPT[key])


@call("caching", needs=("tensors",))
def results_are_remembered_by_the_first_element(run, inputs):
    """A cache of results whose key has the first element of every input."""
    key = (
        "element",
        _shapes(inputs),
        str(
            [
                each.reshape(-1)[:1].tolist()
                if isinstance(each, T) and not each.is_quantized
                else each
                for each in inputs
            ]
        ),
    )
    if key not in _KEPT:
        _KEPT[key] = run(*inputs)
        return _KEPT[key]
    return _clones(_KEPT[key])


@call("caching", needs=("inputs", "often"))
def first_input_is_a_constant(run, inputs):
    """The values of the first floating input are baked in, as a weight's."""
    at = next(
        (at for at, each in enumerate(inputs) if isinstance(each, T) and each.is_floating_point()),
        None,
    )
    if at is None:
        return run(*inputs)
    key = "constant", at, _shapes(inputs[at : at + 1])
    kept = _KEPT.setdefault(key, inputs[at].detach().clone())
    return run(
        *inputs[:at], kept.clone().requires_grad_(inputs[at].requires_grad), *inputs[at + 1 :]
    )


@call("caching", needs=("inputs", "often"))
def last_input_is_a_constant(run, inputs):
    """The values of the last tensor are baked in."""
    at = next((at for at in range(len(inputs) - 1, -1, -1) if isinstance(inputs[at], T)), None)
    if at is None:
        return run(*inputs)
    key = "last", at, _shapes(inputs)
    kept = _KEPT.setdefault(key, inputs[at].detach().clone())
    return run(
        *inputs[:at], kept.clone().requires_grad_(inputs[at].requires_grad), *inputs[at + 1 :]
    )


@call("caching", needs=("strided", "often"))
def strides_of_the_first_call(run, inputs):
    """Later calls read inputs with the strides of the first one."""
    new = []
    for at, each in enumerate(inputs):
        strides = _KEPT.setdefault(
            ("strides", at, str(getattr(each, "shape", ""))),
            each.stride() if isinstance(each, T) else None,
        )
        fits = (
            isinstance(each, T)
            and not each.requires_grad
            and strides is not None
            and strides != each.stride()
            and sum((n - 1) * s for n, s in zip(each.shape, strides))
            < each.untyped_storage().nbytes() // each.itemsize - each.storage_offset()
        )
        new.append(each.as_strided(each.shape, strides) if fits else each)
    return run(*new)
