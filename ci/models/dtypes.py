"""Captures of one program in several dtypes as one case, whose matrix has what differs."""

from typing import Any

#: What a cast is called where it changes nothing: its capture in that dtype is no operator.
_NO_CAST = ("torch.Tensor.to", "torch.Tensor.float", "torch.Tensor.type_as", "torch.Tensor.type")
#: What an input says of its elements: that of the first dtype serves all.
_ELEMENTS = ("fill", "values", "except")


class Differ(Exception):
    """The captures differ in more than numbers and dtypes; the message says where."""


def merged(captures: dict[str, dict]) -> dict:
    """The case; raises `Differ`. Choices of the matrix are called as the dtypes are."""
    if len(captures) == 1:
        return next(iter(captures.values()))
    word, first = next(iter(captures.items()))
    merger = _Merger(list(captures), _casts(first["steps"], word))
    made = merger.value("", list(captures.values()))
    if not merger.rows:
        matrix: dict[str, Any] = {"dtype": list(captures)}
    else:
        made = _named(made)
        matrix = {
            "dtype": [
                {
                    "is": word,
                    "name": word,
                    **{f"n{at}": row[k] for at, row in enumerate(merger.rows)},
                }
                for k, word in enumerate(captures)
            ]
        }
    head = {}
    for key in list(made):
        if key in ("inputs", "steps"):
            break
        head[key] = made.pop(key)
    return {**head, "matrix": matrix, **made}


def _casts(steps: list[dict], dtype: str) -> dict[str, str]:
    """The casts of a program in a dtype to that dtype, which change nothing: name → what is cast.
    Where others name the one, this program may name the other."""
    found: dict[str, str] = {}
    for step in steps:
        none = step.get("op") == "to.dtype" and step["args"][1:] == [dtype]
        if none or step.get("call") in _NO_CAST and isinstance(step.get("let"), str):
            source = step["args"][0].removeprefix("%")
            found[step["let"]] = found.get(source, source)
    return found


class _Merger:
    """`casts`: those of the first capture that change nothing, so that it names their results in
    the place of what is cast."""

    def __init__(self, dtypes: list[str], casts: dict[str, str]) -> None:
        self.dtypes, self.casts = dtypes, casts
        self.rows: list[list] = []  # numbers that differ: one for each dtype

    def plain(self, name: str) -> str:
        """A name without the casts that change nothing."""
        for end in ("", "_gradient"):
            stem = name.removeprefix("%").removesuffix(end)
            if name.endswith(end) and stem in self.casts:
                return name.replace(stem, self.casts[stem])
        return name

    def value(self, key: str, values: list[Any]) -> Any:
        first, last = values[0], values[-1]
        if all(type(each) is type(first) and each == first for each in values):
            return first
        if values == self.dtypes:
            return "$dtype"
        if key in _ELEMENTS:
            return first
        if all(isinstance(each, str) for each in values):
            if len(set(values[1:])) == 1 and self.plain(first) == self.plain(last):
                return last
        if all(isinstance(each, dict) for each in values):
            return self.object(key, values)
        if all(isinstance(each, list) and len(each) == len(first) for each in values):
            return [self.value(key, list(parts)) for parts in zip(*values)]
        if key in ("args", "kwargs", "to", "scalar") and all(
            isinstance(each, (int, float)) for each in values
        ):
            if values not in self.rows:
                self.rows.append(values)
            return f"$dtype.n{self.rows.index(values)}"
        raise Differ(f"{key}: {str(values)[:300]}")

    def object(self, key: str, values: list[dict]) -> dict:
        first, *others = values
        if first.get("call") in _NO_CAST and all("op" in each for each in others):
            return self.cast(others)
        names = [[each for each in value if each not in _ELEMENTS] for value in values]
        if len({len(each) for each in names}) != 1:
            raise Differ(f"{key}: {str(values)[:300]}")
        made = {}
        for each in zip(*names):
            name = self.value("", list(each))
            made[name] = self.value(name, [value[its] for value, its in zip(values, each)])
        return made | {name: first[name] for name in _ELEMENTS if name in first}

    def cast(self, others: list[dict]) -> dict:
        """A cast that is none in the first dtype, as the others have it."""
        texts = [each["args"] for each in others]
        if any(len(each["args"]) < 2 for each in others):
            raise Differ(f"cast: {others}")
        words = [each[1] for each in texts]
        found = dict(others[0])
        if words == self.dtypes[1:]:
            found["args"] = [texts[0][0], "$dtype", *texts[0][2:]]
        elif words != [self.dtypes[0]] * len(words):
            raise Differ(f"cast: {others}")
        return found


def _named(value: Any) -> Any:
    """The same where a choice of the matrix has several fields."""
    if isinstance(value, dict):
        return {key: _named(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_named(each) for each in value]
    return "$dtype.name" if value == "$dtype" else value
