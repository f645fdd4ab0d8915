"""Views of the protocol to tensors, and tensors to views: storages are bytes in files.

No tensor operator computes here: what is read back is what lies in memory, with strides, offset,
overlap, aliasing and the lazy conj and neg bits.
"""

import contextlib
import ctypes
import hashlib
import math
import os
from collections.abc import Iterable
from typing import Any

import torch

from . import names, quantized
from .cell import write_all
from .compat.tensors import identity, is_zeros, set_conj_neg, zeros
from .held import BLOCK, Held
from .problems import Fault, Malformed, Unsupported, need

#: Literal tensors of at most this many elements are written into the source.
_SHORT = 64
#: What torch aligns memory of the CPU to, in bytes.
_ALIGNMENT = 64
#: Bytes of a storage that are compared at a time.
_CHUNK = 1 << 20


def _whole(value: object, where: str) -> int:
    if type(value) is not int:
        raise Malformed(f"{where}: a whole number is expected, found {value!r:.80}")
    return value


def _whole_list(value: object, where: str) -> list[int]:
    if not isinstance(value, list):
        raise Malformed(f"{where}: a list of whole numbers is expected")
    return [_whole(item, where) for item in value]


def is_view(value: object) -> bool:
    """Whether a value of `calls[].inputs` is a view on a storage; else it is a scalar value."""
    return isinstance(value, dict) and "storage" in value


def scalar(value: object) -> Any:
    """A scalar value of the protocol as a Python value. Raises `Malformed`."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, dict) and len(value) == 1:
        ((key, inner),) = value.items()
        if key == "float":
            return _number(inner)
        if key == "complex" and isinstance(inner, list) and len(inner) == 2:
            return complex(_number(inner[0]), _number(inner[1]))
        if key == "str" and type(inner) is str:
            return inner
        if key == "dtype":
            return names.dtype(inner)
    if isinstance(value, list):
        return [scalar(item) for item in value]
    raise Malformed(f"{value!r:.80} is not a value that an input can have")


def _number(text: object) -> float:
    from .source import float_text

    written = float_text(text)
    return float(written.replace("math.", "")) if "math." in written else float(written)


class Files:
    """The bytes of a request's storages, read from its files."""

    def __init__(self, storages: list) -> None:
        self._files = [need(each, "file", f"storages[{i}]") for i, each in enumerate(storages)]

    def fill(self, index: int, buffer: memoryview) -> None:
        """Fills a buffer with the bytes of a storage. Raises `Malformed`."""
        try:
            with open(self._files[index], "rb", buffering=0) as file:
                done = 0
                while done < len(buffer):
                    got = file.readinto(buffer[done:])
                    if not got:
                        raise Malformed(
                            f"storage {index}: the file holds {done} of {len(buffer)} bytes"
                        )
                    done += got
        except OSError as error:
            raise Malformed(f"storage {index}: {error.strerror}") from None


def sizes_of(storages: object) -> list[int]:
    """The bytes of each storage of a request. Raises `Malformed`."""
    if not isinstance(storages, list):
        raise Malformed("storages: a list is expected")
    return [
        _whole(need(each, "bytes", f"storages[{i}]"), f"storages[{i}].bytes")
        for i, each in enumerate(storages)
    ]


class Inputs:
    """The storages of a request. Each `fresh()` makes new copies; views made from the same copies
    share memory."""

    def __init__(self, sizes: list[int], source: Any, device: str) -> None:
        """`source` fills a buffer with the bytes of a storage: `Files`, or `decoys.Given`."""
        self.device = names.device(device)
        self.sizes, self._source = sizes, source

    def fresh(self) -> "Copies":
        """New copies of the storages, made when a view first needs them."""
        return Copies(self)

    def read(self, index: int) -> torch.UntypedStorage:
        """A new CPU storage with the bytes of storage `index`. Raises `Malformed`; `Fault` where it
        does not begin where torch's own memory does: several operators have other bits then."""
        if not 0 <= index < len(self.sizes):
            raise Malformed(f"there is no storage {index}")
        storage = torch.UntypedStorage(self.sizes[index])
        if storage.data_ptr() % _ALIGNMENT:
            raise Fault(
                f"storage {index} begins at an address that is no multiple of {_ALIGNMENT}, as "
                "memory of torch's own does"
            )
        if self.sizes[index]:
            self._source.fill(index, bytes_of(storage))
        return storage

    def digest(self, index: int) -> bytes:
        """SHA-256 of a storage. Raises `Malformed`."""
        storage = self.read(index)
        return hashlib.sha256(bytes_of(storage) if storage.nbytes() else b"").digest()


def bytes_of(storage: torch.UntypedStorage) -> memoryview:
    """The memory of a storage on the CPU that has any."""
    return memoryview((ctypes.c_char * storage.nbytes()).from_address(storage.data_ptr())).cast("B")


class Copies:
    """One set of copies of a request's storages."""

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs
        self._storages: dict[tuple[int, str], torch.UntypedStorage] = {}

    def _storage(self, index: int, device: str) -> torch.UntypedStorage:
        key = (index, device)
        if key not in self._storages:
            storage = self._inputs.read(index)
            if device != "cpu":
                # Through a byte tensor, since that move exists for every backend.
                flat = torch.empty(0, dtype=torch.uint8).set_(storage)
                storage = flat.to(device).untyped_storage()
            self._storages[key] = storage
        return self._storages[key]

    def tensor(self, view: dict, where: str) -> torch.Tensor:
        """The tensor of a view. Raises `Malformed`, and `Unsupported` where this torch cannot
        build it."""
        dtype = names.dtype(need(view, "dtype", where))
        shape = _whole_list(need(view, "shape", where), f"{where}.shape")
        strides = _whole_list(need(view, "strides", where), f"{where}.strides")
        offset = _whole(view.get("offset", 0), f"{where}.offset")
        if view.get("layout", "strided") != "strided":
            raise Unsupported(f"{where}: layout {view['layout']!r:.40}")
        device = names.device(view.get("device") or self._inputs.device)
        try:
            if view.get("zero_tensor"):
                # It has no memory; its storage in the request is what it reads as.
                tensor = zeros(shape, dtype, device)
                return tensor.requires_grad_() if view.get("requires_grad") else tensor
            storage = self._storage(_whole(view["storage"], f"{where}.storage"), device)
            stored = quantized.part(dtype) if "quantizer" in view else dtype
            size = storage.nbytes()
            tensor = torch.empty(0, dtype=stored, device=device).set_(
                storage, offset, shape, strides
            )
            if storage.nbytes() != size:  # torch makes it larger
                raise Malformed(f"{where}: the view reaches outside its storage")
            if "quantizer" in view:
                return quantized.make(tensor, view["quantizer"], where)
            set_conj_neg(tensor, bool(view.get("conj")), bool(view.get("neg")))
            # Last: the bits above must not become part of an autograd graph.
            return tensor.requires_grad_() if view.get("requires_grad") else tensor
        except (Malformed, Unsupported):
            raise
        except Exception as error:
            raise Unsupported(f"{where}: {type(error).__name__}: {error}") from None

    def value(self, value: Any, where: str) -> Any:
        """An input: the tensor of a view, or a Python value. Raises as `tensor`."""
        return self.tensor(value, where) if is_view(value) else scalar(value)


def literal_text(view: Any, inputs: Inputs) -> str | None:
    """A literal tensor as `torch.tensor([...], dtype=...)` where that is short and gives the same
    bits in a contiguous tensor, else None. Raises `Malformed` or `Unsupported`."""
    if not is_view(view):
        raise Malformed("tensor: a view is expected")
    shape = _whole_list(need(view, "shape", "tensor"), "tensor.shape")
    count = math.prod(shape)
    if count > _SHORT or len(shape) > 4 or 0 in shape:
        return None
    if view.get("requires_grad") or view.get("conj") or view.get("neg"):
        return None
    dtype = names.dtype(need(view, "dtype", "tensor"))
    simple = (
        torch.bool,
        torch.uint8,
        torch.int8,
        torch.int16,
        torch.int32,
        torch.int64,
        torch.float16,
        torch.bfloat16,
        torch.float32,
        torch.float64,
    )
    if dtype not in simple:
        return None
    tensor = Inputs.fresh(inputs).tensor({**view, "device": "cpu"}, "tensor")
    whole = tensor.untyped_storage().nbytes() == count * tensor.element_size()
    if not whole or not tensor.is_contiguous() or dtype.is_floating_point and tensor.isnan().any():
        return None
    device = names.device(view.get("device") or inputs.device)
    where = "" if device == "cpu" else f", device={device!r}"
    return (
        f"torch.tensor({_list_text(tensor.tolist())}, "
        f"dtype={names.dtype_text(view['dtype'])}{where})"
    )


def _list_text(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_list_text(item) for item in value) + "]"
    if isinstance(value, float) and math.isinf(value):
        return "math.inf" if value > 0 else "-math.inf"
    return repr(value)


class Outputs:
    """Writes storages into one file, one after the other, and describes tensors as views on
    them."""

    def __init__(self, file: int, held: Held | None = None) -> None:
        self.file, self._end = file, 0
        #: Each has its `bytes` and where it lies in the file (`at`), or what it is the same as.
        self.storages: list[dict] = []
        self._held = held or Held()
        #: Storages, the index under which each is written, and the digests that it had then.
        self._kept: list[tuple[torch.UntypedStorage, int, list[bytes] | None]] | None = None

    def keep(self, calls: bool) -> None:
        """Whether from now on the storages of what `call` describes are held on to, for
        `read_again`."""
        self._kept = [] if calls else None

    def read_again(self, runs: list[dict]) -> None:
        """Adds to calls what reads otherwise by now of their outputs and gradients: their `again`;
        and lets go of it. What cannot be read any more, and says so when somebody tries, is left
        out: nobody takes that for a result."""
        kept, self._kept = self._kept or [], None
        now: dict[int, int | None] = {}
        for storage, index, digests in kept:
            with contextlib.suppress(RuntimeError):
                if self._reads_otherwise(storage, self.storages[index], digests):
                    # A view on what has become smaller has no memory.
                    shrunk = storage.nbytes() < self.storages[index]["bytes"]
                    now[index] = None if shrunk else self._write_storage("", storage)[0]
        if not now:
            return
        for call in (call for run in runs for call in run["calls"]):
            again = {
                group: {
                    name: _renumbered(value, now)
                    for name, value in call[group].items()
                    if _points_to(value, now)
                }
                for group in ("outputs", "grads")
            }
            if any(again.values()):
                call["again"] = {group: values for group, values in again.items() if values}

    def _reads_otherwise(
        self, storage: torch.UntypedStorage, written: dict, digests: list[bytes] | None
    ) -> bool:
        if storage.nbytes() != written["bytes"]:
            return True
        if digests is not None:
            return self._held.digest(storage) != digests
        return not _same_bytes(_on_cpu(storage), self.file, written["at"])

    def call(
        self,
        results: Iterable[tuple[str, Any]],
        inputs: Iterable[tuple[str, Any]],
        grads: Iterable[tuple[str, Any]],
    ) -> dict:
        """What one call left behind: outputs, inputs and gradients, by name. Storages are shared
        within the call. Raises `Unsupported` for a value that is no strided tensor or scalar."""
        seen: dict[int, int] = {}
        inputs = list(inputs)
        of = {id(value): name for name, value in inputs if isinstance(value, torch.Tensor)}

        def describe(name: str, value: Any) -> Any:
            if not isinstance(value, torch.Tensor):
                return self._scalar(name, value, describe)
            view = self._view(name, value, seen)
            return {**view, "is": of[id(value)]} if id(value) in of else view

        # The values stay referenced until all are written, so no address is used twice.
        outputs = {name: describe(name, value) for name, value in results}
        kept, self._kept = self._kept, None  # inputs are nobody's results
        after = {
            name: {k: v for k, v in described.items() if k != "is"}
            if isinstance(described, dict)
            else described
            for name, described in ((n, describe(n, v)) for n, v in inputs)
        }
        self._kept = kept
        return {
            "outputs": outputs,
            "inputs": after,
            "grads": {name: describe(name, value) for name, value in grads},
        }

    def _scalar(self, name: str, value: Any, describe: Any) -> Any:
        if isinstance(value, torch.dtype):
            return {"dtype": str(value).removeprefix("torch.")}
        if isinstance(value, torch.device):
            return {"device": str(value)}
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, (int, torch.SymInt)):
            return int(value)
        if isinstance(value, (float, torch.SymFloat)):
            return {"float": _hex(float(value))}
        if isinstance(value, torch.SymBool):
            return bool(value)
        if isinstance(value, complex):
            return {"complex": [_hex(value.real), _hex(value.imag)]}
        if isinstance(value, str):
            return {"str": value}
        if isinstance(value, (list, tuple)):
            return [describe(name, item) for item in value]
        raise Unsupported(f"{name} is a {type(value).__name__}")

    def _view(self, name: str, tensor: torch.Tensor, seen: dict[int, int]) -> dict:
        if tensor.layout != torch.strided:
            raise Unsupported(f"{name}: layout {str(tensor.layout).removeprefix('torch.')}")
        quantizer = {"quantizer": quantized.describe(tensor)} if tensor.is_quantized else {}
        storage = tensor.untyped_storage()
        key = identity(storage)
        if key not in seen:
            seen[key] = self._write(name, tensor, storage)
        return {
            "storage": seen[key],
            "dtype": str(tensor.dtype).removeprefix("torch."),
            "shape": list(tensor.shape),
            "strides": list(tensor.stride()),
            "offset": tensor.storage_offset(),
            "device": str(tensor.device),
            "layout": "strided",
            "requires_grad": tensor.requires_grad,
            "conj": tensor.is_conj(),
            "neg": tensor.is_neg(),
            **quantizer,
        }

    def _write(self, name: str, tensor: torch.Tensor, storage: torch.UntypedStorage) -> int:
        size = storage.nbytes()
        if is_zeros(tensor):  # it has a size and no bytes, and reads as zeros
            storage = torch.UntypedStorage(size).fill_(0)
        elif tensor.device.type == "meta":
            raise Unsupported(f"{name} is on the device meta and has no bytes")
        else:
            index, digests = self._write_storage(name, storage)
            if self._kept is not None:
                self._kept.append((storage, index, digests))
            return index
        return self._add({"at": self._write_bytes(name, storage), "bytes": size})

    def _write_storage(
        self, name: str, storage: torch.UntypedStorage
    ) -> tuple[int, list[bytes] | None]:
        """Writes what the runner does not have of a storage: its index, and the digests of its
        blocks if there are any."""
        size = storage.nbytes()
        digests = self._held.digest(storage)
        alike = None if digests is None else self._held.most_alike(size, digests)
        if alike is None:
            index = self._add({"at": self._write_bytes(name, _on_cpu(storage)), "bytes": size})
        else:
            same, blocks = alike
            described = {"bytes": size, "same": same, "blocks": blocks}
            if blocks:
                flat = torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)
                sent = torch.cat([flat[i * BLOCK : (i + 1) * BLOCK].cpu() for i in blocks])
                described["at"] = self._write_bytes(name, sent.untyped_storage())
            index = self._add(described)
        if digests is not None:
            self._held.add(index, size, digests)
        return index, digests

    def _add(self, described: dict) -> int:
        self.storages.append(described)
        return len(self.storages) - 1

    def _write_bytes(self, name: str, storage: torch.UntypedStorage) -> int:
        """Writes a storage at the end of the file; where that was."""
        size = storage.nbytes()
        try:
            address = storage.data_ptr()
        except RuntimeError:  # a fake tensor's has a size alone
            address = 0
        if size and not address:
            raise Unsupported(f"{name} is a result without data")
        at, self._end = self._end, self._end + size
        try:
            if size:
                write_all(self.file, bytes_of(storage), at)
        except OSError as error:
            raise Fault(f"{name} cannot be written: {error.strerror}") from None
        return at


def _on_cpu(storage: torch.UntypedStorage) -> torch.UntypedStorage:
    if storage.device.type in (
        "cpu",
        "meta",
    ):  # a fake tensor's is there, and has no bytes to bring
        return storage
    return (
        torch.empty(0, dtype=torch.uint8, device=storage.device)
        .set_(storage)
        .cpu()
        .untyped_storage()
    )


def _same_bytes(storage: torch.UntypedStorage, file: int, at: int) -> bool:
    """Whether a storage on the CPU has the bytes that lie in a file at an offset."""
    size = storage.nbytes()
    memory = bytes_of(storage) if size else memoryview(b"")
    return all(
        os.pread(file, min(_CHUNK, size - done), at + done) == memory[done : done + _CHUNK]
        for done in range(0, size, _CHUNK)
    )


def _points_to(value: Any, storages: dict) -> bool:
    if isinstance(value, list):
        return any(_points_to(item, storages) for item in value)
    return isinstance(value, dict) and value.get("storage") in storages


def _renumbered(value: Any, storages: dict[int, int | None]) -> Any:
    """A described value with its views on other storages, None where they have none any more."""
    if isinstance(value, list):
        return [_renumbered(item, storages) for item in value]
    if not _points_to(value, storages):
        return value
    index = storages[value["storage"]]
    return None if index is None else {**value, "storage": index}


def _hex(value: float) -> str:
    return value.hex() if math.isfinite(value) else str(value)
