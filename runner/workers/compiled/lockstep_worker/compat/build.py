"""What this torch was built from and for."""

import torch


def git_version() -> str:
    """The commit torch was built from, or an empty string."""
    return str(getattr(torch.version, "git_version", None) or "")


def triton_version() -> str | None:
    """The version of triton, or None where Inductor has none."""
    try:
        import triton
    except Exception:  # a broken triton raises more than ImportError
        return None
    return str(getattr(triton, "__version__", "unknown"))


def autograd_has_threads() -> bool:
    """Whether autograd starts threads when it is first used, even to trace: it keeps one for each
    device that a build for an accelerator can have, with or without one in the machine."""
    return torch.accelerator.current_accelerator() is not None
