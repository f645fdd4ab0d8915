"""What is the same to the bit."""

import torch


@torch.compile
def f(x):
    return x + 1


print(f(torch.ones(3)))
