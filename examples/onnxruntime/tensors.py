"""Tensors of the protocol (bytes in files, and views on them), of torch, and of ONNX Runtime."""

import ctypes
import math
import os
from typing import Any

import onnxruntime
import torch

#: dtype → its number in onnx.TensorProto.DataType.
ONNX_TYPES = {
    "float32": 1,
    "uint8": 2,
    "int8": 3,
    "uint16": 4,
    "int16": 5,
    "int32": 6,
    "int64": 7,
    "bool": 9,
    "float16": 10,
    "float64": 11,
    "uint32": 12,
    "uint64": 13,
    "bfloat16": 16,
    "float8_e4m3fn": 17,
    "float8_e4m3fnuz": 18,
    "float8_e5m2": 19,
    "float8_e5m2fnuz": 20,
}
_OF_ONNX = {number: name for name, number in ONNX_TYPES.items()}
#: The same in the words of ONNX Runtime's types: `tensor(float)`.
_WORDS = {
    "float": "float32",
    "double": "float64",
    "float8e4m3fn": "float8_e4m3fn",
    "float8e4m3fnuz": "float8_e4m3fnuz",
    "float8e5m2": "float8_e5m2",
    "float8e5m2fnuz": "float8_e5m2fnuz",
}


class Malformed(Exception):
    """The request breaks the protocol."""


class Unsupported(Exception):
    """This worker lacks what the program needs."""


def dtype(name: object) -> torch.dtype:
    """A dtype by torch's name for it. Raises `Unsupported`."""
    found = getattr(torch, name, None) if isinstance(name, str) else None
    if not isinstance(found, torch.dtype):
        raise Unsupported(f"this torch has no dtype {name!r:.40}")
    return found


def number(text: str) -> float:
    """A float of the protocol: C99 hexadecimal, inf, -inf or nan."""
    return float(text) if text in ("inf", "-inf", "nan") else float.fromhex(text)


def is_view(value: object) -> bool:
    return isinstance(value, dict) and "storage" in value


def content(tensor: torch.Tensor) -> bytes:
    """The bytes of a tensor's storage."""
    storage = tensor.untyped_storage()
    return ctypes.string_at(storage.data_ptr(), storage.nbytes()) if storage.nbytes() else b""


class Storages:
    """The bytes of a request's storages; each `tensors` makes copies anew, and what shares a
    storage shares a copy."""

    def __init__(self, described: list) -> None:
        self.bytes = []
        for storage in described:
            with open(storage["file"], "rb") as file:
                self.bytes.append(file.read())
            if len(self.bytes[-1]) != storage["bytes"]:
                raise Malformed(
                    f"{storage['file']}: {len(self.bytes[-1])} bytes, not {storage['bytes']}"
                )

    def tensors(self, views: dict) -> dict:
        """name → tensor for name → view. Raises `Malformed` and `Unsupported`."""
        copies: dict[int, torch.Tensor] = {}
        return {name: self._tensor(view, copies) for name, view in views.items()}

    def _tensor(self, view: dict, copies: dict) -> torch.Tensor:
        for flag in ("conj", "neg", "zero_tensor", "quantizer", "requires_grad"):
            if view.get(flag):
                raise Unsupported(f"a tensor with `{flag}`")
        if view.get("layout", "strided") != "strided" or (view.get("device") or "cpu") != "cpu":
            raise Unsupported(f"a tensor of layout {view.get('layout')} on {view.get('device')}")
        index, kind = view["storage"], dtype(view["dtype"])
        if not 0 <= index < len(self.bytes):
            raise Malformed(f"there is no storage {index}")
        if index not in copies:
            data = self.bytes[index]
            copies[index] = (
                torch.frombuffer(bytearray(data), dtype=torch.uint8)
                if data
                else torch.empty(0, dtype=torch.uint8)
            )
        storage = copies[index].untyped_storage()
        shape, strides, offset = view["shape"], view["strides"], view.get("offset", 0)
        last = (
            offset + sum((size - 1) * stride for size, stride in zip(shape, strides))
            if 0 not in shape
            else -1
        )
        if (
            min([offset, *shape, *strides], default=0) < 0
            or (last + 1) * kind.itemsize > storage.nbytes()
        ):
            raise Malformed("a view reaches outside its storage")
        return torch.empty(0, dtype=kind).set_(storage, offset, shape, strides)


def to_runtime(tensor: torch.Tensor) -> onnxruntime.OrtValue:
    """A value of ONNX Runtime with the elements of a tensor."""
    name = str(tensor.dtype).removeprefix("torch.")
    if name not in ONNX_TYPES:
        raise Unsupported(f"ONNX has no dtype {name}")
    tensor = tensor.contiguous()
    value = onnxruntime.OrtValue.ortvalue_from_shape_and_type(list(tensor.shape), ONNX_TYPES[name])
    ctypes.memmove(value.data_ptr(), tensor.data_ptr(), tensor.nbytes)
    return value


def from_runtime(value: onnxruntime.OrtValue) -> torch.Tensor:
    """A tensor with the elements of a value of ONNX Runtime."""
    if not value.is_tensor():
        raise Unsupported(f"a result of type {value.data_type()}")
    word = value.data_type().removeprefix("tensor(").removesuffix(")")
    tensor = torch.empty(value.shape(), dtype=dtype(_WORDS.get(word, word)))
    ctypes.memmove(tensor.data_ptr(), value.data_ptr(), tensor.nbytes)
    return tensor


class Writer:
    """Writes storages into an observation's directory and describes tensors as views on them."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.storages: list[dict] = []

    def call(self, outputs: dict, inputs: dict) -> dict:
        """What one call left behind."""
        known: dict[int, int] = {}
        described = {name: self._value(value, known) for name, value in outputs.items()}
        return {
            "outputs": described,
            "inputs": {name: self._value(value, known) for name, value in inputs.items()},
            "grads": {},
        }

    def _value(self, value: object, known: dict[int, int]) -> Any:
        if isinstance(value, torch.Tensor):
            return self._view(value, known)
        if isinstance(value, float):
            return {"float": value.hex() if math.isfinite(value) else str(value)}
        if isinstance(value, complex):
            return {
                "complex": [self._value(part, known)["float"] for part in (value.real, value.imag)]
            }
        if isinstance(value, str):
            return {"str": value}
        if isinstance(value, torch.dtype):
            return {"dtype": str(value).removeprefix("torch.")}
        return [self._value(each, known) for each in value] if isinstance(value, list) else value

    def _view(self, tensor: torch.Tensor, known: dict[int, int]) -> dict:
        storage = tensor.untyped_storage()
        if storage._cdata not in known:
            known[storage._cdata] = len(self.storages)
            self.storages.append({"file": str(len(self.storages)), "bytes": storage.nbytes()})
            with open(os.path.join(self.directory, self.storages[-1]["file"]), "wb") as file:
                file.write(content(tensor))
        return {
            "storage": known[storage._cdata],
            "dtype": str(tensor.dtype).removeprefix("torch."),
            "shape": list(tensor.shape),
            "strides": list(tensor.stride()),
            "offset": tensor.storage_offset(),
            "device": "cpu",
            "layout": "strided",
            "requires_grad": False,
            "conj": False,
            "neg": False,
        }
