"""Turns a program of the protocol into the Python text of a function.

The same text is executed eagerly, compiled, and handed to people as the reproducer, so it reads as
a person would write it. Nothing of a program reaches the text unchecked: names and enumerations
are looked up, strings and numbers are written by `repr`.
"""

import math
import re
import sys
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from . import applied, contexts, names
from .compat.operators import schema
from .problems import Malformed, need
from .spelling import Argument, resolve, spell

_DEPTH = 16  # of nested `with` and lists; Python itself stops at 20 blocks
_HEX = re.compile(r"[+-]?0x[0-9a-f]+(\.[0-9a-f]*)?(p[+-]?[0-9]+)?", re.ASCII | re.IGNORECASE)

#: Scalar arithmetic: operator → (fewest, most operands, how it is written).
_BINARY = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "and": "and",
    "or": "or",
}
_UNARY = {
    "neg": "-{}",
    "not": "not {}",
    "abs": "abs({})",
    "sqrt": "math.sqrt({})",
    "floor": "math.floor({})",
    "ceil": "math.ceil({})",
    "int": "int({})",
    "float": "float({})",
    "bool": "bool({})",
}


@dataclass
class Source:
    """A program as Python. `text` defines `program(inputs…)`, which returns a tuple of `outputs`.
    `constants` maps the inputs that it does not take but closes over to the global names that it
    knows them by; whoever executes the text sets these. `captured` maps global names of the text to
    views: literal tensors that have no exact short text; whoever executes the text gives each a
    fresh tensor before every call. Where the program ends with steps that are not compiled, the
    text has `beside(inputs…, results of program…)` besides, which returns the outputs."""

    text: str
    inputs: list[str]
    #: The names of what it returns in observations, place by place (`output_names`).
    outputs: list[str]
    captured: dict[str, dict] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    #: Whether there is a function `beside`.
    beside: bool = False

    @property
    def closed_over(self) -> tuple[str, ...]:
        """The global names of tensors that the text knows without being given them."""
        return (*self.captured, *self.constants.values())


def float_text(value: object) -> str:
    """A float of the protocol as text that Python reads back to the same bits (`nan` without its
    payload). Raises `Malformed`."""
    if value in ("inf", "+inf", "-inf", "nan"):
        return {"inf": "math.inf", "+inf": "math.inf", "-inf": "-math.inf", "nan": "math.nan"}[
            value
        ]
    if isinstance(value, str) and _HEX.fullmatch(value):
        try:
            number = float.fromhex(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return repr(number)
    raise Malformed(f"{value!r:.80} is not a hexadecimal float, inf, -inf or nan")


class _Writer:
    """Writes one program. `kinds` knows of each name whether it is a tensor or a number."""

    def __init__(
        self, program: dict, literal: Callable[[dict], str | None], call: Callable[[dict, str], str]
    ) -> None:
        inputs = need(program, "inputs", "program")
        outputs = need(program, "outputs", "program")
        steps = need(program, "steps", "program")
        if not all(isinstance(part, list) for part in (inputs, outputs, steps)):
            raise Malformed("program: inputs, outputs and steps are lists")
        self.program, self.literal, self.call = program, literal, call
        self.kinds: dict[str, str] = {}
        self.helpers: list[str] = []
        #: Those of operators that take sub-programs; the functions of regions, with their names.
        self.applied: list[str] = []
        self.regions: dict[str, str] = {}
        self.captured: dict[str, dict] = {}
        self.lines: list[str] = []
        constants = program.get("constants") or []
        if not isinstance(constants, list) or any(name not in inputs for name in constants):
            raise Malformed("program.constants: names of inputs are expected")
        used = {names.checked(name, "program.inputs") for name in inputs}
        if len(used) != len(inputs):
            raise Malformed("program.inputs: a name appears twice")
        self._collect(steps, used, 0)
        self.name = names.NameMap(used)
        self.constants = {
            name: self.name.call(name, self.name.fresh(f"constant_{name}")) for name in constants
        }

    def _collect(self, steps: list, used: set[str], depth: int) -> None:
        """Every name of the program, so that renaming one cannot meet another."""
        if depth > _DEPTH:
            raise Malformed(f"program: more than {_DEPTH} nested contexts")
        for i, step in enumerate(steps):
            if not isinstance(step, dict):
                raise Malformed(f"program.steps[{i}]: an object is expected")
            if "with" in step:
                inner = need(step, "steps", f"program.steps[{i}]")
                if not isinstance(inner, list):
                    raise Malformed(f"program.steps[{i}].steps: a list is expected")
                self._collect(inner, used, depth + 1)
            for program in applied.checked(step).values() if "apply" in step else ():
                used.update(names.checked(name, "inputs") for name in program["inputs"])
                self._collect(program["steps"], used, depth + _DEPTH // applied.MOST_DEEP)
            let = step.get("let") or []
            if not isinstance(let, list):
                raise Malformed(f"program.steps[{i}].let: a list is expected")
            used.update(
                names.checked(name, f"program.steps[{i}].let") for name in let if name is not None
            )

    # Values -------------------------------------------------------------------------------------

    def ref(self, name: object) -> Argument:
        """A defined name. Raises `Malformed`."""
        if not isinstance(name, str) or name not in self.kinds:
            raise Malformed(f"{name!r:.80} is not defined at this point")
        return Argument(self.name(name), self.kinds[name])

    def value(self, value: object, depth: int = 0) -> Argument:
        """A value as text. Raises `Malformed` or `Unsupported`."""
        if depth > _DEPTH:
            raise Malformed("a value is nested too deeply")
        if value is None or isinstance(value, bool):
            return Argument(repr(value), "other" if value is None else "number")
        if isinstance(value, int):
            return Argument(repr(int(value)), "number")
        if isinstance(value, list):
            items = [self.value(item, depth + 1) for item in value]
            return Argument(
                "[" + ", ".join(item.text for item in items) + "]",
                "gaps" if None in value else "other",
            )
        if not isinstance(value, dict) or len(value) != 1:
            raise Malformed(f"{value!r:.80} is not a value")
        ((key, inner),) = value.items()
        if key == "ref":
            return self.ref(inner)
        if key == "float":
            return Argument(float_text(inner), "number")
        if key == "complex":
            if not isinstance(inner, list) or len(inner) != 2:
                raise Malformed(f"{inner!r:.80} is not a complex number")
            return Argument(f"complex({float_text(inner[0])}, {float_text(inner[1])})", "number")
        if key == "str":
            if type(inner) is not str:
                raise Malformed(f"{inner!r:.80} is not a string")
            return Argument(repr(inner), "other")
        if key == "dtype":
            return Argument(names.dtype_text(inner), "other")
        if key == "device":
            return Argument(f"torch.device({names.device(inner)!r})", "other")
        if key == "layout":
            return Argument(names.layout_text(inner), "other")
        if key == "memory_format":
            return Argument(names.memory_format_text(inner), "other")
        raise Malformed(f"{value!r:.80} is not a value")

    def arguments(self, step: dict) -> tuple[list[Argument], dict[str, Argument]]:
        args, kwargs = step.get("args", []), step.get("kwargs", {})
        if not isinstance(args, list) or not isinstance(kwargs, dict):
            raise Malformed("args is a list and kwargs an object")
        for key in kwargs:
            if names.checked(key, "kwargs") in names.keyword.kwlist:
                raise Malformed(f"kwargs: {key!r} cannot name an argument in Python")
        return [self.value(a) for a in args], {k: self.value(v) for k, v in kwargs.items()}

    def index(self, items: object) -> str:
        """The text between the brackets of a subscript. Raises `Malformed`."""
        if not isinstance(items, list):
            raise Malformed("index: a list is expected")
        texts = [self._index_item(item) for item in items]
        return ", ".join(texts) if texts else "()"

    def _index_item(self, item: object) -> str:
        if isinstance(item, dict) and item.get("ellipsis") is True:
            return "..."
        if isinstance(item, dict) and item.get("newaxis") is True:
            return "None"
        if isinstance(item, dict) and "slice" in item:
            parts = item["slice"]
            if not isinstance(parts, list) or len(parts) != 3:
                raise Malformed(f"{item!r:.80}: a slice has start, stop and step")
            start, stop, step = ("" if part is None else self.value(part).text for part in parts)
            return f"{start}:{stop}" + (f":{step}" if step else "")
        if item is None or isinstance(item, list) and not all(type(i) is int for i in item):
            raise Malformed(f"{item!r:.80} is not an index")
        return self.value(item).text

    def _operand(self, value: object) -> str:
        """A value that can stand beside an operator: negative numbers get parentheses there."""
        text = self.value(value).text
        return f"({text})" if text.startswith("-") else text

    # Steps --------------------------------------------------------------------------------------

    def steps(self, steps: list, indent: int) -> None:
        """Writes steps at an indentation of so many levels. Raises `Malformed` or `Unsupported`."""
        before = len(self.lines)
        for step in steps:
            if "with" in step:
                self._with(step, indent)
                continue
            if "apply" in step:
                self._apply(step, indent)
                continue
            # What an operator is given is written before its results are named: `x = x.add(1)`.
            line, kinds = self._expression(step)
            let = step.get("let") or []
            self.lines.append("    " * indent + self._target(let, kinds) + line)
        if len(self.lines) == before:
            self.lines.append("    " * indent + "pass")

    def _with(self, step: dict, indent: int) -> None:
        managers = []
        if contexts.THREAD in step["with"]:
            raise Malformed("context.thread: steps run in the thread of their call")
        for text, helper in contexts.lines(step["with"]):
            managers.append(text)
            if helper and helper not in self.helpers:
                self.helpers.append(helper)
        if managers:
            self.lines.append("    " * indent + f"with {', '.join(managers)}:")
        self.steps(step["steps"], indent + bool(managers))

    def _apply(self, step: dict, indent: int) -> None:
        """An operator that takes sub-programs: a function for each, then its call."""
        name, programs = step["apply"], applied.checked(step)
        args, kwargs = self.arguments(step)
        for value in step.get("args", []):
            self._subject(value)
        texts = [each.text for each in args]
        carried = len(step.get("kwargs", {}).get("init", []))
        functions = {}
        for role, program in programs.items():
            if name == "nested_compile_region":
                functions[role], more = self._region(program)
                texts += more
                continue
            functions[role] = self.name.fresh(applied.FUNCTIONS[role])
            self._sub_program(functions[role], step, role, carried, indent)
        for key in (*applied.NEEDS.get(name, ()), name):
            if key in applied.HELPERS and key not in self.applied:
                self.applied.append(key)
        words = {key: _grouped(step["kwargs"][key], value) for key, value in kwargs.items()}
        text = applied.call(step, functions, texts, words, name)
        for each in step.get("let") or []:
            if each is not None:
                self.kinds[each] = "tensor"
        self.lines.append("    " * indent + applied.targets(step, self.name) + text)

    def _sub_program(
        self, function: str, step: dict, role: str, carried: int, indent: int, more: Iterable = ()
    ) -> None:
        """A sub-program as a function, which is given `more` besides its inputs."""
        name, program, known = step["apply"], step[role], set(self.kinds)
        for each in program["inputs"]:
            if each in known:
                raise Malformed(f"{each!r:.80} is defined twice")
            self.kinds[each] = "tensor"
        inputs = [self.name(each) for each in program["inputs"]]
        pad = "    " * (indent + 1)
        parts = applied.parts(name, inputs, len(step.get("args", [])))
        taken = inputs if parts is None else [self.name.fresh("carried"), self.name.fresh("now")]
        self.lines.append(f"{pad[4:]}def {function}({', '.join([*taken, *more])}):")
        for whole, part in zip(taken, parts or ()):
            self.lines.append(f"{pad}{applied.group(part)} = {whole}")
        before = len(self.lines)
        self.steps(program["steps"], indent + 1)
        if self.lines[before:] == [f"{pad}pass"]:
            self.lines.pop()
        outputs = [self.ref(each).text for each in program["outputs"]]
        self.lines.append(f"{pad}return {applied.returned(name, role, outputs, carried)}")
        self.kinds = {each: kind for each, kind in self.kinds.items() if each in known}

    def _region(self, program: dict) -> tuple[str, list[str]]:
        """The name of the function of a region, which stands outside: two regions that read alike
        are one; and what it is given besides its inputs, because it does not see it there."""
        used = _references(program["steps"]) | {str(each) for each in program["outputs"]}
        more = [self.name(n) for n in self.kinds if n in used and n not in self.constants]
        outside, self.lines = self.lines, []
        step = {"apply": "nested_compile_region", "do": program}
        self._sub_program("{}", step, "do", 0, 0, more)
        text, self.lines = "\n".join(self.lines) + "\n", outside
        if text not in self.regions:
            self.regions[text] = self.name.fresh("region")
        return self.regions[text], more

    def _target(self, let: list, kinds: list[str] | None) -> str:
        """`a, _ = ` for the names of a step; `kinds` of its results, None where the step has
        none."""
        if not let:
            return ""
        if kinds is None:
            raise Malformed("a step without a result cannot name one")
        if len(let) == 1:
            if let[0] is None:
                return ""
            self.kinds[let[0]] = kinds[0] if len(kinds) == 1 else "other"
            return f"{self.name(let[0])} = "
        for i, name in enumerate(let):
            if name is not None:
                kind = kinds[i] if i < len(kinds) else kinds[-1]
                self.kinds[name] = "tensor" if kind == "other" else kind
        return ", ".join("_" if name is None else self.name(name) for name in let) + " = "

    def _expression(self, step: dict) -> tuple[str, list[str] | None]:
        """What a step computes, and the kinds of its results (None: a statement)."""
        if "op" in step:
            op = resolve(step["op"])
            kinds = []
            for result in schema(op).returns:
                text = str(result.type)
                kinds.append(
                    "tensor"
                    if text in ("Tensor", "Optional[Tensor]")
                    else "other"
                    if text.startswith("List")
                    else "number"
                )
            args, kwargs = self.arguments(step)
            return spell(op, args, kwargs), kinds or ["other"]
        if "call" in step:
            called(step["call"])
            args, kwargs = self.arguments(step)
            texts = [a.text for a in args] + [f"{k}={v.text}" for k, v in kwargs.items()]
            return self.call(step, ", ".join(texts)), ["unknown"]
        if "tensor" in step:
            literal = self.literal(step["tensor"])
            if literal is None:
                literal = self.name.fresh("literal")
                self.captured[literal] = step["tensor"]
            return literal, ["tensor"]
        if "get" in step:
            return f"{self._subject(step['get'])}[{self.index(need(step, 'index', 'get'))}]", [
                "tensor"
            ]
        if "set" in step:
            to = self.value(need(step, "to", "set")).text
            return (
                f"{self._subject(step['set'])}[{self.index(need(step, 'index', 'set'))}] = {to}",
                None,
            )
        if "scalar" in step:
            return self._scalar(step["scalar"]), ["number"]
        if "grad" in step:
            return self._grad(step["grad"])
        raise Malformed(f"a step with the keys {sorted(step)!r:.200} is of no known kind")

    def _subject(self, value: object) -> str:
        if not isinstance(value, dict) or "ref" not in value:
            raise Malformed("only the result of a step or an input can be indexed")
        return self.value(value).text

    def _scalar(self, expression: object) -> str:
        if not isinstance(expression, list) or not expression or not isinstance(expression[0], str):
            raise Malformed("scalar: a list of an operator and its operands is expected")
        word, operands = expression[0], [self._operand(value) for value in expression[1:]]
        if word in _BINARY and len(operands) == 2:
            return f"{operands[0]} {_BINARY[word]} {operands[1]}"
        if word in _UNARY and len(operands) == 1:
            return _UNARY[word].format(operands[0])
        if word in ("min", "max") and len(operands) >= 2:
            return f"{word}({', '.join(operands)})"
        raise Malformed(f"scalar: {word!r:.80} with {len(operands)} operands is of no known kind")

    def _grad(self, grad: Any) -> tuple[str, list[str]]:
        def group(key: str) -> list[str]:
            values = need(grad, key, "grad")
            if not isinstance(values, list) or not values:
                raise Malformed(f"grad.{key}: a list is expected")
            return [self.value(value).text for value in values]

        of, wrt = group("of"), group("wrt")
        seeds = (
            group("with")
            if grad.get("with") is not None
            else [f"torch.ones_like({name})" for name in of]
        )
        if len(seeds) != len(of):
            raise Malformed("grad.with: one for each of grad.of is expected")
        extra = ", create_graph=True" if grad.get("create_graph") else ""
        text = (
            f"torch.autograd.grad([{', '.join(of)}], [{', '.join(wrt)}], "
            f"grad_outputs=[{', '.join(seeds)}]{extra}, allow_unused=True)"
        )
        # One result for each of `wrt`; a single one is taken out of its tuple.
        return (text + "[0]", ["tensor"]) if len(wrt) == 1 else (text, ["tensor"] * len(wrt))

    def _output(self, output: object) -> str:
        """What is returned at one place: a value, or a constant."""
        if isinstance(output, str):
            return self.ref(output).text
        if (
            output is None
            or isinstance(output, (bool, int))
            or isinstance(output, dict)
            and set(output) == {"float"}
        ):
            return self.value(output).text
        raise Malformed(f"{output!r:.80} cannot be an output")

    # The whole ----------------------------------------------------------------------------------

    def write(self, kinds: dict[str, str]) -> Source:
        """The text. Raises `Malformed` or `Unsupported`."""
        inputs = [self.name(name) for name in self.program["inputs"] if name not in self.constants]
        self.kinds = {name: kinds.get(name, "unknown") for name in self.program["inputs"]}
        steps, outputs, beside = self.program["steps"], self.program["outputs"], None
        if steps and _is_beside(steps[-1]):
            *steps, beside = steps
        self.steps(steps, 1)
        if beside is None:
            text = self._function("program", inputs, map(self._output, outputs))
        else:
            handed = self._handed(beside, outputs)
            text = self._function("program", inputs, handed)
            rest = {key: value for key, value in beside["with"].items() if key != "compiled"}
            self._with({**beside, "with": rest}, 1)
            text += "\n\n" + self._function(
                "beside", [*inputs, *handed], map(self._output, outputs)
            )
        helpers = "".join(
            each + "\n\n"
            for each in (
                *(contexts.HELPERS[key] for key in self.helpers),
                *(applied.HELPERS[key] for key in self.applied),
                *(applied.region(*each) for each in self.regions.items()),
            )
        )
        imports = ("import math\n" if "math." in helpers + text else "") + "import torch\n\n\n"
        return Source(
            imports + helpers + text,
            inputs,
            output_names(self.program["outputs"]),
            self.captured,
            self.constants,
            beside is not None,
        )

    def _function(self, name: str, inputs: list[str], outputs: Iterable[str]) -> str:
        """The text of a function of the lines that are there, which are gone then."""
        lines, self.lines = [line for line in self.lines if line != "    pass"], []
        given = list(outputs)
        lines.append(f"    return ({', '.join(given)}{',' if len(given) == 1 else ''})")
        return f"def {name}({', '.join(inputs)}):\n" + "\n".join(lines) + "\n"

    def _handed(self, beside: dict, outputs: list) -> list[str]:
        """What steps that are not compiled, or the outputs, need of those that are."""
        used = {each for each in outputs if isinstance(each, str)} | _references(beside["steps"])
        return [
            self.name(name)
            for name in self.kinds
            if name in used and name not in self.program["inputs"]
        ]


def _grouped(value: object, argument: Argument) -> str:
    """An argument by name of an operator that takes sub-programs: its lists are tuples, of which
    one place is a number."""
    if not isinstance(value, list):
        return argument.text
    inner = argument.text[1:-1]
    if len(value) == 1:
        return inner if not isinstance(value[0], dict) else f"({inner},)"
    return f"({inner})"


def _is_beside(step: dict) -> bool:
    """Whether it is a block of steps that are not compiled."""
    within = step.get("with")
    return isinstance(within, dict) and within.get("compiled") is False


def _references(value: Any) -> set[str]:
    """The names that steps refer to."""
    if isinstance(value, list):
        return set().union(*map(_references, value))
    if not isinstance(value, dict):
        return set()
    own = {value["ref"]} if isinstance(value.get("ref"), str) else set()
    return own.union(*map(_references, value.values()))


def output_names(outputs: list) -> list[str]:
    """The names that outputs of a program have in observations, place by place: that of the value;
    of one that comes again `y(2)`; of a constant its place, `output-3`."""
    found: list[str] = []
    times: dict[str, int] = {}
    for place, output in enumerate(outputs, start=1):
        if not isinstance(output, str):
            found.append(f"output-{place}")
            continue
        times[output] = times.get(output, 0) + 1
        found.append(output if times[output] == 1 else f"{output}({times[output]})")
    return found


def generate(
    program: dict,
    literal: Callable[[dict], str | None],
    kinds: dict[str, str],
    call: Callable[[dict, str], str] | None = None,
) -> Source:
    """The source of `program`. `literal` gives the text of a literal tensor, or None where it has
    none that is short and exact; `kinds` tells of each input whether it is a `tensor` or a
    `number`. `call` gives the text of a call of a public function with these arguments; left out,
    that call itself. Raises `Malformed` or `Unsupported`."""
    return _Writer(program, literal, call or call_text).write(kinds)


def called(name: object) -> Callable:
    """What a step calls by its name: a public function of torch, or an operator of a module. Raises
    `Malformed` or `Unsupported`."""
    return resolve(name) if isinstance(name, str) and "::" in name else names.public_function(name)


def call_text(step: dict, arguments: str) -> str:
    """The call of a step's function or operator, as text."""
    name = step["call"]
    if "::" in name:
        space, _, rest = name.partition("::")
        name = f"torch.ops.{space}.{rest}"
    return f"{name}({arguments})"


def compile_text(text: str, captured: dict) -> tuple[Callable, dict]:
    """Executes generated source; its `program` and its globals, which hold `captured`. The file
    name must not begin like a frozen module or be `<string>`, which Dynamo skips."""
    import linecache

    filename = "<lockstep-program>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    # A module as any other: Dynamo imports it for the globals of functions inside of the program.
    module = sys.modules["lockstep_program"] = types.ModuleType("lockstep_program")
    scope = vars(module)
    scope.update(captured)
    exec(compile(text, filename, "exec"), scope)
    return scope["program"], scope
