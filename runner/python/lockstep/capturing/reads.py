"""Numbers that Python reads from tensors while an execution is written down.

Such a number knows who follows it: arithmetic with it is told, and gives another one. What else
Python does with it, as in `if` and `range`, nobody sees."""

import operator
from collections.abc import Callable
from typing import Any

#: Python's arithmetic: the operators of two numbers, and those of one.
TWO, ONE = "add sub mul truediv floordiv mod pow".split(), "neg abs".split()


class Followed:
    """A number that was read; `follow(function, arguments, result)` is told what is computed with
    it, and returns what Python gets."""

    follow: Callable[[Any, tuple, Any], Any]
    plain: type

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.plain, (self.plain(self),)  # a copy is only a number


class Integer(Followed, int):
    plain = int


class Real(Followed, float):
    plain = float


def followed(number: Any, follow: Callable[[Any, tuple, Any], Any]) -> Any:
    """A number that tells what is computed with it; whatever is no int and no float as it is."""
    kinds: dict[type, Any] = {int: Integer, float: Real}
    kind = kinds.get(type(number))
    if kind is None:
        return number
    made = kind(number)
    made.follow = follow
    return made


def plain(value: Any) -> Any:
    """A number that tells nobody anything; anything else as it is."""
    return value.plain(value) if isinstance(value, Followed) else value


def _arithmetic(kind: Any, name: str, function: Callable, reflected: bool) -> None:
    own = getattr(kind.plain, name)

    def compute(self: Any, *others: Any) -> Any:
        result = own(self, *others)
        if result is NotImplemented:
            return result
        arguments = (*others, self) if reflected else (self, *others)
        return self.follow(function, arguments, result)

    setattr(kind, name, compute)


for _kind in (Integer, Real):
    for _word in TWO + ONE:
        _arithmetic(_kind, f"__{_word}__", getattr(operator, _word), False)
    for _word in TWO:
        _arithmetic(_kind, f"__r{_word}__", getattr(operator, _word), True)
