"""A module whose forward rounds to float16 and back, trained for a few steps."""

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(16, 32), nn.Linear(32, 1)

    def forward(self, x):
        return self.last(nn.functional.gelu(self.first(x).half().float()))


torch.manual_seed(0)
net = Net()
compiled = torch.compile(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(64, 16), torch.randn(64, 1)
for _ in range(3):
    loss = (compiled(x) - y).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
