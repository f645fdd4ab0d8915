"""Torch's private parts that capturing needs; no other module here uses any."""

import contextlib
import copy
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._pytree import tree_leaves

from . import worker

worker.load()

from lockstep_worker.compat import carry, graphs, operators  # noqa: E402  (its package is loaded above)

#: Calls of a graph that change a mode instead of computing.
SET_GRAD = torch._C._set_grad_enabled
ENTER_AUTOCAST = torch.amp.autocast_mode._enter_autocast
EXIT_AUTOCAST = torch.amp.autocast_mode._exit_autocast
ENTER_INFERENCE = torch.autograd.grad_mode._enter_inference_mode
EXIT_INFERENCE = torch.autograd.grad_mode._exit_inference_mode
#: What counts the uses of a part of torch, and computes nothing.
COUNTS_USES = torch._C._log_api_usage_once
#: Configuration of which a program may have changed something: module → the prefix of its names.
CONFIGURED = ("torch._inductor.config", "torch._functorch.config")
#: What says where files go and how much is printed, and nothing of what is computed.
INDIFFERENT = ("debug", "trace", "cache", "compile_threads", "worker", "force_disable", "autotune")


def operators_of(function: Callable, tensors: list[torch.Tensor]) -> list[Any] | None:
    """The nodes of a function of fake tensors before anything is dispatched; None where it cannot
    be traced."""
    fresh: list[torch.Tensor] = []
    for each in tensors:
        if not isinstance(each, FakeTensor) or any(
            isinstance(size, torch.SymInt) for size in (*each.shape, *each.stride())
        ):
            return None
        with each.fake_mode:
            made = torch.empty_strided(
                each.shape, each.stride(), dtype=each.dtype, device=each.device
            )
        fresh.append(made.requires_grad_(each.requires_grad))
    before = torch.get_rng_state()
    try:
        with torch.no_grad():
            return list(graphs.trace(function, fresh))
    except Exception:
        return None
    finally:
        torch.set_rng_state(before)


overload = graphs.overload
is_zero_tensor = carry.is_zero_tensor


def draws(name: str) -> bool:
    """Whether an operator, `aten::name.overload`, draws random numbers."""
    space, _, rest = name.partition("::")
    packet, _, word = rest.partition(".")
    found = operators.overload(space, packet, word)
    return found is not None and torch.Tag.nondeterministic_seeded in found.tags


def forget(function: Any) -> None:
    """Takes what Dynamo keeps of a function or a module out of its cache; it is compiled again when
    it is called next."""
    import torch._dynamo.eval_frame as frames

    with contextlib.suppress(Exception):
        frames.remove_from_cache(getattr(function, "forward", function))


def sweepable(op: operators.Overload) -> bool:
    """Whether an operator computes tensors from tensors, the same ones each time."""
    tensors, views = operators.returns(op)
    drawing = torch.Tag.nondeterministic_seeded in op.tags
    return tensors and not views and not operators.writes(op) and not drawing


def fakes() -> Callable[[torch.Tensor], torch.Tensor]:
    """A function that gives a tensor's like without memory."""
    mode = FakeTensorMode(allow_non_fake_inputs=True)

    def fake(tensor: torch.Tensor) -> torch.Tensor:
        with mode:
            return torch.empty_strided(
                tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device
            )

    return fake


def symbol(number: Any) -> str | None:
    """The expression of a size that may vary; None of a plain number."""
    if isinstance(number, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return str(number.node.expr)
    return None


def source_name(node: Any) -> str:
    """What Dynamo calls the place where an input of its graph came from; empty if it does not
    say."""
    given = node.meta.get("grapharg")
    try:
        name = given.source.name
        return str(name() if callable(name) else name)
    except Exception:
        return ""


def resolved(backend: str) -> str | None:
    """Why torch has no backend of a name; None: it has one."""
    try:
        torch._dynamo.lookup_backend(backend)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"
    return None


def registered_name(backend: Callable) -> str | None:
    """The name under which a backend is registered; None where it is not."""
    for name in torch.compiler.list_backends(exclude_tags=()):
        with contextlib.suppress(Exception):
            if torch._dynamo.lookup_backend(name) is backend:
                return name
    return None


def when_logs_are_set_up(then: Callable[[], None]) -> None:
    """Calls `then` each time after torch has set up its loggers anew."""
    internal = getattr(torch._logging, "_internal", None)
    set_up = getattr(internal, "_init_logs", None)
    if internal is None or set_up is None:
        return

    def instead(*args: Any, **kwargs: Any) -> None:
        set_up(*args, **kwargs)
        then()

    internal._init_logs = instead


def optimize_owner() -> Any:
    """The module whose `optimize` is the older spelling of `torch.compile`."""
    return torch._dynamo


def exporting() -> list[tuple[Any, str]]:
    """The functions that export or package a program, each with its owner."""
    import torch._export
    import torch._inductor
    import torch._inductor.package

    found = [
        (torch.export, "export"),
        (torch._inductor, "aoti_compile_and_package"),
        (torch._inductor.package, "load_package"),
        (torch._inductor, "aot_compile"),
        (torch._export, "aot_compile"),
        (torch._export, "aot_load"),
    ]
    return [(owner, name) for owner, name in found if hasattr(owner, name)]


def changed_config() -> dict[str, Any]:
    """What the program has set of Inductor's and functorch's configuration: full name → value.
    Only modules that are loaded are looked at."""
    found: dict[str, Any] = {}
    for name in CONFIGURED:
        module = sys.modules.get(name)
        is_default = getattr(module, "_is_default", lambda key: False)
        for key, entry in getattr(module, "_config", {}).items():
            last = key.rsplit(".", 1)[-1]
            if last.startswith("_") or any(word in key for word in INDIFFERENT):
                continue
            with contextlib.suppress(Exception):
                if is_default(key):
                    continue
                value = module
                for part in key.split("."):
                    value = getattr(value, part)
                if value != entry.default:
                    found[f"{name}.{key}"] = value
    return found


def dynamo_errors() -> tuple[type[BaseException], ...]:
    """What Dynamo raises where it, and not the program, fails."""
    import torch._dynamo.exc as exc

    return (exc.TorchDynamoException,)


@contextlib.contextmanager
def forgiving() -> Iterator[None]:
    """While it lasts, what Dynamo cannot trace runs eagerly."""
    import torch._dynamo.config

    with torch._dynamo.config.patch(suppress_errors=True):
        yield


class ModuleCalls:
    """Puts `called` in the place of the call of every nn.Module, from `begin` until `end`: torch
    asks the attribute `_compiled_call_impl` for what to call instead of `forward`."""

    def __init__(self, called: Callable) -> None:
        self._called = called

    def begin(self) -> None:
        torch.nn.Module._compiled_call_impl = self

    def end(self) -> None:
        torch.nn.Module._compiled_call_impl = None

    def __get__(self, module: Any, owner: Any = None) -> Callable | None:
        if module is None:
            return None

        def call(*args: Any, **kwargs: Any) -> Any:
            return self._called(module, module._call_impl, args, kwargs)

        return call


#: Functions that a mode sees and that compute nothing.
_BOOKKEEPING = ("requires_grad_", "register_hook", "retain_grad", "_set_grad_enabled",
                "_enter_autocast", "_exit_autocast", "has_names", "_make_subclass")  # fmt: skip


def is_bookkeeping(function: Any) -> bool:
    """Whether a call changes no value: of a hook, a mode, a flag."""
    return getattr(function, "__name__", "") in _BOOKKEEPING


def is_transform(function: Any) -> bool:
    """Whether a function is a part of a transform of torch.func, which changes what is called after
    it."""
    module = getattr(function, "__module__", None) or ""
    return module.startswith(("torch._functorch", "torch._C._functorch"))


#: What surrounds transforms in a graph, and computes nothing.
OF_NO_ACCOUNT = frozenset(
    "lazy_load_decompositions _maybe_load_decompositions set_inplace_requires_grad_allowed "
    "_set_fwd_grad_enabled _enter_dual_level _exit_dual_level _saved_tensors_hooks_disable "
    "_saved_tensors_hooks_enable".split()
)


def transform(function: Any) -> str | None:
    """The name of a function that is a part of a transform, or stands beside one; None of any
    other."""
    word = getattr(function, "__name__", "")
    return word if is_transform(function) or word in OF_NO_ACCOUNT else None


def is_higher_order(function: Any) -> bool:
    """Whether an operator takes functions."""
    return isinstance(function, torch._ops.HigherOrderOperator)


def has_contexts(checkpointed: torch.fx.GraphModule) -> bool:
    """Whether a checkpoint executes its part in contexts of the program's own, as Dynamo notes."""
    return checkpointed.meta.get("_checkpoint_context_fn") is not None


def executable(module: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """The graph, its regions called as the functions that they are: torch's operator for them has
    no backward where nothing is traced."""
    region = torch.ops.higher_order.invoke_subgraph
    graphs_ = [each for each in module.modules() if isinstance(each, torch.fx.GraphModule)]
    if not any(node.target is region for each in graphs_ for node in each.graph.nodes):
        return module
    made = torch.fx.GraphModule(module, copy.deepcopy(module.graph))
    for name, child in module.named_children():
        if isinstance(child, torch.fx.GraphModule):
            setattr(made, name, executable(child))
    for node in made.graph.nodes:
        if node.target is region:
            node.target = _call_region
    made.recompile()
    return made


def _call_region(region: Callable, _name: str, *args: Any) -> Any:
    return region(*args)


def made_of_aten(function: Any) -> Callable | None:
    """What computes an operator of `prims` by operators of aten; None of any other."""
    if getattr(function, "namespace", "") != "prims":
        return None
    return getattr(function.overloadpacket, "impl_aten", None)


def undispatched() -> Any:
    """A context in which no mode sees what is dispatched."""
    return torch.utils._python_dispatch._disable_current_modes()


def reads_a_number(function: Any) -> bool:
    """Whether an operator gives Python an element of a tensor, or what depends on all of them."""
    return overload(function) in (
        "aten::_local_scalar_dense.default",
        "aten::item.default",
        "aten::equal.default",
        "aten::is_nonzero.default",
    )


#: Functions that ask a tensor for what does not depend on its elements, or for a text that people
#: read; so do those that begin with `is_`, but for `is_nonzero`.
_FACTS = frozenset(
    "__get__ __len__ __hash__ __dir__ __repr__ __str__ __format__ size stride dim ndimension numel "
    "nelement element_size storage_offset get_device type data_ptr dense_dim sparse_dim dim_order "
    "result_type can_cast promote_types broadcast_shapes has_names __set__ __delete__".split()
)


def reads_elements(function: Any, args: Any, kwargs: Any) -> bool:
    """Whether a function of torch that returns no tensor gives Python elements of a tensor, or what
    depends on them."""
    word = getattr(function, "__name__", "")
    if word in _FACTS or word.startswith("is_") and word != "is_nonzero":
        return False
    return any(isinstance(each, torch.Tensor) for each in tree_leaves((args, kwargs)))


#: Functions of which the sizes of the result depend on the elements of what they are given.
_LOOSE = frozenset(
    "nonzero argwhere masked_select unique unique_consecutive _unique2 bincount "
    "repeat_interleave".split()
)


def makes_loose_sizes(function: Any, args: Any) -> bool:
    """Whether the sizes of what a function of torch returns depend on elements."""
    word = getattr(function, "__name__", "")
    if word == "__getitem__":
        masks = (torch.bool, torch.uint8)
        return any(getattr(each, "dtype", None) in masks for each in tree_leaves(args[1:]))
    return word in _LOOSE or word == "where" and len(args) == 1


def asks_for_sizes(function: Any) -> bool:
    """Whether a function asks a tensor for its sizes."""
    words = ("size", "numel", "nelement", "__len__")
    return getattr(function, "__name__", "") in words or (
        getattr(function, "__self__", None) is torch.Tensor.shape
    )


def lifts(function: Any) -> bool:
    """Whether an operator hands over a tensor that torch has made of Python's numbers."""
    return overload(function) == "aten::lift_fresh.default"


def context_inside() -> dict:
    """The modes that are in force in the middle of a program, as the context of steps."""
    found: dict[str, Any] = {"grad": torch.is_grad_enabled()}
    if torch.is_autocast_enabled("cpu"):
        dtype = str(torch.get_autocast_dtype("cpu")).removeprefix("torch.")
        found["autocast"] = {"device": "cpu", "dtype": dtype}
    return found
