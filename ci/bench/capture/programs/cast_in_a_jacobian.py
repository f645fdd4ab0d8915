"""The Jacobian of a function that rounds to bfloat16 and back."""

import torch


def f(x):
    return (x * 3).bfloat16().float().sin()


torch.manual_seed(0)
print(torch.compile(torch.func.jacfwd(f))(torch.randn(12)))
