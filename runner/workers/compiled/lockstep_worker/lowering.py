"""A Python function as the aten operators that it calls: steps of the protocol.

`lower` traces a callable on real tensors before anything is dispatched, so that composite operators
(`aten::linear`, `aten::layer_norm`) stay whole. The steps are taken only if they give the bits of
the callable on the same inputs. Whoever has such steps can have golds made of them; a program that
is captured from a compiled function is one such callable, too."""

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from .applied import ROLES, inner
from .compat import graphs
from .problems import Malformed, Unsupported
from .source import called, compile_text, generate

#: The name of `Calls.record` in a source.
RECORD = "lockstep_record"


class NotLowered(Exception):
    """A function has no such steps; the message says why, in one sentence."""


class Lowered(NamedTuple):
    """Steps, and what the function returns as a value of the protocol: a reference, or a list."""

    steps: list[dict]
    results: Any


def lower(
    function: Callable,
    inputs: dict[str, torch.Tensor],
    fresh: Callable[[str], str],
    kernels: bool = False,
) -> Lowered:
    """The steps of a function of tensors, which are given by position; `inputs` are they by the
    names that the steps use, `fresh` gives names that nobody uses yet. `kernels`: take operators
    that are not aten's apart. Raises `NotLowered`."""
    before = torch.get_rng_state()
    with torch.no_grad():
        try:
            nodes = graphs.trace(function, _copies(inputs))
            instead = graphs.kernels(nodes) if kernels else {}
            while instead:  # what their kernels call may be others
                nodes = graphs.trace(function, _copies(inputs), instead)
                if instead.keys() >= (more := graphs.kernels(nodes)).keys():
                    break
                instead |= more
        except Exception as error:
            raise NotLowered(_first_line(f"it cannot be traced: {error}")) from None
        drew = not torch.equal(before, torch.get_rng_state())
        torch.set_rng_state(before)
        if drew:
            raise NotLowered("it draws random numbers")
        lowered = _Writer(list(inputs), fresh).write(nodes)
        _check(function, inputs, lowered)
        torch.set_rng_state(before)
    return lowered


def _copies(inputs: dict[str, torch.Tensor]) -> list[torch.Tensor]:
    """Copies with the strides of the inputs."""
    return [
        torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device=t.device).copy_(t.detach())
        if not _overlaps(t)
        else t.detach().clone()
        for t in inputs.values()
    ]


def _overlaps(tensor: torch.Tensor) -> bool:
    return any(size > 1 and stride == 0 for size, stride in zip(tensor.shape, tensor.stride()))


def _first_line(text: str) -> str:
    return " ".join(text.strip().split("\n", 1)[0].split())[:200]


class _Writer:
    """Writes the nodes of one graph as steps."""

    def __init__(self, names: list[str], fresh: Callable[[str], str]) -> None:
        self.names, self.fresh = names, fresh
        self.steps: list[dict] = []
        self.values: dict[Any, Any] = {}  # nodes → values of the protocol

    def write(self, nodes: Any) -> Lowered:
        """The steps. Raises `NotLowered`."""
        given, results = iter(self.names), None
        for node in nodes:
            if node.op == "placeholder":
                self.values[node] = {"ref": next(given)}
            elif node.op == "output":
                results = self.value(node.args[0])
            elif node.op == "call_function":
                self.call(node)
            else:
                raise NotLowered("it makes tensors of its own")
        return Lowered(self.steps, results)

    def call(self, node: Any) -> None:
        """Adds the step of an operator. Raises `NotLowered`."""
        if node.target is operator.getitem:
            source, at = node.args
            if isinstance(found := self.values[source], list) and found[at] is not None:
                self.values[node] = found[at]
                return
            raise NotLowered("it takes a list apart in a way that no step can say")
        name = graphs.overload(node.target)
        if name is None or not name.startswith("aten::"):
            raise NotLowered(f"it calls {node.target}, which is no operator of aten")
        step: dict = {"let": [], "op": name, "args": [self.value(each) for each in node.args]}
        step["kwargs"] = {key: self.value(each) for key, each in node.kwargs.items()}
        if (returned := self.results(node)) is not None:
            if isinstance(returned, list) and len(returned) < 2:
                raise NotLowered("it makes a list of one tensor")
            lets = [self.fresh(node.name) for _ in returned] if isinstance(returned, list) else None
            step["let"] = lets or [self.fresh(node.name)]
            refs = [{"ref": let} for let in step["let"]]
            self.values[node] = refs if lets else refs[0]
        self.steps.append(step)

    def results(self, node: Any) -> Any:
        """What an operator returned when it was traced; None: nothing."""
        types = graphs.returns(node.target)
        if not types:
            return None
        if len(types) > 1:
            return [None] * len(types)
        if types[0].startswith("List"):
            used = [user.args[1] for user in node.users if user.target is operator.getitem]
            return [None] * (max(used, default=-1) + 1)
        return node

    def value(self, value: Any) -> Any:
        """A value of the protocol. Raises `NotLowered`."""
        return protocol_value(value, self._known, NotLowered)

    def _known(self, value: Any) -> Any:
        return self.values[value] if isinstance(value, torch.fx.Node) else None


def protocol_value(
    value: Any, known: Callable[[Any], Any], refusal: Callable[[str], Exception]
) -> Any:
    """A Python value as one of the protocol. `known` says what only the caller knows, and gives
    None for anything else; what no step can say raises the `refusal`."""
    if (said := known(value)) is not None:
        return said
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return {"float": value.hex() if value - value == 0 else str(value)}
    if isinstance(value, complex):
        parts = (protocol_value(part, known, refusal) for part in (value.real, value.imag))
        return {"complex": [part["float"] for part in parts]}
    if isinstance(value, str):
        return {"str": value}
    if isinstance(value, (list, tuple)):
        return [protocol_value(each, known, refusal) for each in value]
    for kind, key in (
        (torch.dtype, "dtype"),
        (torch.layout, "layout"),
        (torch.memory_format, "memory_format"),
    ):
        if isinstance(value, kind):
            return {key: str(value).removeprefix("torch.")}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    raise refusal(f"it takes a {type(value).__name__}, which no step can say")


def _check(function: Callable, inputs: dict[str, torch.Tensor], lowered: Lowered) -> None:
    """Raises `NotLowered` unless the steps give the results of the function, and leave the inputs
    as it does."""
    mine, its = _copies(inputs), _copies(inputs)
    expected = function(*mine)
    names = [ref["ref"] for ref in tree_leaves_of(lowered.results)]
    program = {"inputs": list(inputs), "steps": lowered.steps, "outputs": names}
    try:
        kinds = dict.fromkeys(inputs, "tensor")
        source = generate(program, lambda view: None, kinds)
        steps, _ = compile_text(source.text, {})
        found = steps(*its)
    except (Malformed, Unsupported, RuntimeError, TypeError) as error:
        raise NotLowered(_first_line(f"its operators cannot be called alone: {error}")) from None
    both = zip([*graphs.leaves(expected), *mine], [*found, *its], strict=True)
    if not all(_same(a, b) for a, b in both):
        raise NotLowered("its operators, called one by one, give other bits")


def tree_leaves_of(results: Any) -> list[dict]:
    """The references in what a function returns. Raises `NotLowered` for anything else there."""
    found = []
    for each in results if isinstance(results, list) else [results]:
        if not isinstance(each, dict) or "ref" not in each:
            raise NotLowered("it returns what is no tensor")
        found.append(each)
    return found


def _same(a: Any, b: Any) -> bool:
    if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
        return type(a) is type(b) and a == b
    if (a.dtype, a.shape, a.stride()) != (b.dtype, b.shape, b.stride()):
        return False
    a, b = (each.detach().contiguous().reshape(-1) for each in (a, b))
    return torch.equal(a.view(torch.uint8), b.view(torch.uint8)) if a.numel() else True


# Programs -----------------------------------------------------------------------------------------


class Calls:
    """The calls of public functions in one program, each lowered when it is executed first; what is
    made of the program is `lowered`. Whoever executes it has a source with `text` for each call."""

    def __init__(self, program: dict) -> None:
        self.program = program
        self.taken = _names_of(program)
        self.steps: list[dict] = []
        self.before: dict[int, set[str]] = {}  # the names that were taken before each call
        #: What became of each call: its steps, or why there are none.
        self.found: dict[int, list[dict] | str] = {}

    def fresh(self, stem: str) -> str:
        """A name that the program does not use."""
        name, count = f"lowered_{stem}", 0
        while name in self.taken:
            count += 1
            name = f"lowered_{stem}_{count}"
        self.taken.add(name)
        return name

    def record(self, name: str, number: int, *args: Any, **kwargs: Any) -> Any:
        """The result of a public function, after its call was lowered."""
        function = called(name)
        steps = self._lowered(number, function, args, kwargs)
        before = self.found.setdefault(number, steps)
        if before != steps and not isinstance(before, str):
            again = "it becomes other operators in another call"
            self.found[number] = steps if isinstance(steps, str) else again
        return function(*args, **kwargs)

    def text(self, step: dict, arguments: str) -> str:
        """The call of a step as text: of `record`, as RECORD."""
        self.steps.append(step)
        words = [repr(step["call"]), str(len(self.steps) - 1), *([arguments] if arguments else [])]
        return f"{RECORD}({', '.join(words)})"

    def _lowered(self, number: int, function: Callable, args: tuple, kwargs: dict) -> Any:
        """The steps of one call, or why there are none."""
        step, taken = self.steps[number], self.taken
        # In each call the same names, so that what it becomes can be compared.
        self.taken = set(self.before.setdefault(number, set(taken)))
        try:
            names: dict[int, str] = {}
            tensors: dict[str, torch.Tensor] = {}
            _match([step.get("args", []), step.get("kwargs", {})], [list(args), kwargs], names)
            for each in graphs.leaves((args, kwargs)):
                if isinstance(each, torch.Tensor):
                    tensors[names[id(each)]] = each
            order = list(tensors)

            def of_tensors(*given: torch.Tensor) -> Any:
                here = dict(zip(order, given, strict=True))

                def put(each: Any) -> Any:
                    return here[names[id(each)]] if isinstance(each, torch.Tensor) else each

                own, named = graphs.mapped(put, (args, kwargs))
                return function(*own, **named)

            lowered = lower(of_tensors, tensors, self.fresh, kernels=True)
            return _bound(lowered, step.get("let") or [], self.fresh)
        except NotLowered as why:
            return str(why)
        finally:
            self.taken |= taken

    def lowered(self) -> dict:
        """The program with the steps in the place of the calls."""
        numbers = iter(range(len(self.steps)))

        def replaced(steps: list) -> list:
            made: list[dict] = []
            for step in steps:
                if "with" in step:
                    made.append({**step, "steps": replaced(step["steps"])})
                elif "apply" in step:
                    programs = {role: step[role] for role in ROLES[step["apply"]]}
                    made.append(
                        step
                        | {
                            role: {**program, "steps": replaced(program["steps"])}
                            for role, program in programs.items()
                        }
                    )
                elif "call" in step:
                    found = self.found.get(next(numbers), "it was not executed")
                    made += [{**step, "not_lowered": found}] if isinstance(found, str) else found
                else:
                    made.append(step)
            return made

        return {**self.program, "steps": replaced(self.program["steps"])}


def _names_of(program: dict) -> set[str]:
    """Every name of a program."""
    found = set(program["inputs"])
    steps = list(program["steps"])
    while steps:
        step = steps.pop()
        for each in inner(step):
            steps += each
        for role in ROLES[step["apply"]] if "apply" in step else ():
            found |= set(step[role]["inputs"])
        found |= {name for name in step.get("let") or [] if name is not None}
    return found


def _match(spelled: Any, given: Any, names: dict[int, str]) -> None:
    """Notes by which name of the program each tensor of a call goes. Raises `NotLowered`."""
    if isinstance(given, torch.Tensor):
        if not isinstance(spelled, dict) or "ref" not in spelled:
            raise NotLowered("it is given a tensor that has no name")
        names.setdefault(id(given), spelled["ref"])
    elif isinstance(spelled, list) and isinstance(given, (list, tuple)):
        for each, value in zip(spelled, given, strict=True):
            _match(each, value, names)
    elif isinstance(given, dict):
        for key, value in given.items():
            _match(spelled[key], value, names)
    elif isinstance(given, (list, tuple)) and any(isinstance(each, torch.Tensor) for each in given):
        raise NotLowered("it is given a list of tensors by one name")


def _bound(lowered: Lowered, let: list, fresh: Callable[[str], str]) -> list[dict]:
    """The steps, their results under the names of the call. Raises `NotLowered`."""
    refs = tree_leaves_of(lowered.results) if lowered.results is not None else []
    if len(let) == 1 and isinstance(lowered.results, list):
        raise NotLowered("its results are a list under one name")
    if let and len(let) != len(refs):
        raise NotLowered("its results are not those that have names")
    made = {name for step in lowered.steps for name in step["let"]}
    renamed: dict[str, str] = {}
    besides = []
    for name, ref in zip(let, refs):
        if name is not None and ref["ref"] in made and ref["ref"] not in renamed:
            renamed[ref["ref"]] = name
        elif name is not None:  # what it was given, or what has a name already
            source = {"ref": renamed.get(ref["ref"], ref["ref"])}
            besides.append(
                {"let": [name], "op": "aten::alias.default", "args": [source], "kwargs": {}}
            )
    return [_renamed(step, renamed) for step in lowered.steps] + besides


def _renamed(value: Any, names: dict[str, str]) -> Any:
    """A step with other names for what it uses and defines."""
    if isinstance(value, list):
        return [_renamed(each, names) for each in value]
    if not isinstance(value, dict):
        return value
    if "let" in value:
        value = {**value, "let": [names.get(name, name) for name in value["let"]]}
    if "ref" in value:
        return {"ref": names.get(value["ref"], value["ref"])}
    return {key: each if key == "let" else _renamed(each, names) for key, each in value.items()}
