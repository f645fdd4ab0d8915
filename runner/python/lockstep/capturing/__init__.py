"""From a Python program to cases: what it compiles is recorded, written down and judged.

    script.py     runs the program in a process of its own, with torch's compilers replaced
    hooks.py      puts the recording backend in the place of the compilers;  exports.py: of exports
    recorder.py   one graph: its steps, its calls, what they returned
    graph.py      Dynamo's graph as steps
    applied.py    operators of it that take sub-programs;  transforms.py: those of torch.func
    traced.py     an eager execution as steps;  eager.py: a call that Dynamo fails on
    reads.py      the numbers that Python reads from tensors in an eager execution
    steps.py      one call as a step: an operator, a public function, an index, a number
    tensors.py    tensors as inputs of a case: bytes, and a fill with the same statistics
    replay.py     the steps, executed eagerly, against what was recorded
    carried.py    what one call of a graph hands to the next
    spool.py      what was recorded, on disk at once: a program may end at any moment
    calls.py      every distinct call of an operator;  sweeps.py: these as a sweep
    chains.py     which graphs are one case, and which of their calls it has
    cases.py      what was recorded as case files;  forms.py: their steps
    paths.py      what was asked for as a path
    proof.py      the runner's verdicts on the ways to write a case, and which one is kept
    left.py       the processes that a program leaves behind
    folders.py    where the cases of a run lie that asked for an answer alone
    door.py       `lockstep capture`, and `lockstep run|explain|shrink model.py`

Nothing here imports torch until a program does, or `recorder` is asked to record."""
