"""The program that is captured: an architecture with random weights, used in ways and dtypes.

    program.py NAME [--eager] WAY:DTYPE…

Each is a graph, but for generation, which comes last. With --eager nothing is compiled. What it
prints last is whose the architecture is."""

import fnmatch
import importlib.metadata
import inspect
import math
import pathlib
import re
import sys
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from models import zoo

#: Where all random numbers come from.
SEED = 27
#: Calls of a model that generates: words that are given first, and then one by one.
STEPS = 5


def with_torchvision() -> None:
    """Declares the operators that `torchvision` describes when it is imported: timm imports it for
    what it does to pictures, and where it was built for another torch it has none."""
    library = torch.library.Library("torchvision", "FRAGMENT")
    for word in ("nms", "qnms"):
        library.define(f"{word}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    with_torchvision.kept = library  # type: ignore[attr-defined]


def shake(model: torch.nn.Module) -> None:
    """Gives parameters and statistics values that show what is left out: no bias of zeros, no scale
    of ones, nothing so small that it vanishes."""
    with torch.no_grad():
        for each in model.parameters():
            if each.dim() >= 2:
                each.normal_(0, 1 / math.sqrt(each[0].numel()))
            elif each.dim() and bool((each == each[0]).all()):
                each.normal_(1 if float(each[0]) == 1 else 0, 0.2)
        for name, each in model.named_buffers():
            if name.endswith("running_mean"):
                each.normal_(0, 0.2)
            elif name.endswith("running_var"):
                each.uniform_(0.5, 1.5)


class Net(torch.nn.Module):
    """A model whose results are all its floating tensors, and those of the modules inside that
    `inner` names; with labels, the loss before them."""

    def __init__(self, model: torch.nn.Module, inner: str | None) -> None:
        super().__init__()
        self.model = model
        self.seen: list[torch.Tensor] = []
        for name, each in model.named_modules() if inner else ():
            if fnmatch.fnmatchcase(name, inner or "") and name.count(".") == (inner or "").count(
                "."
            ):
                each.register_forward_hook(self._note)

    def _note(self, module: Any, given: Any, result: Any) -> None:
        self.seen += tensors_of(result)

    def forward(self, labels: torch.Tensor | None = None, **inputs: Any) -> tuple:
        self.seen = []
        results = tensors_of([*tensors_of(self.model(**inputs)), *self.seen])
        self.seen = []
        if labels is None:
            return tuple(results)
        scores = results[0].flatten(0, -2).float()
        return (torch.nn.functional.cross_entropy(scores, labels), *results)


def tensors_of(value: Any) -> list[torch.Tensor]:
    """The floating tensors of what a model returns, each once."""
    leaves = torch.utils._pytree.tree_leaves(dict(value) if hasattr(value, "items") else value)
    found: dict[int, torch.Tensor] = {}
    for each in leaves:
        if isinstance(each, torch.Tensor) and each.is_floating_point():
            found.setdefault(id(each), each)
    return list(found.values())


def use(name: str, way: str, dtype: torch.dtype, compiled: bool) -> None:
    """Uses a model as a program would that compiles it, or that does not."""
    generates = way == zoo.GENERATION
    with _disable_current_modes():  # what makes a model and sets it up is no call of the model
        net, inputs = made(name, way, dtype)
        run = net.model.eval() if generates else net
        if compiled:
            how: Any = {} if generates else {"dynamic": False, "fullgraph": True}
            run = torch.compile(run, **how)
        with torch.no_grad():
            scores = None if generates else tensors_of(net.model.eval()(**inputs))[0]
    if scores is None:
        generate(run, inputs)
        return
    net.model.train(way == zoo.TRAINING)
    if way == zoo.TRAINING:
        labels = torch.randint(0, scores.shape[-1], (scores[..., 0].numel(),))
        run(labels=labels, **inputs)[0].backward()
        return
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=way == zoo.AUTOCAST):
        run(**inputs)


def made(name: str, way: str, dtype: torch.dtype) -> tuple[Net, dict[str, torch.Tensor]]:
    """A model with what it is given."""
    torch.manual_seed(SEED)
    architecture = zoo.architectures()[name]
    model = architecture.make()
    shake(model)
    inputs = architecture.inputs()
    if hasattr(model, "config"):
        model.config.use_cache = way == zoo.GENERATION or architecture.recurrent
        model.config.output_hidden_states = way != zoo.GENERATION
    model = model.to(dtype)
    inputs = {k: each.to(dtype) if each.is_floating_point() else each for k, each in inputs.items()}
    return Net(model, architecture.inner if way != zoo.GENERATION else None), inputs


def notice(name: str) -> str:
    """Whose an architecture is."""
    file = str(inspect.getsourcefile(type(zoo.architectures()[name].make())))
    source = file.split("site-packages/", 1)[-1]
    library = source.split("/", 1)[0]
    lines = re.findall(r"Copyright[^\n]*", pathlib.Path(file).read_text("utf-8")[:4000])
    holders = "; ".join(dict.fromkeys(each.strip(" #.") for each in lines))
    version = importlib.metadata.version(library)
    return f"Captured from {source} of {library} {version}, Apache License 2.0. {holders}".strip()


def generate(step: torch.nn.Module, inputs: dict[str, torch.Tensor]) -> None:
    """Reads a text, and then writes word by word; what was read stays in a cache."""
    past = None
    with torch.no_grad():
        for _ in range(STEPS):
            found = step(**inputs, past_key_values=past, use_cache=True)
            past = found.past_key_values
            inputs = {"input_ids": found.logits[:, -1:].argmax(-1)}


if __name__ == "__main__":
    with_torchvision()
    eager = sys.argv[2] == "--eager"
    for word in sys.argv[3 if eager else 2 :]:
        way, dtype = word.split(":")
        use(sys.argv[1], way, getattr(torch, dtype), not eager)
    print(notice(sys.argv[1]))
