"""Programs with transforms of torch.func that are no steps with sub-programs: what the transforms
call is what is captured."""

import pytest

PROGRAMS = {
    "value": "torch.func.grad_and_value(lambda x: (x.exp() * x).sum())",
    "jacfwd": "torch.func.jacfwd(lambda x: x.sin() * x[0])",
    "jacrev": "torch.func.jacrev(lambda x: x.sin() * x[0])",
    "nested": "torch.func.jacfwd(torch.func.jacfwd(lambda x: x.sin().prod()))",
    "hessian": "torch.func.hessian(lambda x: (x ** 3).sum())",
    "vjp": "lambda x: torch.func.vjp(lambda y: y.tanh() * 2, x)[1](torch.ones_like(x))",
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("grad", ["False", "True"])
def test_a_transform(record, name, grad):
    ran = record(
        f"x = torch.linspace(0.1, 1, 4).requires_grad_({grad})\ntorch.compile({PROGRAMS[name]})(x)"
    )
    assert ran.status == 0, ran.errors
    assert ran.only().region["where"] == {"file": "model.py", "line": 4, "name": "<lambda>"}
    steps = ran.only().program["steps"]
    assert all("tensor" in step or step["op"].startswith("aten::") for step in steps)


def test_a_tensor_of_numbers_inside_a_transform(record):
    ran = record(
        """
        def f(x): return (x * torch.tensor([1.0, 2.0, 4.0]).cumsum(0)).sum()
        torch.compile(torch.func.grad(f))(torch.ones(3))
        """
    )
    (step,) = ran.only().program["steps"]
    steps = step["do"]["steps"]
    assert [each["tensor"]["literal"]["shape"] for each in steps if "tensor" in each] == [[3]]


def test_a_functional_call_with_per_sample_gradients(record):
    ran = record(
        """
        from torch.func import functional_call, grad, vmap
        net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        params = {name: each.detach() for name, each in net.named_parameters()}
        def loss(params, x, y):
            return (functional_call(net, params, (x,)) - y).square().mean()
        f = torch.compile(vmap(grad(loss), in_dims=(None, 0, 0)))
        f(params, torch.randn(5, 3), torch.randn(5, 1))
        """
    )
    assert ran.status == 0, ran.errors
    assert len(ran.only().outputs) == 4


def test_a_number_that_is_read_beside_a_transform_is_a_step(record):
    ran = record(
        """
        def g(x):
            with torch.no_grad():
                n = x.detach().sum().item()
            return torch.func.grad(lambda y: (y * n).sum())(x)
        torch._dynamo.config.capture_scalar_outputs = True
        torch.compile(g, fullgraph=True)(torch.ones(2))
        """
    )
    *_, last = ran.only().program["steps"]
    (read,) = [
        name
        for step in ran.only().program["steps"]
        for inner in step.get("steps", [])
        if "item" in inner.get("call", inner.get("op", ""))
        for name in inner["let"]
    ]
    assert {"ref": read} in last["do"]["steps"][0]["args"]


def test_a_number_that_a_transform_reads_is_no_constant(record):
    ran = record(
        """
        @torch.compile
        def f(x): return x * 2
        f(torch.ones(2))
        def g(x):
            with torch.no_grad():
                n = x.detach().sum().item()
            return torch.func.vjp(lambda y: (y * n).sum(), x)[1](torch.ones([]))
        torch._dynamo.config.capture_scalar_outputs = True
        torch.compile(g, fullgraph=True)(torch.ones(2))
        """
    )
    named = [each for each in ran.cases if each.name != "model-f"]
    assert not named, [each.program for each in named]
    assert any(each["source"] and each["source"]["file"] == "model.py" for each in ran.reasons)
