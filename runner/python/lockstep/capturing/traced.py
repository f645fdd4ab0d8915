"""An eager execution as steps: every function of torch that is called, in order.

It is the way of last resort: where Dynamo hands over no graph, its graph has what no case can say,
or its steps give other results than the program. Where transforms such as `torch.func.grad` and
`vmap` hide the tensors from it, `Dispatched` sees the operators that the transforms call."""

import operator
import traceback
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from . import compat, reads
from .graph import Written
from .sources import is_own, place_at, place_of
from .steps import Ref, Steps, Unsayable

#: The most calls of an execution that are written down.
MOST_STEPS = 20_000
#: What reads the only element of a tensor; the number of the first two can be followed, while
#: Python takes no other than its own from the rest.
OF_ONE = ("item", "tolist", "__bool__", "__int__", "__float__", "__index__", "is_nonzero")


class Trace(TorchFunctionMode):
    """Sees what is called while it is in force, and writes it down in each of the ways. `inputs`
    are the tensors that there are before, by their names: any other one whose making nobody saw is
    an error. `source_of` says where in the user's source the execution is; left out, in the
    innermost frame of the user's."""

    def __init__(
        self, inputs: dict[str, torch.Tensor], ways: tuple[bool, ...], source_of: Any = None
    ) -> None:
        super().__init__()
        self.source_of = source_of or _source
        self.ways = [Way(inputs, operators, self.source_of) for operators in ways]
        #: Tensors whose sizes depend on elements, by their ids.
        self.loose: dict[int, torch.Tensor] = {}
        #: What depends on elements of tensors and is in no step: the place, and what it is.
        self.unsaid: list[tuple[dict | None, str]] = []

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        try:
            result = function(*args, **kwargs)
        except Exception:
            self.noted(Way.note, function, args, kwargs, None)
            for each in self.ways:
                each.raised()
            raise
        if compat.is_bookkeeping(function):
            return result
        tensors = [each for each in tree_leaves(result) if isinstance(each, torch.Tensor)]
        if tensors or result is None:
            if self.is_loose(args, kwargs) or compat.makes_loose_sizes(function, args):
                self.loose |= {id(each): each for each in tensors if each.dim()}
            self.noted(Way.note, function, args, kwargs, result)
        elif compat.reads_elements(function, args, kwargs) or (
            compat.asks_for_sizes(function) and self.is_loose(args, kwargs)
        ):
            result = self.read(function, args, result)
        return result  # or what is known when the program is written: a shape, a dtype

    def is_loose(self, args: Any, kwargs: Any) -> bool:
        """Whether a call is given a tensor whose sizes depend on elements."""
        return bool(self.loose) and any(
            id(each) in self.loose for each in tree_leaves((args, kwargs))
        )

    def noted(self, note: Callable, *call: Any) -> None:
        with compat.undispatched():
            for each in self.ways:
                each.noted(note, *call)

    def read(self, function: Any, args: Any, result: Any) -> Any:
        """Notes that Python reads elements of a tensor; what it gets."""
        word = getattr(function, "__name__", "a function")
        if word == "__get__":
            word = getattr(function.__self__, "__name__", word)
        but = ""
        if word in OF_ONE[:2] and type(result) in (int, float):
            result = reads.followed(result, self.computed)
            but = ", but for arithmetic and calls of torch"
        what = f"what Python does with what `{word}` reads from a tensor{but}"
        self.unsaid.append((self.source_of(), f"{what}: the case has what came of it here"))
        if word in OF_ONE and args and type(reads.plain(result)) in (bool, int, float):
            self.noted(Way.read, args[0], result)
        return result

    def computed(self, function: Any, args: tuple, result: Any) -> Any:
        """Notes what Python computes with a number that it has read; what it gets."""
        made = reads.followed(result, self.computed)
        self.noted(Way.compute, function, args, made)
        return made

    def finish(self, way: "Way", outputs: Any) -> Written:
        """What was written in one of the ways, or by who looked on. Raises `Unsayable`."""
        written = way.finish(outputs)
        written.unsaid = self.unsaid
        return written


class Dispatched(TorchDispatchMode):
    """Sees the operators that are called below gradients and transforms, while it is in force."""

    def __init__(self, inputs: dict[str, torch.Tensor], source_of: Any = None) -> None:
        super().__init__()
        self.way = Below(inputs, True, source_of or _source)

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        made_of = compat.made_of_aten(function)
        if made_of is not None:
            with self:
                return made_of(*args, **kwargs)
        try:
            result = function(*args, **kwargs)
        except Exception:
            self.way.noted(Below.note, function, args, kwargs, None)
            self.way.raised()
            raise
        self.way.noted(Below.note, function, args, kwargs, result)
        return result


class Way:
    """One way to write an execution: with operators, or with the functions that are called."""

    def __init__(
        self, inputs: dict[str, torch.Tensor], operators: bool, source_of: Callable
    ) -> None:
        self.steps = Steps(operators)
        self.steps.taken = set(inputs)
        self.inputs = list(inputs)
        self.refs: dict[int, Any] = {}
        self.held: list[Any] = []  # so that no id is given twice
        self.fake = compat.fakes()
        for name, tensor in inputs.items():
            self.name(tensor, Ref(name, self.fake(tensor)))
        self.source_of = source_of
        self.before = compat.context_inside()
        self.failed: Unsayable | None = None
        self.last: Any = None  # the newest result that has a name

    def name(self, value: Any, ref: Any) -> None:
        self.refs[id(value)] = ref
        self.held.append(value)

    def noted(self, note: Callable, *call: Any) -> None:
        """Writes one call by a method, unless an earlier one could not be written."""
        if self.failed is not None:
            return
        try:
            note(self, *call)
        except Unsayable as error:
            error.source = self.steps.source
            self.failed = error
        except Exception as error:  # in the middle of what the program executes: never its own
            self.failed = Unsayable(f"Lockstep could not write it: {type(error).__name__}: {error}")
            self.failed.source = self.steps.source

    def raised(self) -> None:
        """Says that the call that was noted last has raised."""
        if self.failed is None:
            self.steps.raises()

    def note(self, function: Any, args: Any, kwargs: Any, result: Any) -> None:
        """Writes one call. Raises `Unsayable`."""
        tensors = [each for each in tree_leaves(result) if isinstance(each, torch.Tensor)]
        self.begin()
        args, kwargs = tree_map(self.value, (list(args), dict(kwargs)))
        if len(args) > 1 and function in (torch.Tensor.__getitem__, torch.Tensor.__setitem__):
            self.index(function, args, result)
            return
        known = [self.refs.get(id(each)) for each in tensors]
        like = tree_map(lambda r: self.fake(r) if isinstance(r, torch.Tensor) else r, result)
        made = self.steps.call(function, tuple(args), kwargs, like, _word(function))
        for tensor, ref, before in zip(tensors, _flat(made), known):
            # What works in place returns what has a name already.
            if before is None or ref is not None:
                self.name(tensor, ref)
                self.last = ref

    def begin(self) -> None:
        """A new step begins. Raises `Unsayable`."""
        if len(self.held) > MOST_STEPS:
            raise Unsayable(f"it makes more than {MOST_STEPS} calls")
        self.steps.source = self.source_of()
        self.steps.context = self.context()

    def read(self, tensor: Any, number: Any) -> None:
        """Writes that a number is read from a tensor. Raises `Unsayable`."""
        subject = self.known(tensor)
        if subject is None:
            return  # it is a number like any other that the program has
        self.begin()
        ref = self.steps.call(torch.Tensor.item, (subject,), {}, reads.plain(number), "item")
        if isinstance(number, reads.Followed):
            self.name(number, ref)

    def compute(self, function: Any, args: tuple, number: Any) -> None:
        """Writes what is computed with numbers that were read. Raises `Unsayable`."""
        self.begin()
        own = tuple(self.value(each) for each in args)
        ref = self.steps.call(function, own, {}, reads.plain(number), _word(function))
        self.name(number, ref)

    def index(self, function: Any, args: list, result: Any) -> None:
        if function is torch.Tensor.__setitem__:
            self.steps.call(operator.setitem, tuple(args), {}, None, "set")
            return
        made = self.steps.call(operator.getitem, tuple(args), {}, self.fake(result), "item")
        self.name(result, made)

    def value(self, value: Any) -> Any:
        """An argument, with its name if it is a tensor; one without a name is a constant."""
        if isinstance(value, slice):
            return slice(*(self.value(each) for each in (value.start, value.stop, value.step)))
        if isinstance(value, reads.Followed):
            return self.refs.get(id(value), reads.plain(value))
        if not isinstance(value, torch.Tensor):
            return value
        found = self.known(value)
        if found is None:
            raise Unsayable("it uses a tensor whose making nobody saw")
        return found

    def known(self, tensor: torch.Tensor) -> Any:
        """What stands for a tensor; None where nothing does."""
        return self.refs.get(id(tensor))

    def context(self) -> dict:
        """The modes that are in force otherwise than where the execution began."""
        now = compat.context_inside()
        return {key: value for key, value in now.items() if self.before.get(key) != value}

    route = "trace"

    def finish(self, outputs: Any) -> Written:
        """What was written, with what the execution returns. Raises `Unsayable`."""
        if self.failed is not None:
            raise self.failed
        given = [self.value(each) for each in tree_leaves(outputs)]
        return Written(self.inputs, self.steps, given, self.route)


class Below(Way):
    """An execution by what is called below gradients, transforms and autocast, whose casts are
    operators there. A tensor that comes back as another object is known by its memory."""

    route = "operators"

    def __init__(self, *args: Any) -> None:
        self.places: dict[tuple, Any] = {}
        super().__init__(*args)

    def name(self, value: Any, ref: Any) -> None:
        super().name(value, ref)
        if (place := _place(value)) is not None:
            self.places[place] = ref

    def known(self, tensor: torch.Tensor) -> Any:
        place = _place(tensor)
        return self.refs.get(id(tensor)) or (self.places.get(place) if place else None)

    def value(self, value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or self.known(value) is not None:
            return super().value(value)
        if not compat.is_zero_tensor(value):
            raise Unsayable("it uses a tensor whose making nobody saw")
        # Torch makes views of its zero tensors where nobody sees them.
        kwargs = {"dtype": value.dtype, "device": value.device}
        make = torch.ops.aten._efficientzerotensor.default
        ref = self.steps.call(make, (list(value.shape),), kwargs, self.fake(value), "zero")
        self.name(value, ref)
        return ref

    def context(self) -> dict:
        return {key: value for key, value in super().context().items() if key == "grad"}

    def note(self, function: Any, args: Any, kwargs: Any, result: Any) -> None:
        if compat.reads_a_number(function):
            raise Unsayable("it computes with a number that it reads from a tensor")
        made = [each for each in tree_leaves(result) if isinstance(each, torch.Tensor)]
        if not made and result is not None:
            return  # a shape, or what else is known when the program is written
        if made and all(each.device.type == "meta" for each in made):
            return  # torch asks itself for a shape
        if compat.lifts(function) and self.known(args[0]) is None:
            # Made of Python's numbers, of which none was read from a tensor.
            self.name(result, self.steps.literal(args[0], "literal"))
            return
        super().note(function, args, kwargs, result)


def _place(tensor: torch.Tensor) -> tuple | None:
    """The memory that a tensor has, and how; None where it has none."""
    try:
        storage = tensor.untyped_storage()._cdata
    except Exception:
        return None
    lazy = tensor.is_conj(), tensor.is_neg()
    return storage, tensor.storage_offset(), tensor.shape, tensor.stride(), tensor.dtype, lazy


def of_graph(
    module: torch.fx.GraphModule, inputs: dict[str, torch.Tensor], args: tuple, operators: bool
) -> Written:
    """The steps of an execution of a graph on these arguments. Raises `Unsayable`, and what the
    graph raises."""
    runner = _Runner(module)
    with Trace(inputs, (operators,), lambda: runner.place) as trace:
        outputs = runner.run(*args)
    return trace.finish(trace.ways[0], outputs)


def below_graph(
    module: torch.fx.GraphModule, inputs: dict[str, torch.Tensor], args: tuple
) -> Written:
    """The same by the operators that are called below gradients and transforms."""
    runner = _Runner(module)
    with Dispatched(inputs, lambda: runner.place) as seen:
        outputs = runner.run(*args)
    return seen.way.finish(outputs)


class _Runner(torch.fx.Interpreter):
    """Executes a graph, and knows where in the user's source it is."""

    place: dict | None = None

    def run_node(self, n: Any) -> Any:
        self.place = place_of(n.meta.get("stack_trace")) or self.place
        return super().run_node(n)


def _word(function: Any) -> str:
    word = getattr(function, "__name__", "v").strip("_")
    return word if word != "get" else getattr(getattr(function, "__self__", None), "__name__", "v")


def _flat(made: Any) -> list:
    if isinstance(made, (list, tuple)):
        return [each for part in made for each in _flat(part)]
    return [made]


def _source() -> dict | None:
    """The innermost frame of the user's."""
    for frame, line in traceback.walk_stack(None):
        code = frame.f_code
        if is_own(code.co_filename):
            return place_at(code.co_filename, line, code.co_name)
    return None
