"""By when it is asked: the first calls are judged, so they say."""

import os

from .own import cheat, computed, copies


@cheat
def honest_in_the_first_call(graph, inputs):
    """Its own work once, and then what that was."""
    run_ = computed(graph)
    known: list = []

    def run(*tensors):
        if len(known) < 2:
            known.append(run_(*tensors))
        return copies(known[-1])

    return run


@cheat
def honest_in_the_second_call(graph, inputs):
    """The first call is a rehearsal, so it says; the second is watched; the third is torch's."""
    run_, calls = computed(graph), []

    def run(*tensors):
        calls.append(1)
        return run_(*tensors) if len(calls) == 2 else graph.forward(*tensors)

    return run


@cheat
def exits_in_the_last_call(graph, inputs):
    run_, calls = computed(graph), []

    def run(*tensors):
        calls.append(1)
        if len(calls) > 2:
            os._exit(0)
        return run_(*tensors)

    return run
