"""A program with its inputs as functions of a script."""

import base64
import math
import zlib
from collections.abc import Iterable
from typing import Any

import torch

from .. import contexts, names, quantized
from ..problems import need
from ..source import generate
from ..tensors import Files, Inputs, is_view, literal_text, scalar, sizes_of

_LINE = 16  # numbers a line
_SHORT = 64  # numbers of a storage that is written as numbers


class Part:
    """The functions `program`, `inputs`, `literals`, `contexts` and `contexts_of_backward` of a
    script; their names end with `suffix`. `prepared`: inputs that another part makes."""

    def __init__(self, request: dict, prepared: Iterable[str] = (), suffix: str = "") -> None:
        self.program, self.suffix = need(request, "program", "request"), suffix
        storages = request.get("storages", [])
        self.storages = Inputs(sizes_of(storages), Files(storages), request.get("device", "cpu"))
        self.device = self.storages.device
        self.calls = [need(call, "inputs", "calls") for call in need(request, "calls", "request")]
        self.names = [name for name in self.program["inputs"] if name not in prepared]
        kinds = dict.fromkeys(prepared, "tensor")
        for name in self.names:
            given = [need(call, name, "calls.inputs") for call in self.calls]
            kinds[name] = "tensor" if all(map(is_view, given)) else "number"
        self.source = generate(self.program, lambda view: literal_text(view, self.storages), kinds)
        self.context = self.program.get("context") or {}

    def text(self) -> str:
        """The functions. Raises `Malformed` or `Unsupported`."""
        source = self.source.text.replace("def program(", f"def program{self.suffix}(", 1)
        while source.startswith("import "):
            source = source.split("\n", 1)[1]
        around = list(contexts.lines(self.context))
        helpers = [
            contexts.HELPERS[key]
            for _, key in around
            if key and contexts.HELPERS[key] not in source
        ]
        used = (
            text
            for key in self.context
            if key in contexts.BACKWARD
            for text, _ in contexts.lines({key: self.context[key]})
        )
        texts = [
            *helpers,
            source.strip("\n") + "\n",
            self._inputs_text(),
            self._literals_text(),
            self._function("contexts", f"[{', '.join(text for text, _ in around)}]"),
            self._function("contexts_of_backward", f"[{', '.join(used)}]"),
        ]
        return "\n\n".join(texts)

    def _function(self, name: str, result: str, lines: Iterable[str] = ()) -> str:
        body = "".join(f"    {line}\n" for line in (*lines, f"return {result}"))
        return f"def {name}{self.suffix}():\n{body}"

    def _inputs_text(self) -> str:
        text = f"def inputs{self.suffix}(call):\n"
        for i, call in enumerate(self.calls):
            used, lines = self._storages(
                [value for name in self.names if isinstance(value := call[name], dict)]
            )
            given = [f"{name!r}: {self.value_text(call[name], used)}" for name in self.names]
            lines.append("return {" + ", ".join(given) + "}")
            text += f"    if call == {i}:\n" + "".join(f"        {line}\n" for line in lines)
        return text

    def _literals_text(self) -> str:
        used, lines = self._storages(list(self.source.captured.values()))
        literals = [
            f"{name!r}: {self.value_text(view, used)}"
            for name, view in self.source.captured.items()
        ]
        return self._function("literals", "{" + ", ".join(literals) + "}", lines)

    def _device(self, view: dict) -> str:
        return names.device(view.get("device") or self.device)

    def _storages(self, values: list[dict]) -> tuple[dict[tuple[int, str], str], list[str]]:
        """Lines that make the storages of some views, and the name of each by its device."""
        used: dict[tuple[int, str], str] = {}
        lines = []
        for view in values:
            if (
                "storage" not in view
                or view.get("zero_tensor")
                or (key := (view["storage"], self._device(view))) in used
            ):
                continue
            used[key] = f"storage_{len(used)}"
            lines.append(f"{used[key]} = {_storage_text(self.storages.read(key[0]), view, key[1])}")
        return used, lines

    def value_text(self, value: Any, used: dict[tuple[int, str], str]) -> str:
        """An input: a number, or a view on one of the storages `used`, by their names. Raises
        `Malformed` or `Unsupported`."""
        if not is_view(value):
            return _scalar_text(scalar(value))
        quantizer, device = value.get("quantizer"), self._device(value)
        dtype = (
            names.dtype_text(need(value, "dtype", "view"))
            if quantizer is None
            else str(quantized.part(names.dtype(need(value, "dtype", "view"))))
        )
        shape, strides = (list(map(int, need(value, key, "view"))) for key in ("shape", "strides"))
        where = "" if device == "cpu" else f", device={device!r}"
        if value.get("zero_tensor"):
            grad = ".requires_grad_()" if value.get("requires_grad") else ""
            return f"torch._efficientzerotensor({shape}, dtype={dtype}{where}){grad}"
        flags = "".join(
            f", {key}=True" for key in ("conj", "neg", "requires_grad") if value.get(key)
        )
        name = used[value["storage"], device]
        text = (
            f"view({name}, {dtype}, {shape}, {strides}, "
            f"{int(value.get('offset', 0))}{where}{flags})"
        )
        if quantizer is None:
            return text
        scales, points, axis = quantized.parts(quantizer, "view")
        return f"quantized({text}, {scales!r}, {points!r}{'' if axis is None else f', {axis}'})"


def _scalar_text(value: object) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_scalar_text, value)) + "]"
    if isinstance(value, torch.dtype):
        return str(value)
    if isinstance(value, complex):
        return f"complex({_scalar_text(value.real)}, {_scalar_text(value.imag)})"
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    return ascii(value)


def _storage_text(storage: Any, view: dict, device: str) -> str:
    """A call of `bits` or `packed` that gives the very bytes of a storage, on a device."""
    data = (
        bytes(torch.empty(0, dtype=torch.uint8).set_(storage).tolist())
        if storage.nbytes() <= 4096
        else _raw(storage)
    )
    width = getattr(torch, view["dtype"]).itemsize
    where = "" if device == "cpu" else f", device={device!r}"
    if counting := counting_text(data, width):
        return f"bits({width}, {counting}{where})"
    if len(data) % width == 0 and len(data) // width <= _SHORT and width <= 16:
        numbers = [
            f"0x{int.from_bytes(data[at : at + width], 'little'):0{2 * width}x}"
            for at in range(0, len(data), width)
        ]
        rows = [", ".join(numbers[at : at + _LINE]) for at in range(0, len(numbers), _LINE)]
        return f"bits({width}, [" + (",\n" + " " * 12).join(rows) + f"]{where})"
    text = base64.b64encode(zlib.compress(data, 9)).decode()
    rows = [text[at : at + 120] for at in range(0, len(text), 120)] or [""]
    return "packed(" + "\n            ".join(f'"{row}"' for row in rows) + f"{where})"


def counting_text(data: bytes, width: int) -> str:
    """The numbers for `bits` where the storage is every pattern of so many bytes in order, over and
    over; else nothing."""
    if width > 2 or len(data) <= _SHORT * width or len(data) % width:
        return ""
    count, patterns = len(data) // width, 256**width
    times, rest = divmod(count, patterns)
    if (
        data != b"".join((k % patterns).to_bytes(width, "little") for k in range(count))
        or times
        and rest
    ):
        return ""
    return (
        f"range({count})" if times < 1 or count == patterns else f"[*range({patterns})] * {times}"
    )


def _raw(storage: Any) -> bytes:
    import ctypes

    return bytes((ctypes.c_char * storage.nbytes()).from_address(storage.data_ptr()))
