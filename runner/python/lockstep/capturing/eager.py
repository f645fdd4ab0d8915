"""A call that Dynamo fails on, captured from its eager execution."""

import inspect
import re
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import keystr, tree_flatten_with_path, tree_leaves

from .graph import Written
from .reads import plain
from .recorder import Checked, Recorder, Region
from .sources import place_of_code
from .steps import Ref, Steps, Unsayable
from .traced import Dispatched, Trace, Way


def capture(recorder: Recorder, function: Callable, args: tuple, kwargs: dict) -> None:
    """Executes a function eagerly, and writes down what it calls. Never raises: what the function
    raises belongs to what is captured."""
    region = Region(recorder, place_of_code(function))
    inputs = inputs_of(function, args, kwargs)
    noted = region.begin(inputs)
    if noted is None:
        return
    seed = torch.get_rng_state()
    trace, below = Trace(inputs, (True, False)), Dispatched(inputs)
    outputs: Any = None
    with below, trace:
        try:
            outputs = function(*args, **kwargs)
        except Exception as error:
            region.raised(noted, error)
    if noted["raised"]:
        _use_raising(region, trace, [*trace.ways, below.way])
    else:

        def by(way: Way) -> Callable[[dict], Written]:
            return lambda _: trace.finish(way, outputs)

        leaves = [plain(each) for each in tree_leaves(outputs)]
        # Operators do not tell of a backward that the program has of its own.
        graded = any(getattr(each, "requires_grad", False) for each in leaves)
        made = [by(each) for each in (*trace.ways, *([] if graded else [below.way]))]
        region.returned(noted, leaves, inputs, Checked(seed, made))


def attempt(recorder: Recorder, function: Callable, args: tuple, kwargs: dict) -> None:
    """`capture`, of a call that Dynamo failed on; what cannot be captured is said."""
    try:
        capture(recorder, function, args, kwargs)
    except Exception as error:
        recorder.spool.say(place_of_code(function), f"Lockstep could not trace it: {error}")


def _use_raising(region: Region, trace: Trace, ways: list[Way]) -> None:
    """Takes what was called until the error."""
    for each in ways:
        try:
            region.use(trace.finish(each, [each.last] if isinstance(each.last, Ref) else []))
        except Unsayable as error:
            region.spool.say(error.source, str(error))
            continue
        region.put()
        return


def inputs_of(function: Any, args: tuple, kwargs: dict) -> dict[str, torch.Tensor]:
    """The tensors that a call is given or can reach, by names."""
    names = Steps()
    found: dict[str, torch.Tensor] = {}
    seen: set[int] = set()

    def add(word: str, value: Any) -> None:
        if isinstance(value, torch.Tensor) and id(value) not in seen:
            seen.add(id(value))
            found[names.fresh(word)] = value

    owner = getattr(function, "__self__", function)
    for module in [owner, *_closure(function).values()]:
        if isinstance(module, torch.nn.Module):
            for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
                add(name, tensor)
    try:
        bound = inspect.signature(function).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        bound = {"args": args, **kwargs}
    for path, value in tree_flatten_with_path(dict(bound))[0]:
        add("_".join(re.findall(r"\w+", keystr(path))), value)
    for name, value in _closure(function).items():
        add(name, value)
    return found


def _closure(function: Any) -> dict[str, Any]:
    """What a function reads from around it: free variables and globals."""
    try:
        found = inspect.getclosurevars(getattr(function, "__func__", function))
    except (TypeError, ValueError):
        return {}
    return {**found.nonlocals, **found.globals}
