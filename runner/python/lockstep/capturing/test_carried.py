"""Calls that go on from those before them: what they take over, and what is none of it."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from lockstep.capturing.cases import Way


def test_buffers_that_a_call_writes_are_those_of_the_next(record, case_of):
    ran = record(
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.norm = nn.BatchNorm1d(3)
            def forward(self, x):
                return self.norm(x).relu()
        f = torch.compile(Net())
        with torch.no_grad():
            for _ in range(3):
                f(torch.randn(5, 3))
        """
    )
    case = case_of(ran.only())
    assert case["carry"] == {
        each: each for each in ("norm_running_mean", "norm_running_var", "norm_num_batches_tracked")
    }
    assert [sorted(call) for call in case["calls"]] == [[], ["x"], ["x"]]
    assert [path.name for path in ran.only().paths] == ["inductor"]


def test_what_is_returned_and_fed_back(record, case_of):
    ran = record(
        """
        cell = nn.GRUCell(4, 4)
        f = torch.compile(lambda x, h: cell(x, h))
        h = torch.zeros(2, 4)
        with torch.no_grad():
            for _ in range(3):
                h = f(torch.randn(2, 4), h)
        """
    )
    case = case_of(ran.only())
    assert list(case["carry"]) == ["h"] and case["carry"]["h"] in case["outputs"]
    assert [sorted(call) for call in case["calls"]] == [[], ["x"], ["x"]]
    filled = case_of(ran.only(), Way(False, False))
    assert filled["carry"] == case["carry"] and len(filled["calls"]) == 3


def test_a_training_step_with_its_optimizer_inside(record, case_of):
    ran = record(
        """
        w = torch.randn(4, 2, requires_grad=True)
        @torch.compile
        def step(x):
            grad, = torch.autograd.grad((x @ w).square().sum(), (w,))
            with torch.no_grad():
                w.sub_(grad, alpha=0.1)
        for _ in range(2):
            step(torch.randn(3, 4))
        optimizer = torch.optim.SGD([w], lr=0.1, momentum=0.9)
        update = torch.compile(optimizer.step)
        for _ in range(3):
            w.grad = torch.ones_like(w) * 0.5
            update()
        """
    )
    assert ran.status == 0, ran.errors
    carried = [case_of(each).get("carry") for each in ran.cases]
    assert any(each and "w" in each for each in carried), (carried, ran.reasons)


def test_what_changes_between_calls_is_no_state(record, case_of):
    ran = record(
        """
        net = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
        f = torch.compile(net)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(4):
            loss = f(torch.randn(5, 3)).square().sum()
            optimizer.zero_grad(); loss.backward(); optimizer.step()
        g = torch.compile(lambda x: x * 0)
        h, x = torch.compile(lambda x: x + 0), torch.randn(3)
        for _ in range(3):
            g(torch.zeros(2))
            h(x)
        """
    )
    for each in ran.cases:
        case = case_of(each)
        assert "carry" not in case and "calls" not in case


def test_a_buffer_that_the_program_resets_is_not_carried(record, case_of):
    ran = record(
        """
        count = torch.zeros(2)
        @torch.compile
        def f(x):
            count.add_(x)
            return count * 2
        for at in range(3):
            f(torch.randn(2))
            if at == 0:
                count.zero_()
        """
    )
    case = case_of(ran.only())
    assert "carry" not in case and "calls" not in case


def test_gradients_of_each_call_are_its_own(record, case_of):
    ran = record(
        """
        @torch.compile(dynamic=True)
        def f(x): return x.sin()
        for n in (3, 4):
            x = torch.randn(n, requires_grad=True)
            f(x).backward(torch.arange(float(n)))
        """
    )
    case = case_of(ran.only())
    assert case["backward"] == {"of": ["sin"], "with": ["sin_gradient"]}
    assert case["inputs"]["sin_gradient"]["shape"] == [3]
    assert case["calls"][1]["sin_gradient"]["shape"] == [4]


def test_one_graph_that_is_made_anew_for_other_ways_to_call_it(record, case_of):
    ran = record(
        """
        def f(x): return x * 2
        g = torch.compile(f, dynamic=False)
        x = torch.randn(4, 3)
        g(x)
        g(torch.randn(2, 3))
        with torch.no_grad():
            g(torch.randn(3, 4).t())
        g(torch.randn(4, 3, requires_grad=True))
        torch._dynamo.reset()
        g(torch.ones(4, 3))
        """
    )
    one, graded, again = map(case_of, ran.cases)
    assert [each.get("x", {}).get("shape") for each in one["calls"]] == [None, [2, 3], [4, 3]]
    assert one["calls"][2]["context"] == {"grad": False}
    # What has a gradient, or the same shapes anew, is a case of its own.
    assert graded["inputs"]["x"]["requires_grad"] and "calls" not in again


def test_calls_that_share_memory_or_raise_are_calls_of_the_case(record, case_of):
    ran = record(
        """
        f = torch.compile(lambda x, y: x.mul_(2) + y, backend="eager")
        x = torch.randn(3)
        for y in (torch.randn(3), x[:], torch.randn(3)):
            f(x, y)
        g = torch.compile(lambda x, i: x.index_select(0, i), backend="eager")
        for i in ([0, 1], [2, 2], [1, 7]):
            g(x, torch.tensor(i))
        """
    )
    assert ran.status == 1 and "IndexError" in ran.errors
    shared, raising = map(case_of, ran.cases)
    assert [call.get("y", {}).get("view_of") for call in shared["calls"]] == [None, "x"]
    assert raising["raises"] == {"class": "IndexError"}
    assert [call.get("i", {}).get("values") for call in raising["calls"]] == [None, [1, 7]]
