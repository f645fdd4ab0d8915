"""A function that cannot be one graph, though it asks for one: rounding to float16 and back."""

import torch


def f(x):
    h = x.half().float()
    torch._dynamo.graph_break()
    return h * 2


torch.manual_seed(0)
x = torch.randn(40, 3)
try:
    torch.compile(f, fullgraph=True)(x)
except Exception as error:
    print(type(error).__name__)
print(f(x).sum())
