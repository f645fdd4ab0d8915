"""Which operators ran, read from what the dispatcher was asked for: the outermost ones that
compute. What moves no value, or moves values and computes none, is neutral."""

import re
from collections import Counter
from collections.abc import Collection, Iterable

import torch

from .compat import dynamo, operators
from .compat.trace import Call

#: Namespaces of torch's own operators. What a vendor's operator calls of these is counted, itself
#: it is not.
TORCH = frozenset(
    """
        aten prims quantized _quantized mkldnn mkldnn_prepacked mkl onednn xnnpack inductor_prims
        rngprims sparse fbgemm torch_attn
    """.split()
)
_ALLOCATES = re.compile(r"_?(new_)?empty(_.*)?|_?resize_.*|set_")
#: Copies: neutral where the dtype stays.
_COPIES = frozenset(
    """
        clone copy copy_ _to_copy lift_fresh_copy copy_to device_put convert_element_type contiguous
        _unsafe_view _reshape_copy to_mkldnn to_dense _copy_from _copy_from_and_resize
    """.split()
)
_ZEROS = frozenset({"aten::zeros", "aten::zeros_like"})
_ACCUMULATES = "AccumulateGrad"
_EVALUATES = "autograd::engine::evaluate_function"


def count(
    calls: Iterable[Call], on_purpose: Collection[str] = (), through_aot: bool = False
) -> Counter:
    """Operator → calls. Of a composite operator those that it calls count, unless it is called
    `on_purpose`. `through_aot`: in a backward pass only what AOT autograd had compiled counts;
    around it torch differentiates the views that it made itself."""
    found: Counter = Counter()
    for call in calls:
        found += _count(call, on_purpose, through_aot)
    return found


def _count(call: Call, on_purpose: Collection[str], through_aot: bool) -> Counter:
    if _ACCUMULATES in call.name:
        return Counter()
    inner = call.calls
    if call.name.startswith(dynamo.AOT_BACKWARD):
        # Gradients that nobody gave are zeros, which autograd makes.
        inner = [each for each in inner if each.name not in _ZEROS]
    if call.name.startswith(_EVALUATES):
        # Operators between the nodes of autograd's graph add gradients up.
        inner = [
            each
            for each in inner
            if not each.schema
            and not (through_aot and not each.name.startswith(dynamo.AOT_BACKWARD))
        ]
    elif call.schema and call.name.partition("::")[0] in TORCH and not call.intercepted:
        op = operators.written(call.schema)
        if call.name in on_purpose or op is None or not operators.is_composite(op):
            return (
                Counter()
                if "meta" in call.devices or _is_neutral(call, op)
                else Counter({call.name: 1})
            )
    return count(inner, on_purpose, through_aot)


def _is_neutral(call: Call, op: operators.Overload | None) -> bool:
    name = call.name.partition("::")[2]
    if _ALLOCATES.fullmatch(name):
        return True
    if op is None:
        return False
    if name in _COPIES or torch.Tag.view_copy in op.tags:
        return len(set(call.types)) <= 1
    tensors, views = operators.returns(op)
    return views or torch.Tag.inplace_view in op.tags or not tensors and not operators.writes(op)
