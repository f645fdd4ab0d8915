"""Programs of each kind: what is captured of them, and that its steps give what they gave."""

import json


def words(captured):
    """What the steps call."""
    steps = captured.program["steps"]
    inner = [each for step in steps for each in step.get("steps", [step])]
    return [step.get("op") or step.get("call") for step in inner]


def bare(case):
    """The steps of a case without their places."""
    return [{key: each[key] for key in each if key != "source"} for each in case["steps"]]


NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)
    def forward(self, x, scale=1.0):
        return self.fc(x).half().float() * scale
"""


def test_the_graph_of_a_compiled_module(record, case_of):
    one = record(NET + "torch.compile(Net())(torch.randn(2, 4))").only()
    assert one.name == "model-net"
    assert words(one) == [
        "aten::linear.default",
        "aten::to.dtype",
        "aten::to.dtype",
        "aten::mul.Tensor",
    ]
    assert one.program["inputs"] == ["fc_weight", "fc_bias", "x"]
    assert [path.name for path in one.paths] == ["inductor"]
    case = case_of(one)
    assert case["inputs"]["fc_weight"]["requires_grad"] is True
    assert case["steps"][1]["source"] == {"file": "model.py", "line": 9, "name": "Net.forward"}
    assert bare(case)[1] == {"let": "half", "op": "to.dtype", "args": ["%linear", "float16"]}
    assert case["outputs"] == ["mul"]
    assert case["title"] == "Net.forward of model.py, line 9"


def test_each_step_has_the_line_and_name_of_the_users_source(record):
    one = record(NET + "torch.compile(Net())(torch.randn(2, 4))").only()
    assert {str(step["source"]) for step in one.program["steps"]} == {
        str({"file": "model.py", "line": 9, "name": "Net.forward"})
    }


def test_what_the_program_asked_for_is_the_path(record):
    ran = record(
        """
        import torch._inductor.config
        def f(x): return x.exp() + 1
        x = torch.ones(3)
        torch.compile(f, backend="aot_eager")(x)
        torch._dynamo.reset()
        torch.compile(f, dynamic=True)(torch.ones(4) * 2)
        torch._dynamo.reset()
        torch.compile(f, options={"emulate_precision_casts": True})(torch.ones(5))
        torch._dynamo.reset()
        torch._inductor.config.max_fusion_size = 1
        torch.compile(f, mode="max-autotune-no-cudagraphs")(torch.ones(6))
        """
    )
    assert ran.status == 0, ran.errors
    names = [[path.name for path in each.paths] for each in ran.cases]
    assert names == [
        ["aot_eager"],
        ["inductor-dynamic"],
        ["inductor-emulate-casts"],
        ["model-inductor"],
    ]
    file = ran.cases[-1].paths[0].file
    assert file["config"] == {"torch._inductor.config.max_fusion_size": 1}
    assert (file["mode"], file["above"]) == ("max-autotune-no-cudagraphs", "inductor")


def test_a_backend_without_a_name_is_refused_with_the_reason(record):
    ran = record(
        """
        def mine(graph, inputs): return graph.forward
        torch.compile(lambda x: x + 1, backend=mine)(torch.ones(3))
        """
    )
    one = ran.only()
    assert one.paths == []
    assert one.refused == [
        "its backend mine has no name: register it with torch._dynamo.register_backend in a "
        "module, and name it in a path file"
    ]


def test_an_unknown_backend_fails_as_it_would_without_us(record):
    ran = record("torch.compile(lambda x: x + 1, backend='nope')(torch.ones(3))")
    assert ran.status == 1
    assert "Invalid backend" in ran.errors and "nope" in ran.errors
    assert ran.cases == []


def test_keyword_arguments_and_flattened_outputs(record):
    ran = record(
        """
        import dataclasses
        from torch.utils._pytree import register_dataclass
        @dataclasses.dataclass
        class Out:
            logits: torch.Tensor
            loss: torch.Tensor
        @torch.compile
        def f(x, *, weights, offset=None):
            out = Out(logits=x * weights["a"], loss=(x - weights["b"]).mean())
            return {"out": out, "list": [out.logits + 1, (offset,)]}
        got = f(torch.randn(2, 3), weights={"a": torch.randn(3), "b": torch.randn(3)})
        assert set(got) == {"out", "list"} and got["out"].logits.shape == (2, 3)
        """
    )
    assert ran.status == 0, ran.errors
    assert ran.only().program["inputs"] == ["x", "weights_a", "weights_b"]
    assert len(ran.only().outputs) == 3


def test_tied_weights_buffers_and_hooks(record, case_of):
    ran = record(
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed = nn.Embedding(5, 4)
                self.head = nn.Linear(4, 5, bias=False)
                self.head.weight = self.embed.weight
                self.norm = nn.BatchNorm1d(4)
                self.register_buffer("steps", torch.zeros(()))
            def forward(self, ids):
                self.steps += 1
                return self.head(self.norm(self.embed(ids)))
        net = Net()
        net.head.register_forward_hook(lambda module, args, out: out * 2)
        torch.compile(net)(torch.tensor([0, 3, 4]))
        assert net.steps == 1 and net.norm.num_batches_tracked == 1
        """
    )
    assert ran.status == 0, ran.errors
    one = ran.only()
    assert one.program["inputs"].count("embed_weight") == 1
    assert "head_weight" not in one.program["inputs"]
    assert set(one.calls[0]["written"]) == {
        "steps", "norm_running_mean", "norm_running_var", "norm_num_batches_tracked"
    }  # fmt: skip
    assert "aten::mul.Tensor" in words(one)
    assert case_of(one)["inputs"]["steps"] == {
        "dtype": "float32",
        "shape": [],
        "fill": {"constant": 0.0},
    }


def test_no_grad_and_autocast_are_contexts(record, case_of):
    ran = record(
        """
        def f(x, w):
            with torch.no_grad():
                a = x * 2
            with torch.autocast("cpu", dtype=torch.bfloat16):
                b = a @ w
            return a + 1, b
        with torch.no_grad():
            torch.compile(f)(torch.randn(2, 2), torch.randn(2, 2))
        torch.compile(f)(torch.randn(2, 2, requires_grad=True), torch.randn(2, 2))
        """
    )
    assert [each.region["replay"] for each in ran.cases] == [None, None]
    quiet, loud = map(case_of, ran.cases)
    assert quiet["context"] == {"grad": False}
    assert "context" not in loud
    assert [step["with"] for step in loud["steps"] if "with" in step] == [
        {"grad": False}, {"autocast": {"device": "cpu", "dtype": "bfloat16"}}
    ]  # fmt: skip


def test_a_training_step_has_the_gradients_that_reached_it(record, case_of):
    ran = record(
        NET
        + """
net = Net()
step = torch.compile(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    loss = (step(torch.randn(2, 4)) ** 2).sum()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
torch.compile(lambda x: (x * x).sum())(torch.ones(3, requires_grad=True)).backward()
"""
    )
    assert ran.status == 0, ran.errors
    net, square = map(case_of, ran.cases)
    assert net["backward"] == {"of": ["mul"], "with": ["mul_gradient"]}
    assert net["inputs"]["mul_gradient"]["shape"] == [2, 3]
    assert square["backward"] == {"of": ["sum_1"]}  # all ones
    assert len(ran.cases[0].calls) == 1  # the others have the same shapes


def test_a_graph_break_gives_a_case_for_each_graph(record):
    ran = record(
        """
        @torch.compile
        def f(x):
            y = x.exp()
            print("between")
            return y + 1
        f(torch.randn(3))
        """
    )
    assert ran.text == "between\n"
    assert [words(each) for each in ran.cases] == [["aten::exp.default"], ["aten::add.Tensor"]]


def test_two_compiled_functions(record):
    ran = record(
        """
        f = torch.compile(lambda x: x.sin())
        g = torch.compile(lambda x: x.cos(), backend="aot_eager")
        f(g(torch.randn(3)))
        """
    )
    assert [[p.name for p in each.paths] for each in ran.cases] == [["aot_eager"], ["inductor"]]


def test_shapes_that_change_are_calls_of_one_case(record, case_of):
    ran = record(
        """
        @torch.compile
        def f(x): return x.reshape(x.shape[0] * 2, -1) / x.shape[0]
        for n in (4, 6, 8):
            f(torch.randn(n, 2))
        """
    )
    one = ran.only()
    case = case_of(one)
    assert [call.get("x", {}).get("shape") for call in case["calls"]] == [None, [6, 2], [8, 2]]
    assert {"let": "size_x_0", "op": "sym_size.int", "args": ["%x", 0]} in bare(case)
    assert [path.name for path in one.paths] == ["inductor-graph-breaks"]


def test_an_exception_is_the_point_of_the_case(record, case_of):
    ran = record(
        """
        @torch.compile(backend="eager")
        def f(x, i): return x[i]
        f(torch.randn(3), torch.tensor([7]))
        """
    )
    assert ran.status == 1 and "IndexError" in ran.errors
    assert case_of(ran.cases[0])["raises"] == {"class": "IndexError"}


def test_what_shares_memory_is_a_view(record, case_of):
    ran = record(
        """
        base = torch.arange(12.).reshape(3, 4)
        @torch.compile
        def f(x, y):
            x.mul_(2)
            return y + 1
        f(base[:, 1:3], base[1])
        """
    )
    inputs = case_of(ran.only())["inputs"]
    views = [each for each in inputs.values() if "view_of" in each]
    assert len(views) == 1 and views[0]["shape"] in ([3, 2], [4])


def test_indices_literals_and_several_results(record, case_of):
    ran = record(
        """
        @torch.compile
        def f(x, i):
            values, where = x.max(dim=1)
            left, right = x.chunk(2, dim=1)
            y = x[..., 0::2][i] * torch.tensor([1.5, float("inf")])
            y[0] = 0
            return values, where, right.clone(), y, x[None, -1]
        f(torch.randn(2, 4), torch.tensor([1, 0]))
        """
    )
    steps = bare(case_of(ran.only()))
    assert {"let": ["max_1_0", "max_1_1"], "op": "max.dim", "args": ["%x", 1]} in steps
    assert {"let": [None, "chunk_1"], "op": "chunk", "args": ["%x", 2, 1]} in steps
    assert [step["get"] for step in steps if "get" in step] == [
        "%x[..., 0::2]", "%getitem_4[%i]", "%x[None, -1]"
    ]  # fmt: skip
    assert [step["tensor"]["values"] for step in steps if "tensor" in step] == [[1.5, "inf"]]
    assert [(step["set"], step["to"]) for step in steps if "set" in step] == [("%y[0]", 0)]


def test_a_program_that_compiles_nothing_has_its_outermost_module_captured(record):
    ran = record(
        NET
        + "nn.Sequential(Net(), nn.ReLU())(torch.randn(2, 4))\n"
        + "Net()(torch.ones(1, 4), scale=2.0)"
    )
    assert [each.region["as_if"]["name"] for each in ran.cases] == ["Sequential", "Net"]
    assert words(ran.cases[0])[-1] == "aten::relu.default"
    assert ran.cases[0].region["asked"]["backend"] == "inductor"


def test_what_is_compiled_later_takes_the_place_of_modules_called_before(record):
    ran = record(
        NET
        + "net = Net()\nnet(torch.randn(2, 4))\n"
        + "torch.compile(net, backend='aot_eager')(torch.randn(3, 4))"
    )
    assert [path.name for path in ran.only().paths] == ["aot_eager"]


def test_functions_are_captured_where_there_is_no_module(record):
    text = """
    def inner(x): return x.sigmoid()
    def f(x, n): return inner(x) * n
    def main(): print(f(torch.zeros(2), n=3))
    main()
    """
    assert record(text).cases == []
    ran = record(text, functions=True)
    assert ran.only().region["as_if"] == {"file": "model.py", "line": 5, "name": "f"}
    assert words(ran.only()) == ["aten::sigmoid.default", "aten::mul.Tensor"]


def test_an_exported_program(record):
    ran = record(
        NET
        + "net = Net().eval()\nprogram = torch.export.export(net, (torch.randn(2, 4),))\n"
        + "assert program.module()(torch.ones(2, 4)).shape == (2, 3)"
    )
    assert ran.status == 0, ran.errors
    assert [path.name for path in ran.only().paths] == ["export"]


def test_a_graph_that_no_case_can_say_is_captured_from_its_execution(record):
    ran = record(
        """
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x): return x.exp() * 2
            @staticmethod
            def backward(ctx, g): return g
        f = torch.compile(lambda x: Double.apply(x) + 1)
        f(torch.randn(3))
        f(torch.randn(3, requires_grad=True))
        """
    )
    one, other = ran.cases
    assert one.region["replay"] is None
    assert "other gradients" in other.region["replay"]
    assert words(one) == ["aten::exp.default", "aten::mul.Tensor", "aten::add.Tensor"]


def test_a_call_that_dynamo_fails_on_is_captured_from_its_execution(record):
    ran = record(
        """
        def f(x, y):
            z = x.sigmoid() + y["a"]
            torch._dynamo.graph_break()
            return z * 2
        torch.compile(f, fullgraph=True)(torch.randn(3), {"a": torch.ones(3)})
        """
    )
    assert ran.status == 1 and "Unsupported" in ran.errors
    one = ran.only()
    assert one.region["route"] == "trace"
    assert one.program["inputs"] == ["x", "y_a"]
    assert words(one) == ["aten::sigmoid.default", "aten::add.Tensor", "aten::mul.Tensor"]
    assert one.program["steps"][0]["source"] == {"file": "model.py", "line": 5, "name": "f"}


def test_what_a_program_sets_before_it_imports_torch_counts(record, tmp_path):
    (tmp_path / "first.py").write_text("import os\nos.environ['OMP_NUM_THREADS'] = '1'\n")
    ran = record("print(torch.get_num_threads())\ntorch.compile(lambda x: x + 1)(torch.ones(2))",
                 before="import first\n")  # fmt: skip
    assert ran.text == "1\n"
    assert len(ran.cases) == 1


def test_every_distinct_call_is_one_of_a_sweep(record):
    from lockstep.capturing import sweeps

    ran = record(
        """
        x, w = torch.randn(4, 3), torch.randn(3, 3)
        for _ in range(3):
            y = torch.relu(x @ w) + x.t().contiguous().t()
        y.sum(dim=0, keepdim=True)
        """,
        calls=True,
    )
    assert ran.status == 0, ran.errors
    noted = [call for each in ran.regions for call in each["sweep"]]
    (text,), too_long = sweeps.write(noted, "model.py")
    assert too_long == 0
    calls = json.loads(text)["sweep"]["calls"]
    assert [call[0] for call in calls] == ["mm", "relu", "clone", "add.Tensor", "sum.dim_IntList"]
    assert calls[-1][2:] == [[0], True]


def test_what_nobody_uses_stays(record, case_of):
    ran = record(
        """
        @torch.compile
        def f(x):
            unused = x.exp()
            x.add_(1)
            return x * 2
        f(torch.randn(3))
        """
    )
    steps = bare(case_of(ran.only()))
    assert {"let": None, "op": "exp", "args": ["%x"]} in steps
    assert ran.only().calls[0]["written"] == ["x"]


def test_a_sum_of_sizes_that_vary_is_steps(record, case_of):
    ran = record(
        """
        def f(x, y):
            return (x.sum() - y.sum()) * torch.sym_sum([x.shape[0], 2, y.shape[0]])
        f = torch.compile(f, dynamic=True)
        f(torch.ones(4), torch.ones(5))
        f(torch.ones(6), torch.ones(4))
        """
    )
    one = ran.only()
    assert one.region["route"] == "graph" and len(one.calls) == 2, ran.reasons
    assert sum("scalar" in step for step in one.program["steps"]) == 2
    assert not ran.reasons and not one.region["replay"]


def test_a_later_call_that_the_steps_do_not_make_is_left_out(record):
    ran = record(
        """
        @torch.compiler.allow_in_graph
        def secret(x):
            return x * x.shape[0]
        f = torch.compile(lambda x: secret(x) + 1, dynamic=True)
        f(torch.ones(4))
        f(torch.ones(5))
        """
    )
    assert len(ran.only().calls) == 1
    assert any("a later call is left out" in each["reason"] for each in ran.reasons)


def test_an_operator_that_may_draw_and_does_not_draws_nothing(record, case_of):
    ran = record(
        """
        def f(x, p):
            return nn.functional.dropout(x + 1, p, training=True)
        torch.compile(f)(torch.ones(4), 0.0)
        """
    )
    assert ran.only().region["draws"] is False
    assert [path.name for path in ran.only().paths] == ["inductor"]
    assert "compare" not in case_of(ran.only())


def test_what_counts_uses_is_no_step(record):
    ran = record(
        """
        def f(x, past):
            torch._C._log_api_usage_once("a cache")
            return torch.cat([past, x]) * past.shape[0]
        f = torch.compile(f, dynamic=True)
        f(torch.ones(1), torch.ones(4))
        f(torch.ones(1), torch.ones(5))
        """
    )
    assert ran.only().region["route"] == "graph"
    assert len(ran.only().calls) == 2 and not ran.reasons


def test_sizes_that_are_put_together_are_no_steps(record):
    ran = record(
        """
        def f(x):
            return x.reshape(x.size()[:-1] + (2, 2)) * 3
        f = torch.compile(f, dynamic=True)
        f(torch.randn(2, 3, 4))
        f(torch.randn(5, 6, 4))
        """
    )
    assert ran.only().region["route"] == "graph"
    assert len(ran.only().calls) == 2 and not ran.reasons


def test_an_argument_that_nothing_uses_is_no_input(record, case_of):
    ran = record(
        """
        def f(x, unused, base):
            torch._dynamo.graph_break()
            return x + base
        base = torch.arange(6.)
        torch.compile(f, fullgraph=True)(base[:3], torch.rand(4).requires_grad_(), base[3:])
        """
    )
    case = case_of(ran.only())
    assert {*case["inputs"]} >= {"x", "base"} and "unused" not in case["inputs"]
