"""Elements of tensors as a case writes them, from their bytes; knows no torch."""

import struct
from collections.abc import Iterator
from typing import Any

#: dtype → its size, how `struct` reads it (None: by its bits), how many digits tell it apart.
FORMATS: dict[str, tuple[int, str | None, int]] = {
    "float64": (8, "d", 17),
    "float32": (4, "f", 9),
    "float16": (2, "e", 5),
    "bfloat16": (2, None, 0),
    **{
        f"int{8 * size}": (size, code, 0) for size, code in ((1, "b"), (2, "h"), (4, "i"), (8, "q"))
    },
    **{
        f"uint{8 * size}": (size, code, 0)
        for size, code in ((1, "B"), (2, "H"), (4, "I"), (8, "Q"))
    },
    "bool": (1, "B", 0),
    "complex64": (8, "ff", 9),
    "complex128": (16, "dd", 17),
    "complex32": (4, "ee", 5),
}


def size_of(dtype: str) -> int:
    """Bytes of an element."""
    return FORMATS.get(dtype, (1, None, 0))[0]


def elements_of(dtype: str, data: bytes) -> Iterator[Any]:
    """Each element in the form of a case, to the bit."""
    size, code, digits = FORMATS.get(dtype, (1, None, 0))
    if code is None:
        for at in range(0, len(data), size):
            word = data[at : at + size]
            yield _bfloat16(word) if dtype == "bfloat16" else _bits(word)
    elif dtype == "bool":
        yield from (each != 0 for each in data)
    elif dtype.startswith("complex"):
        half = code[0]
        for real, imaginary in struct.iter_unpack(f"<{code}", data):
            parts = [_float(part, struct.pack(f"<{half}", part), digits)
                     for part in (real, imaginary)]  # fmt: skip
            yield {"complex": [p if not isinstance(p, dict) else "nan" for p in parts]}
    elif digits:
        for at, (value,) in enumerate(struct.iter_unpack(f"<{code}", data)):
            yield _float(value, data[at * size : (at + 1) * size], digits)
    else:
        yield from (value for (value,) in struct.iter_unpack(f"<{code}", data))


def _bits(word: bytes) -> dict:
    return {"bits": f"0x{int.from_bytes(word, 'little'):0{2 * len(word)}x}"}


def _bfloat16(word: bytes) -> Any:
    (value,) = struct.unpack("<f", b"\0\0" + word)
    return _float(value, word, 9)


def _float(value: float, word: bytes, digits: int) -> Any:
    """A float as a number, or as the text or the bits that JSON has no number for."""
    if value != value:
        usual = int.from_bytes(word, "little") in (0x7FC0, 0x7E00, 0x7FC00000, 0x7FF8 << 48)
        return "nan" if usual else _bits(word)
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    if value == 0:
        return "-0.0" if str(value).startswith("-") else 0
    for tried in range(1, digits + 1):
        text = f"{value:.{tried}g}"
        if float(text) == value or tried >= digits // 2 and _rounds(text, value, len(word)):
            return _number(float(text))
    return _number(value)


def _rounds(text: str, value: float, size: int) -> bool:
    """Whether a text is read back as the same element of so many bytes."""
    if size == 2:
        return False
    code = {4: "<f", 8: "<d"}[size]
    try:
        return struct.pack(code, float(text)) == struct.pack(code, value)
    except OverflowError:  # rounded beyond the greatest element
        return False


def _number(value: float) -> float | int:
    return int(value) if value == int(value) and abs(value) < 1e15 else value
