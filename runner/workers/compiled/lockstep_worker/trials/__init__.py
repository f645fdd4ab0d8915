"""What the worker reaches for in torch's private parts, proved once before the first instance: that
each hook fires, and that each text is what it was. A new torch must not make a verdict silently
wrong."""

import contextlib
import json
import os
import signal
import sys

from .. import errors
from ..compat import inductor
from .missed import HEADERS, MISSED
from .needed import NEEDED
from .trial import Trial

TRIALS = NEEDED + MISSED
#: Seconds that all trials may take; a hang is a failure of the one that hangs.
_SECONDS = 120
_LINE = 300  # characters of a reason


def lacking(trials: tuple[Trial, ...] = TRIALS) -> dict[Trial, str]:
    """The trials that fail, each with the reason. They run in forked children, so that nothing of
    them stays: a child that dies has failed the trial that it was at, and another goes on after
    it."""
    failed: dict[Trial, str] = {}
    at = 0
    while at < len(trials):
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            _child(trials[at:], read, write)
        os.close(write)
        with os.fdopen(read, encoding="utf-8") as pipe:
            answers = [json.loads(line) for line in pipe]
        _, status = os.waitpid(pid, 0)
        failed.update((trial, answer) for trial, answer in zip(trials[at:], answers) if answer)
        at += len(answers)
        if at < len(trials):
            ended = (
                f"signal {os.WTERMSIG(status)}"
                if os.WIFSIGNALED(status)
                else f"status {os.WEXITSTATUS(status)}"
            )
            failed[trials[at]] = f"it ended the process with {ended}"
            at += 1
    return failed


def settle(failed: dict[Trial, str]) -> dict[str, str]:
    """What `environment` says of trials that failed: "lacks NAME" → what that costs, and why;
    standard error says it, too. Raises `RuntimeError` where one of them is needed."""
    import torch

    needed = [
        f"{trial.name}: {trial.costs} ({why})" for trial, why in failed.items() if trial in NEEDED
    ]
    if needed:
        raise RuntimeError(
            f"torch {torch.__version__} does not say what every verdict rests on. Choose another "
            f"release, or mend lockstep_worker/compat. {'; '.join(needed)}"
        )
    if any(trial.name == HEADERS for trial in failed):
        inductor.own_headers()
    lacks = {f"lacks {trial.name}": f"{trial.costs} ({why})" for trial, why in failed.items()}
    for name, costs in lacks.items():
        print(f"lockstep: warning: torch {torch.__version__} {name}: {costs}", file=sys.stderr)
    return lacks


def _child(trials: tuple[Trial, ...], read: int, write: int) -> None:
    """Writes a line for each trial, empty where it works, and never returns."""
    with contextlib.suppress(BaseException):
        import torch

        os.close(read)
        signal.set_wakeup_fd(-1)  # the parent's
        for name in (signal.SIGALRM, signal.SIGCHLD, signal.SIGTERM):
            signal.signal(name, signal.SIG_DFL)
        signal.alarm(_SECONDS)
        torch.set_num_threads(1)  # first of all, as in every child
        for trial in trials:
            why = ""
            try:
                trial.works()
            except BaseException as error:
                why = errors.first_words(error)[:_LINE]
            os.write(write, json.dumps(why).encode() + b"\n")
    os._exit(0)
