"""Lockstep in pytest: a fixture and a mark.

    def test_my_layer(conforms):
        conforms(MyLayer(), torch.randn(4, 8), backward=True)

    @pytest.mark.conforms
    def test_training():          # whatever it compiles must compute what eager does
        train(steps=2)

A test that diverges fails with the first screen of the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import lockstep


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "conforms(policy=None, backend=None, mode=None, dynamic=None): what the test compiles, or "
        "the outermost modules that it calls, must compute compiled what they compute eagerly",
    )


@pytest.fixture
def conforms() -> Callable[..., lockstep.Report]:
    """`lockstep.assert_conforms`."""
    return lockstep.assert_conforms


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[Any]:
    """Captures what a marked test compiles, and judges it once the test has passed."""
    mark = item.get_closest_marker("conforms")
    if mark is None:
        return (yield)
    asked = dict(mark.kwargs)
    policy = asked.pop("policy", None)
    captured = lockstep.capture(**asked)
    with captured:
        result = yield
    report = captured.judge(policy)
    if not report.ok:
        pytest.fail(report.screen(), pytrace=False)
    return result
