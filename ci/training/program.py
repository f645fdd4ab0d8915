"""The program of one step of training, while it is written."""

from __future__ import annotations

from typing import Any

#: What stands in a case for a value: "%name", or a number.
Value = str


class Program:
    """Inputs, steps and what a step hands to the next."""

    def __init__(self) -> None:
        self.inputs: dict[str, dict] = {}
        self.steps: list[dict] = []
        self.carry: dict[str, str] = {}
        self.outputs: list[str] = []
        #: Changes of the inputs for each call behind the first.
        self.later: dict[str, list[dict]] = {}
        self._blocks: list[list[dict]] = []
        self._seed = self._count = 0

    def op(self, name: str, *args: Any, let: str = "", **kwargs: Any) -> Value:
        """Calls an overload; what it gives."""
        return self.ops(name, [let or self._name()], *args, **kwargs)[0]

    def ops(self, name: str, let: list[str | None], *args: Any, **kwargs: Any) -> list[Value]:
        """The same of an overload with several results."""
        step: dict = {"let": let[0] if len(let) == 1 else let, "op": name, "args": list(args)}
        if kwargs:
            step["kwargs"] = kwargs
        self._add(step)
        return [f"%{each}" for each in let if each]

    def do(self, name: str, *args: Any, **kwargs: Any) -> None:
        """Calls an overload for what it writes."""
        step: dict = {"op": name, "args": list(args)}
        if kwargs:
            step["kwargs"] = kwargs
        self._add(step)

    def grad(self, of: Value, wrt: list[Value]) -> list[Value]:
        """The gradients of a number."""
        let = [self._name() for _ in wrt]
        self._add({"let": let if len(let) > 1 else let[0], "grad": {"of": [of], "wrt": wrt}})
        return [f"%{each}" for each in let]

    def begin(self, context: dict) -> None:
        """From now on steps stand in a context, too."""
        block: list[dict] = []
        self._add({"with": context, "steps": block})
        self._blocks.append(block)

    def end(self) -> None:
        """And no more in the one that began last."""
        self._blocks.pop()

    def normal(self, name: str, shape: list[int], std: float = 1.0, **more: Any) -> Value:
        """An input of normal numbers."""
        self._seed += 1
        fill = {"normal": {"std": std} if std != 1 else {}, "seed": self._seed}
        return self.given(name, {"dtype": "float32", "shape": shape, "fill": fill, **more})

    def given(self, name: str, spec: dict) -> Value:
        """An input."""
        self.inputs[name] = spec
        return f"%{name}"

    def number(self, name: str, value: float) -> Value:
        """An input of one number."""
        return self.given(name, {"dtype": "float32", "shape": [], "values": [value]})

    def state(self, name: str, like: str, fill: float = 0.0) -> Value:
        """A tensor as large as an input, which each step hands to the next."""
        shape = self.inputs[like]["shape"]
        self.carry[name] = name
        return self.given(name, {"dtype": "float32", "shape": shape, "fill": {"constant": fill}})

    def case(self, title: str, calls: int) -> dict:
        """The whole file."""
        return {
            "$schema": "../schema/case.schema.json",
            "format": 1,
            "title": title,
            "tags": ["training"],
            "inputs": self.inputs,
            "calls": [
                {name: changes[call] for name, changes in self.later.items()} if call else {}
                for call in range(calls)
            ],
            "steps": self.steps,
            "outputs": [each.removeprefix("%") for each in self.outputs],
            "carry": self.carry,
        }

    def fresh(self, name: str, calls: int) -> None:
        """Another draw of an input in every call."""
        [(rule, parameters)] = [
            item for item in self.inputs[name]["fill"].items() if item[0] != "seed"
        ]
        self.later[name] = [
            {"fill": {rule: parameters, "seed": 1000 * call + self.inputs[name]["fill"]["seed"]}}
            for call in range(calls)
        ]

    def _add(self, step: dict) -> None:
        (self._blocks[-1] if self._blocks else self.steps).append(step)

    def _name(self) -> str:
        self._count += 1
        return f"v{self._count}"
