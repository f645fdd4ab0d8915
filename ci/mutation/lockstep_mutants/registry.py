"""The mutants by name, and the decorators that make a mutant of a function of a few lines. The
function's docstring says what goes wrong.

The arguments of a fault depend on its decorator:

  op         `fault(op, *args, **kwargs)` instead of a call of `op` in a graph of AOT autograd:
             a wrong kernel
  result     `fault(outputs, inputs)`, two lists of the graph's, which leaves the tensors
             unchanged: wrong results of a graph
  gradients  `fault(gradients)`, a list of what a backward graph returns: wrong results of a
             backward
  call       `fault(run, inputs)`, where `run(*inputs)` is the faultless graph: a fault around a
             graph
  compiler   `fault(graph, examples, compile)`, where `compile(graph, examples)` is faultless: a
             fault before there is a graph

If a fault returns None, it does not apply, and the faultless result is taken."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

CLASSES = tuple(
    """
        numerics indexing metadata aliasing errors autograd random caching nondeterminism crash
        state fallback structure
    """.split()
)
#: Kinds for which one faultless execution shows where they would differ.
PROBED = ("op", "result", "gradients")
#: Stands for every operator that torch tags as pointwise.
POINTWISE = "pointwise"


@dataclass(frozen=True)
class Mutant:
    """One faulty backend. `ops`: names of aten's operators (`add`) or overloads (`sum.dim_IntList`)
    that the fault replaces; `graph`: `forward`, `backward`, or both where it is empty; `needs`:
    facts of an instance without which it cannot show; `hangs`: it is to be run with short
    limits."""

    name: str
    cls: str
    kind: str
    doc: str
    fault: Callable
    ops: tuple[str, ...] = ()
    graph: str = ""
    needs: tuple[str, ...] = ()
    hangs: bool = False

    @property
    def may_call(self) -> list[str]:
        """What its path declares to call: only a mutant that falls back says that it computes
        itself."""
        return [] if self.cls == "fallback" else ["*"]

    @property
    def backend(self) -> str:
        """Its name as a backend of torch.compile."""
        return "lockstep_mutant_" + self.name.replace("-", "_")


MUTANTS: dict[str, Mutant] = {}


def mutant(name: str, cls: str, kind: str, fault: Callable, doc: str, **rest: object) -> None:
    """Adds one. Raises ValueError for a name that there is, a class that there is not, and a fault
    that nobody explains."""
    if name in MUTANTS:
        raise ValueError(f"there are two mutants {name}")
    if cls not in CLASSES:
        raise ValueError(f"{name}: {cls} is none of {', '.join(CLASSES)}")
    if not doc:
        raise ValueError(f"{name}: say what goes wrong, as a docstring")
    MUTANTS[name] = Mutant(name, cls, kind, " ".join(doc.split()), fault, **rest)  # type: ignore[arg-type]


def _decorator(kind: str) -> Callable:
    def of(cls: str, *ops: str, **rest: object) -> Callable:
        def add(fault: Callable) -> Callable:
            mutant(
                fault.__name__.strip("_").replace("_", "-"),
                cls,
                kind,
                fault,
                fault.__doc__ or "",
                ops=ops,
                **rest,
            )
            return fault

        return add

    return of


op, result, gradients, call, compiler = (
    _decorator(kind) for kind in ("op", "result", "gradients", "call", "compiler")
)


def of_operator(name: str, overload: str, pointwise: bool, graph: str) -> Iterator[Mutant]:
    """The mutants that replace an operator of a graph."""
    for each in MUTANTS.values():
        if each.kind == "op" and each.graph in ("", graph):
            if (
                name in each.ops
                or f"{name}.{overload}" in each.ops
                or pointwise
                and POINTWISE in each.ops
            ):
                yield each
