"""What of CUDA's libraries decides the last bits of a result, set alike in every worker
(../eager/pins.h)."""

import os

import torch

#: Name → the module of torch.backends and the attribute of it, and what it is set to. The
#: attributes are those of every torch: what 2.9 has besides (`fp32_precision`) is set by them, and
#: who mixes both is refused by torch.
_PINS = {
    "cublas_tf32": ("cuda.matmul", "allow_tf32", False),
    "cudnn_tf32": ("cudnn", "allow_tf32", False),
    "cudnn_deterministic": ("cudnn", "deterministic", True),
    "cudnn_benchmark": ("cudnn", "benchmark", False),
    "cublas_fp16_reduction": ("cuda.matmul", "allow_fp16_reduced_precision_reduction", False),
    "cublas_bf16_reduction": ("cuda.matmul", "allow_bf16_reduced_precision_reduction", False),
    "cublas_fp16_accumulation": ("cuda.matmul", "allow_fp16_accumulation", False),
}
_WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"


def _owner(module: str) -> object:
    owner: object = torch.backends
    for part in module.split("."):
        owner = getattr(owner, part)
    return owner


def pin() -> None:
    """Sets what is pinned, before any of the libraries is initialised. With LOCKSTEP_PINS `off`
    everything stays as torch has it."""
    if os.environ.get("LOCKSTEP_PINS") == "off":
        return
    os.environ.setdefault(_WORKSPACE, ":4096:8")
    for module, attribute, value in _PINS.values():
        setattr(_owner(module), attribute, value)


def pins() -> dict[str, bool | str]:
    """`pin NAME` of `hello`'s environment: how each is set now."""
    return {
        **{
            f"pin {name}": bool(getattr(_owner(module), attribute))
            for name, (module, attribute, _) in _PINS.items()
        },
        "pin cublas_workspace": os.environ.get(_WORKSPACE, ""),
    }
