"""A plugin of pytest: a test that leaves the variables of its process changed fails. What later
tests start would inherit them, and no resident worker may stand in for a worker that does: each
would take seconds to import torch."""

import os

import pytest

#: Set by pytest, by the tests of Lockstep, and by torch; every worker takes them over
#: (engine/warm.cpp).
TAKEN_OVER = ("PYTEST_", "LOCKSTEP_", "TORCHINDUCTOR_CACHE_DIR")


def variables():
    return {name: text for name, text in os.environ.items() if not name.startswith(TAKEN_OVER)}


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    item.variables = variables()
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item):
    result = yield
    before, after = item.variables, variables()
    changed = sorted(name for name in before | after if before.get(name) != after.get(name))
    assert not changed, f"the test leaves {', '.join(changed)} changed"
    return result
