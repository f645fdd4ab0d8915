"""A package of AOTInductor's, of a module that rounds to float16 and back."""

import torch


class Net(torch.nn.Module):
    def forward(self, x):
        return x.half().float() * 3


torch.manual_seed(0)
x = torch.randn(40, 3)
file = torch._inductor.aoti_compile_and_package(torch.export.export(Net(), (x,)))
print(torch._inductor.aoti_load_package(file)(x).sum())
