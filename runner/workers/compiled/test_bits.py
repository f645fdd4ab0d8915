"""Where AOT autograd does not keep eager's bits, the file of its path says so."""

import fnmatch
import json
import pathlib

import torch
import torch._decomp  # registers the decompositions
from torch._C import DispatchKey

PATH = pathlib.Path(__file__).parents[2] / "paths" / "aot_eager.json"
#: What torch decomposes in Python for autograd, and that keeps the bits all the same.
KEPT = {
    "elements are moved or made, and none is computed": "broadcast_tensors empty one_hot "
    "pad_sequence tensor_split to_dense unsafe_chunk",
    "each element by itself; softshrink's zeros are a finding": "hardshrink softshrink",
    "core's cases kept them; of one layout of matmul there is a finding": "gru istft lstm "
    "matmul rnn_relu rnn_tanh stft",
    "core's cases kept them; two of these no CPU executes": "cudnn_batch_norm miopen_batch_norm "
    "native_batch_norm",
}


def decomposed():
    """The operators that AOT autograd takes apart in Python, whatever its backend."""
    for full in torch._C._dispatch_get_all_op_names():
        name, _, overload = full.removeprefix("aten::").partition(".")
        if name == full.partition(".")[0] or not hasattr(torch.ops.aten, name):
            continue
        packet = getattr(torch.ops.aten, name)
        kernels = getattr(packet, overload or "default").py_kernels
        if {DispatchKey.Autograd, DispatchKey.CompositeImplicitAutograd} & set(kernels):
            yield name


def test_every_decomposition_for_autograd_is_declared_or_keeps_the_bits():
    declared = [
        glob
        for entry in json.loads(PATH.read_text(encoding="utf-8"))["unsupported"]
        if entry["features"] == ["bits"]
        for glob in entry["operators"]
    ]
    names = set(decomposed())
    assert len(names) > 25
    kept = {name for words in KEPT.values() for name in words.split()}
    new = {
        name
        for name in names - kept
        if not any(fnmatch.fnmatchcase(name, glob) for glob in declared)
    }
    assert not new, f"{new}: compare their results with eager's, bit by bit"
    assert not any(fnmatch.fnmatchcase(name, glob) for name in kept for glob in declared)
