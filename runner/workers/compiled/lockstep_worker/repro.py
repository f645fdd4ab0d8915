"""Renders an instance as a Python script that needs torch and nothing of Lockstep.

`python -m lockstep_worker repro` reads one JSON request from standard input and prints the script.
The request holds what a `run` message holds (`program`, `storages`, `calls`, `device`, `seed`,
`path`), and `title`, `id`, `links`, `threads`, `libraries`, `policies` (output → policy, as the judge names
both), and `prepare`: null, or an object of `program`, `storages`, `calls`, `seed` and
`requires_grad`. What comes from a case reaches the script as checked names, as literals or as
escaped comments.
"""

import base64
import json
import os
import sys
import zlib
from string import Template

from .problems import Malformed, Unsupported, need

_LINE = 16  # numbers a line
_SHORT = 64  # numbers of a storage that is written as numbers


def main() -> int:
    """Standard input to standard output; the exit status. The script is for people: what cannot be
    rendered is said in one line."""
    output = os.dup(1)  # what libraries print when they are loaded must not get into the script
    os.dup2(2, 1)
    try:
        request = json.load(sys.stdin)
        text = render(request)
    except (Malformed, Unsupported, ValueError) as problem:
        print(f"lockstep: {problem}", file=sys.stderr)
        return 3
    with open(output, "w", encoding="utf-8") as script:
        script.write(text)
    return 0


def render(request: dict) -> str:
    """The script. Raises `Malformed` or `Unsupported`."""
    import torch

    libraries = [str(library) for library in request.get("libraries") or []]
    for library in libraries:
        torch.ops.load_library(library)
    path = need(request, "path", "request")
    prepare = request.get("prepare")
    parts = [_Part(request, prepared=_made_by(prepare))]
    if prepare is not None:
        parts.append(_Part({**prepare, "device": "cpu"}, suffix="_prepare"))
    rule = {str(key): str(value) for key, value in (request.get("policies") or {}).items()}
    settings = {
        "BACKEND": str(path.get("backend") or "inductor"), "MODE": path.get("mode"),
        "DYNAMIC": path.get("dynamic"), "FULLGRAPH": bool(path.get("fullgraph", True)),
        "CONFIG": dict(path.get("config") or {}), "ENVIRONMENT": dict(path.get("environment") or {}),
        "IMPORT": list(path.get("import") or []), "LIBRARIES": libraries, "SEED": int(request.get("seed", 0)),
        "THREADS": int(request.get("threads") or 1), "DEVICE": parts[0].device, "POLICY": rule,
        "CALLS": len(parts[0].calls), "INPUTS": list(parts[0].program["inputs"]),
        "OUTPUTS": parts[0].source.outputs, "BACKWARD": parts[0].program.get("backward"),
    }
    about = [str(request.get("title", "")), str(request.get("id", "")), *map(str, request.get("links") or [])]
    return _SCRIPT.substitute(
        about="\n".join("# " + _comment(line) for line in about if line),
        settings="\n".join(f"{name} = {_data(value)}" for name, value in settings.items()),
        grads=str("torch.autograd.grad(" in parts[0].source.text),
        programs="\n\n".join(part.text() for part in reversed(parts)),
        prepare=_prepare_text(prepare, parts), context=_context_text(parts[0].program.get("context") or {}, ()),
        after=_context_text(parts[0].program.get("context") or {}, None))


def _made_by(prepare: dict | None) -> list[str]:
    """Names of the inputs that `prepare` makes."""
    return [] if prepare is None else list(need(need(prepare, "program", "prepare"), "outputs", "prepare.program"))


def _comment(text: str) -> str:
    return ascii(text)[1:-1]


def _data(value: object) -> str:
    """A value of JSON as a Python literal of plain ASCII."""
    json.dumps(value)  # nothing else comes here
    return ascii(value)


def _prepare_text(prepare: dict | None, parts: list) -> str:
    if prepare is None:
        return "    return {}\n"
    grads = list(prepare.get("requires_grad") or [])
    lines = [f"    torch.manual_seed({int(prepare.get('seed', 0))})",
             "    globals().update(literals_prepare())",
             "    made = dict(zip(" + ascii(parts[1].source.outputs) + ", program_prepare()))",
             '    if DEVICE != "cpu":',
             "        made = {name: tensor.to(DEVICE) for name, tensor in made.items()}",
             f"    for name in {ascii(grads)}:",
             "        made[name] = made[name].detach().requires_grad_()",
             "    return made"]
    return "\n".join(lines) + "\n"


def _context_text(context: dict, only: tuple | None) -> str:
    """The managers around a call, and (with `only` None) around the backward after it."""
    from . import contexts

    keep = {key: value for key, value in context.items() if only is not None or key in contexts.BACKWARD}
    managers = [text for text, _ in contexts.lines(keep)]
    return ", ".join(managers) or "contextlib.nullcontext()"


class _Part:
    """A program with its inputs, as functions of the script whose names end with `suffix`."""

    def __init__(self, request: dict, prepared: list[str] = (), suffix: str = "") -> None:
        from . import contexts
        from .source import generate
        from .tensors import Inputs, is_view, literal_text

        self.program, self.suffix = need(request, "program", "request"), suffix
        self.inputs = Inputs(request.get("storages", []), request.get("device", "cpu"))
        self.device = self.inputs.device
        self.calls = [need(call, "inputs", "calls") for call in need(request, "calls", "request")]
        self.names = [name for name in self.program["inputs"] if name not in prepared]
        kinds = {name: "tensor" for name in prepared}
        for name in self.names:
            given = [need(call, name, "calls.inputs") for call in self.calls]
            kinds[name] = "tensor" if all(map(is_view, given)) else "number"
        self.source = generate(self.program, lambda view: literal_text(view, self.inputs), kinds)
        self.helpers = []
        for _, helper in contexts.lines(self.program.get("context") or {}):
            if helper and contexts.HELPERS[helper] not in self.source.text:
                self.helpers.append(contexts.HELPERS[helper])
        given = [value for call in (*self.calls, self.source.captured) for value in call.values()]
        if any(isinstance(value, dict) and "quantizer" in value for value in given):
            self.helpers.append(_QUANTIZED)

    def text(self) -> str:
        source = self.source.text.replace("def program(", f"def program{self.suffix}(", 1)
        while source.startswith("import "):
            source = source.split("\n", 1)[1]
        calls = []
        for i, call in enumerate(self.calls):
            used, lines = self._storages([value for name in self.names if isinstance(value := call[name], dict)])
            given = [f"{name!r}: {self._value(call[name], used)}" for name in self.names]
            calls.append(f"    if call == {i}:\n" + "".join(f"        {line}\n" for line in lines)
                         + "        return {" + ", ".join(given) + "}\n")
        used, lines = self._storages(list(self.source.captured.values()))
        literals = [f"{name!r}: {self._value(view, used)}" for name, view in self.source.captured.items()]
        return ("\n\n".join(self.helpers + [source.strip("\n") + "\n\n"])
                + f"def inputs{self.suffix}(call):\n" + "".join(calls)
                + f"\n\ndef literals{self.suffix}():\n" + "".join(f"    {line}\n" for line in lines)
                + "    return {" + ", ".join(literals) + "}\n")

    def _storages(self, values: list[dict]) -> tuple[dict[int, str], list[str]]:
        """Lines that make the storages of some views, and the name of each."""
        used: dict[int, str] = {}
        lines = []
        for view in values:
            if "storage" not in view or view["storage"] in used:
                continue
            index = view["storage"]
            used[index] = f"storage_{int(index)}"
            lines.append(f"{used[index]} = {_storage_text(self.inputs.read(index), view)}")
        return used, lines

    def _value(self, value: object, used: dict[int, str]) -> str:
        from . import names, quantized
        from .tensors import is_view, scalar

        if not is_view(value):
            return _scalar_text(scalar(value))
        quantizer = value.get("quantizer")
        dtype = names.dtype_text(need(value, "dtype", "view")) if quantizer is None else str(
            quantized.part(names.dtype(need(value, "dtype", "view"))))
        numbers = [list(map(int, need(value, key, "view"))) for key in ("shape", "strides")]
        flags = "".join(f", {key}=True" for key in ("conj", "neg", "requires_grad") if value.get(key))
        device = names.device(value.get("device") or self.device)
        device = "" if device == self.device else f", device={device!r}"
        text = f"view({used[value['storage']]}, {dtype}, {numbers[0]}, {numbers[1]}, {int(value.get('offset', 0))}{flags}{device})"
        if quantizer is None:
            return text
        scales, points, axis = quantized.parts(quantizer, "view")
        return f"quantized({text}, {scales!r}, {points!r}{'' if axis is None else f', {axis}'})"


def _scalar_text(value: object) -> str:
    import math

    import torch

    if isinstance(value, list):
        return "[" + ", ".join(map(_scalar_text, value)) + "]"
    if isinstance(value, torch.dtype):
        return str(value)
    if isinstance(value, complex):
        return f"complex({_scalar_text(value.real)}, {_scalar_text(value.imag)})"
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    return ascii(value)


def _storage_text(storage, view: dict) -> str:
    """A call of `bits` or `packed` that gives the very bytes of a storage."""
    import torch

    data = bytes(torch.empty(0, dtype=torch.uint8).set_(storage).tolist()) if storage.nbytes() <= 4096 else _raw(storage)
    width = getattr(torch, view["dtype"]).itemsize
    if counting := _counting_text(data, width):
        return counting
    if len(data) % width == 0 and len(data) // width <= _SHORT and width <= 16:
        numbers = [f"0x{int.from_bytes(data[at:at + width], 'little'):0{2 * width}x}" for at in range(0, len(data), width)]
        rows = [", ".join(numbers[at:at + _LINE]) for at in range(0, len(numbers), _LINE)]
        return f"bits({width}, [" + (",\n" + " " * 12).join(rows) + "])"
    text = base64.b64encode(zlib.compress(data, 9)).decode()
    rows = [text[at:at + 120] for at in range(0, len(text), 120)] or [""]
    return "packed(" + "\n            ".join(f'"{row}"' for row in rows) + ")"


def _counting_text(data: bytes, width: int) -> str:
    """The call of `bits` where the storage is every pattern of so many bytes in order, over and over; else nothing."""
    if width > 2 or len(data) <= _SHORT * width or len(data) % width:
        return ""
    count, patterns = len(data) // width, 256 ** width
    times, rest = divmod(count, patterns)
    if data != b"".join((k % patterns).to_bytes(width, "little") for k in range(count)) or times and rest:
        return ""
    return f"bits({width}, range({count}))" if times < 1 or count == patterns else f"bits({width}, [*range({patterns})] * {times})"


def _raw(storage) -> bytes:
    import ctypes

    return bytes((ctypes.c_char * storage.nbytes()).from_address(storage.data_ptr()))


_QUANTIZED = '''\
def quantized(integers, scales, points, axis=None):
    """A quantized tensor of these integers; with an axis, each of its indices has a scale and a zero point."""
    if axis is None:
        return torch._make_per_tensor_quantized_tensor(integers, scales[0], points[0])
    scales, points = torch.tensor(scales, dtype=torch.float64, device=DEVICE), torch.tensor(points, device=DEVICE)
    return torch._make_per_channel_quantized_tensor(integers, scales, points, axis)
'''

_SCRIPT = Template('''\
#!/usr/bin/env python3
$about
#
# Does the compiled program compute what eager computes? Needs torch only. Exit status: 0 they agree, 1 they
# do not, 125 this torch cannot run it (which `git bisect run` skips).
#
#   python THIS_FILE
#   TORCH_COMPILE_BACKEND=aot_eager python THIS_FILE
#   git bisect run python THIS_FILE
#   TORCHINDUCTOR_CACHE_DIR=$$(mktemp -d) python -m torch._inductor.compiler_bisector run python THIS_FILE
# (The last one names the backend and the part of it; it empties its cache directory.)
import base64
import contextlib
import importlib
import math
import os
import sys
import zlib

$settings

os.environ.update(ENVIRONMENT)
# A reproducer compiles anew, or a bisection would look at what was compiled before.
for name in ("TORCHINDUCTOR_FX_GRAPH_CACHE", "TORCHINDUCTOR_AUTOGRAD_CACHE"):
    os.environ.setdefault(name, "0")


def cannot_run(why):
    print(f"cannot run: {why}")
    sys.exit(125)


try:
    import torch
except ImportError as error:
    cannot_run(error)

HAS_GRAD_STEPS = $grads


def bits(width, numbers):
    """A storage of little-endian numbers of so many bytes."""
    return stored(b"".join(number.to_bytes(width, "little") for number in numbers))


def packed(text):
    """A storage from compressed bytes in base64."""
    return stored(zlib.decompress(base64.b64decode(text)))


def stored(data):
    if not data:
        return torch.UntypedStorage(0).to(DEVICE) if DEVICE != "cpu" else torch.UntypedStorage(0)
    return torch.frombuffer(bytearray(data), dtype=torch.uint8).clone().to(DEVICE).untyped_storage()


def view(storage, dtype, shape, strides, offset, conj=False, neg=False, requires_grad=False, device=DEVICE):
    tensor = torch.empty(0, dtype=dtype, device=device).set_(storage, offset, shape, strides)
    if conj:
        torch._C._set_conj(tensor, True)
    if neg:
        torch._C._set_neg(tensor, True)
    return tensor.requires_grad_() if requires_grad else tensor


$programs


def prepared():
$prepare


def run(function):
    """What the function leaves behind at every call: output or error by name."""
    seen = []
    for call in range(CALLS):
        given = {**prepared(), **inputs(call)}
        globals().update(literals())
        values = [given[name] for name in INPUTS]
        torch.manual_seed(SEED)
        try:
            with $context:
                results = function(*values)
            found = dict(zip(OUTPUTS, results))
            if BACKWARD is not None:
                with $after:
                    of = [found[name] for name in BACKWARD["of"]]
                    seeds = BACKWARD.get("with", "ones")
                    torch.autograd.backward(of, [torch.ones_like(t) for t in of] if seeds == "ones" else
                                            [given[name] for name in seeds])
        except Exception as error:
            seen.append({"error": error})
            return seen
        for name, value in given.items():
            if isinstance(value, torch.Tensor):
                found["input " + name] = value
                if BACKWARD is not None and value.requires_grad:
                    found["grad " + name] = value.grad
        seen.append(found)
    return seen


def significant(tensor):
    return [stride for size, stride in zip(tensor.shape, tensor.stride()) if size > 1] if tensor.numel() else []


def quantizer(tensor):
    """What the integers of a quantized tensor stand for."""
    if tensor.qscheme() == torch.per_tensor_affine:
        return tensor.q_scale(), tensor.q_zero_point()
    return tensor.q_per_channel_scales().tolist(), tensor.q_per_channel_zero_points().tolist(), tensor.q_per_channel_axis()


def raw(tensor):
    flat = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
    return flat.reshape(-1).view(torch.uint8).reshape(-1, flat.element_size()) if flat.numel() else flat


def difference(name, eager, compiled):
    """What differs between two values, or None."""
    if not isinstance(eager, torch.Tensor) or not isinstance(compiled, torch.Tensor):
        if isinstance(eager, (list, tuple)) and isinstance(compiled, (list, tuple)) and len(eager) == len(compiled):
            return next((text for a, b in zip(eager, compiled) if (text := difference(name, a, b))), None)
        same = type(eager) is type(compiled) and (eager == compiled or eager != eager and compiled != compiled)
        return None if same else f"eager {eager!r}, compiled {compiled!r}"
    for what in ("dtype", "shape", "device", "requires_grad"):
        if getattr(eager, what) != getattr(compiled, what):
            return f"{what}: eager {getattr(eager, what)}, compiled {getattr(compiled, what)}"
    if significant(eager) != significant(compiled):
        return f"strides: eager {eager.stride()}, compiled {compiled.stride()}"
    if eager.is_quantized:
        scales = [quantizer(eager), quantizer(compiled)]
        if scales[0] != scales[1]:
            return f"quantizer: eager {scales[0]}, compiled {scales[1]}"
        eager, compiled = eager.int_repr(), compiled.int_repr()
    if eager.numel() == 0:
        return None
    policy = POLICY.get(name, "bits")
    if policy == "metadata":
        return None
    differs = (raw(eager) != raw(compiled)).any(dim=1).reshape(eager.shape)
    a, b = eager.detach().cpu(), compiled.detach().cpu()
    floating = a.is_floating_point() or a.is_complex()
    if floating and policy != "bits_strict":
        differs &= ~(a.isnan() & b.isnan()) if a.element_size() > 1 else True
    if floating and policy not in ("bits", "bits_strict", "equal", "exact") and differs.any():
        # Lockstep's own policies read more than a script can; this is their common part.
        try:
            torch.testing.assert_close(b, a, equal_nan=True)
            return None
        except AssertionError:
            pass
    if policy == "equal" and differs.any():
        differs &= a != b
    count = int(differs.sum())
    if not count:
        return None
    wide = torch.complex128 if a.is_complex() else torch.float64
    text = f"{count} of {a.numel()} elements differ under the policy {policy}"
    at = differs.nonzero()[:4].tolist()
    for place in at:
        text += f"\\n    {place}: eager {a[tuple(place)].item()!r}, compiled {b[tuple(place)].item()!r}"
    if floating:
        text += f"\\n    largest difference {(a.to(wide) - b.to(wide)).abs().nan_to_num(math.inf).max().item():.6g}"
    return text


def aliases(found):
    """Which values share memory."""
    tensors = [(name, value) for name, value in found.items()
               if isinstance(value, torch.Tensor) and value.layout == torch.strided]
    return sorted((a, b) for i, (a, x) in enumerate(tensors) for b, y in tensors[:i]
                  if x.untyped_storage()._cdata == y.untyped_storage()._cdata)


def disagreements():
    """Lines that say what differs; none where eager and compiled agree."""
    torch._dynamo.reset()
    backend = os.environ.get("TORCH_COMPILE_BACKEND") or BACKEND
    eager = run(program)
    compiled = run(torch.compile(program, backend=backend, mode=MODE if backend == BACKEND else None,
                                 dynamic=DYNAMIC, fullgraph=FULLGRAPH))
    lines = []
    for call in range(max(len(eager), len(compiled))):
        a, b = (each[call] if call < len(each) else {} for each in (eager, compiled))
        where = f"call {call}: " if CALLS > 1 else ""
        if "error" in a or "error" in b:
            if not ("error" in a and "error" in b):
                say = [f"{type(x['error']).__name__}: {x['error']}" if "error" in x else "no error" for x in (a, b)]
                lines.append(f"{where}eager: {say[0]}; {backend}: {say[1]}")
            continue
        lines += [f"{where}{name}: {text}" for name in a if (text := difference(name, a[name], b.get(name)))]
        if aliases(a) != aliases(b):
            lines.append(f"{where}shared memory: eager {aliases(a)}, {backend} {aliases(b)}")
    return lines


def configure():
    """Puts the path's settings in force; exits with 125 where this torch lacks one, or a module or the backend."""
    import torch._dynamo
    import torch._inductor.config

    torch.set_num_threads(THREADS)
    for library in LIBRARIES:
        torch.ops.load_library(library)
    for name in IMPORT:
        try:
            importlib.import_module(name)
        except Exception as error:
            cannot_run(f"import {name}: {type(error).__name__}: {error}")
    backend = os.environ.get("TORCH_COMPILE_BACKEND") or BACKEND
    if backend not in torch._dynamo.list_backends(exclude_tags=()):
        cannot_run(f"torch {torch.__version__} has no backend {backend}")
    config = {"torch._inductor.config.fallback_random": True, **CONFIG}
    if HAS_GRAD_STEPS and hasattr(torch._dynamo.config, "trace_autograd_ops"):
        torch._dynamo.config.trace_autograd_ops = True
    for name, value in config.items():
        parts = name.split(".")
        for at in range(len(parts) - 1, 0, -1):
            with contextlib.suppress(ImportError):
                owner = importlib.import_module(".".join(parts[:at]))
                break
        for part in parts[at:-1]:
            owner = getattr(owner, part, None)
        if not hasattr(owner, parts[-1]):
            cannot_run(f"torch {torch.__version__} has no {name}")
        setattr(owner, parts[-1], value)


def test_fn() -> bool:
    """Whether eager and compiled agree; prints what differs."""
    lines = disagreements()
    print("\\n".join(lines) if lines else "eager and compiled agree")
    return not lines


configure()

if __name__ == "__main__":
    print(f"torch {torch.__version__}, backend {os.environ.get('TORCH_COMPILE_BACKEND') or BACKEND}")
    sys.exit(0 if test_fn() else 1)
''')
