"""A recurrent step whose state, kept in bfloat16, is fed back."""

import torch


@torch.compile
def step(x, state):
    return (state + x * 0.3).bfloat16().float() * 1.01


torch.manual_seed(0)
state = torch.zeros(8)
for _ in range(3):
    state = step(torch.randn(8), state)
print(state)
