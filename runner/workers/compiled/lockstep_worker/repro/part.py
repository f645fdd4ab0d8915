"""A program with its inputs as functions of a script."""

import base64
import hashlib
import math
import pathlib
import zlib
from collections.abc import Iterable
from typing import Any

import torch

from .. import contexts, names, quantized
from ..problems import Unsupported, need
from ..source import generate
from ..tensors import Files, Inputs, is_view, literal_text, scalar, sizes_of

_LINE = 16  # numbers a line
_SHORT = 64  # numbers of a storage that is written as numbers
_LONG = 1 << 20  # characters; what takes more lies in a file, where there may be one


class Part:
    """The functions `program`, `literals` and, without a `suffix` of their names, `inputs` of a
    script. `prepared`: inputs that another part makes, and then the text of the call that does."""

    def __init__(self, request: dict, prepared: Iterable[str] = (), suffix: str = "") -> None:
        self.program, self.suffix = need(request, "program", "request"), suffix
        self.prepared = ""
        storages = request.get("storages", [])
        self.storages = Inputs(sizes_of(storages), Files(storages), request.get("device", "cpu"))
        self.device = self.storages.device
        #: The folder for what is too long for the script, and the files there.
        self.beside: str | None = request.get("beside")
        self.files: set[str] = set()
        self.calls = [need(call, "inputs", "calls") for call in need(request, "calls", "request")]
        self.names = [name for name in self.program["inputs"] if name not in prepared]
        kinds = dict.fromkeys(prepared, "tensor")
        for name in self.names:
            given = [need(call, name, "calls.inputs") for call in self.calls]
            kinds[name] = "tensor" if all(map(is_view, given)) else "number"
        self.source = generate(self.program, lambda view: literal_text(view, self.storages), kinds)
        self.context = self.program.get("context") or {}
        #: Those of calls, within the program's.
        self.contexts = [call.get("context") or {} for call in request["calls"]]
        self.carry: dict = self.program.get("carry") or {}

    def text(self) -> str:
        """The functions. Raises `Malformed` or `Unsupported`."""
        source = self.source.text.replace("def program(", f"def program{self.suffix}(", 1)
        while source.startswith("import "):
            source = source.split("\n", 1)[1]
        helpers = [
            contexts.HELPERS[key]
            for key in dict.fromkeys(self._helpers())
            if contexts.HELPERS[key] not in source
        ]
        captured = [self._literals_text()] if self.source.captured else []
        inputs = [] if self.suffix else [self._inputs_text()]
        imports = ["import math\n\n"] if "math." in source else []
        return "\n\n".join([*imports, *helpers, source.strip("\n") + "\n", *captured, *inputs])

    def _helpers(self) -> list[str]:
        """The names of the helper classes that its contexts need."""
        all_contexts = (self.context, *self.contexts)
        return [key for each in all_contexts for _, key in contexts.lines(each) if key]

    @staticmethod
    def managers(context: dict, of_backward: bool = False) -> list[str]:
        """The context managers of a call, or of the backward after it, as text."""
        keys = [key for key in context if not of_backward or key in contexts.BACKWARD]
        return [text for key in keys for text, _ in contexts.lines({key: context[key]})]

    def _function(self, name: str, result: str, lines: Iterable[str] = ()) -> str:
        body = "".join(f"    {line}\n" for line in (*lines, f"return {result}"))
        return f"def {name}{self.suffix}():\n{body}"

    def _inputs_text(self) -> str:
        text = "def inputs(call):\n"
        if self.source.captured:
            text += "    program.__globals__.update(literals())\n"
        for i, call in enumerate(self.calls):
            used, lines = self._storages(
                [value for name in self.names if isinstance(value := call[name], dict)]
            )
            given = [f"{name!r}: {self.value_text(call[name], used)}" for name in self.names]
            given = [f"**{self.prepared}"] * bool(self.prepared) + given
            lines.append("return {" + ", ".join(given) + "}")
            if len(self.calls) > 1:
                text += f"    if call == {i}:\n"
                lines = ["    " + line for line in lines]
            text += "".join(f"    {line}\n" for line in lines)
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
            text = self._storage_text(self.storages.read(key[0]), view, key[1])
            lines.append(f"{used[key]} = {text}")
        return used, lines

    def _storage_text(self, storage: Any, view: dict, device: str) -> str:
        """A call of `bits_of`, `packed` or `beside` that gives the very bytes of a storage, on a
        device."""
        data = (
            bytes(torch.empty(0, dtype=torch.uint8).set_(storage).tolist())
            if storage.nbytes() <= 4096
            else _raw(storage)
        )
        width = getattr(torch, view["dtype"]).itemsize
        where = "" if device == "cpu" else f", device={device!r}"
        if counting := counting_text(data, width):
            return f"bits_of({width}, {counting}{where})"
        if len(data) % width == 0 and len(data) // width <= _SHORT and width <= 16:
            numbers = [
                f"0x{int.from_bytes(data[at : at + width], 'little'):0{2 * width}x}"
                for at in range(0, len(data), width)
            ]
            rows = [", ".join(numbers[at : at + _LINE]) for at in range(0, len(numbers), _LINE)]
            return f"bits_of({width}, [" + (",\n" + " " * 12).join(rows) + f"]{where})"
        text = base64.b64encode(zlib.compress(data, 9)).decode()
        if self.beside is not None and len(text) > _LONG:
            name = f"{hashlib.sha256(data).hexdigest()}.bin"
            pathlib.Path(self.beside, name).write_bytes(data)
            self.files.add(name)
            return f"beside({name!r}{where})"
        rows = [text[at : at + 120] for at in range(0, len(text), 120)] or [""]
        return "packed(" + "\n            ".join(f'"{row}"' for row in rows) + f"{where})"

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


def check_device(request: dict) -> None:
    """Raises `Unsupported` if torch knows the device of a request only once a library is loaded."""
    kind = names.device(request.get("device", "cpu")).partition(":")[0]
    if kind not in ("cpu", "cuda", "meta", "mps", "xpu", "hpu"):
        raise Unsupported(f"torch {torch.__version__} has no device {kind}")


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


def counting_text(data: bytes, width: int) -> str:
    """The numbers for `bits_of` where the storage is every pattern of so many bytes in order, over
    and over; else nothing."""
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
