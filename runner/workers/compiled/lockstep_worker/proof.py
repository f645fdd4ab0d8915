"""Proof of compilation: what Dynamo and Inductor say they did, read from their own counters."""

import hashlib
import mmap
import re

from .compat import dynamo, inductor
from .compat.shims import shims

_EXTERN = re.compile(r"\bextern_kernels\.(\w+)")
_ATEN = re.compile(
    r'\btorch\.ops\.((?:aten|\w*prims|prim|mkldnn\w*|mkl|onednn|quantized|fbgemm|sparse|_\w+)\.[\w.]+?)(?=\(|\s|,|"|$)'
)
#: What the code calls by the name that it gives to `torch.ops.aten`, and methods of buffers that
#: write in place.
_SHORT = re.compile(r"(?<![\w.])(?:(aten\.[\w.]+?)|buf\d+\.(copy_))(?=\()")
#: What is counted here and in all processes that are forked from here.
COUNTED = ("lowered", "packaged")
#: A byte for each, which they share.
_counts = mmap.mmap(-1, len(COUNTED))


def count(what: str) -> None:
    """Counts a graph that Inductor lowers, or a package that is made, up to 255."""
    at = COUNTED.index(what)
    _counts[at] = min(255, _counts[at] + 1)


def counted(what: str) -> int:
    """How many there were."""
    return _counts[COUNTED.index(what)]


class Watch:
    """Watches one execution: make it before compiling, ask `proof` and `phases` afterwards."""

    def __init__(self) -> None:
        self.code: list[str] = []
        dynamo.reset()
        inductor.reset_metrics()
        inductor.on_source(self.code.append)

    def proof(self) -> dict:
        """The `proof` of an observation; only `graphs` is required (docs/design/protocol.md)."""
        counters = dynamo.counters()
        frames = counters["frames"]
        records = dynamo.records()
        recompiles = [
            str(reason)
            for record in records
            if (reason := getattr(record, "recompile_reason", None))
        ]
        return {
            "graphs": int(counters["stats"]["unique_graphs"]),
            "operators": int(counters["stats"]["calls_captured"]),
            # Under fullgraph Dynamo counts no frames; it records every one that it compiled, though
            # nothing was in it.
            "frames": sum(getattr(record, "fail_type", None) is None for record in records),
            "kernels": inductor.kernel_count(),
            "fallbacks": fallbacks(self.code),
            "code": digest(self.code),
            "breaks": [_first_line(text) for text in counters["graph_break"]],
            "recompiles": len(recompiles),
            "recompile_reasons": [reason[:500] for reason in recompiles],
            "recompile_limit": any(
                str(key).startswith(dynamo.LIMITS) for key in counters["unimplemented"]
            ),
            "frames_skipped": int(frames["total"] - frames["ok"]),
            "cache_hits": int(counters["inductor"]["fxgraph_cache_hit"]),
            "cache_misses": int(counters["inductor"]["fxgraph_cache_miss"]),
        }


def _first_line(text: object) -> str:
    lines = str(text).strip().splitlines()
    return lines[0][:300] if lines else ""


def fallbacks(code: list[str]) -> list[str]:
    """What generated code calls instead of a kernel of its own, sorted, without comments."""
    found: set[str] = set()
    for text in code:
        in_cpp = "aoti_torch_" in text
        for line in text.splitlines():
            line = line.split("#", 1)[0]
            if "=" in line and line.lstrip().startswith(
                ("aten =", "extern_kernels =", "inductor_ops =")
            ):
                continue
            found.update(f"extern_kernels.{name}" for name in _EXTERN.findall(line))
            found.update(_ATEN.findall(line))
            found.update(name or f"aten.{method}" for name, method in _SHORT.findall(line))
            if in_cpp:
                found.update(name.replace("::", ".") for name in shims(line.split("//", 1)[0]))
    return sorted(found)


def digest(code: list[str]) -> str:
    """Sixteen hexadecimal digits of what was generated, without comments and blank lines; empty
    where nothing was. Two paths with the same one execute the same code."""
    lines = [
        line
        for text in code
        for line in (line.split("#", 1)[0].rstrip() for line in text.splitlines())
        if line
    ]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16] if lines else ""


def compile_phases() -> dict[str, float]:
    """Seconds of all compilations since the reset: `trace` (Dynamo), `lower` (the backend without
    Inductor: AOT autograd) and `compile` (Inductor and the C++ or Triton compiler)."""
    total = lowered = compiled = 0
    for record in dynamo.records():
        # The records of a backward have no Dynamo time of their own.
        inductor = getattr(record, "inductor_cumulative_compile_time_us", None) or 0
        aot = max(getattr(record, "aot_autograd_cumulative_compile_time_us", None) or 0, inductor)
        total += max(getattr(record, "dynamo_cumulative_compile_time_us", None) or 0, aot)
        lowered += aot
        compiled += inductor
    return {
        "trace": (total - lowered) / 1e6,
        "lower": (lowered - compiled) / 1e6,
        "compile": compiled / 1e6,
    }
