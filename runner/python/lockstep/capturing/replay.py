"""A written program, executed eagerly on what was recorded: does it give what the program gave?"""

from collections.abc import Iterator
from typing import Any

import torch

from . import worker

worker.load()

from lockstep_worker import applied, contexts  # noqa: E402  (its package is loaded above)
from lockstep_worker.problems import Malformed, Unsupported  # noqa: E402
from lockstep_worker.source import compile_text, generate  # noqa: E402


def function_of(program: dict) -> Any:
    """The program as a Python function of its inputs. Raises `Malformed` or `Unsupported`."""
    held: dict[int, torch.Tensor] = {}

    def literal(view: dict) -> str | None:
        held[id(view)] = view["literal"]
        return None

    kinds = dict.fromkeys(program["inputs"], "tensor")
    whole = {**program, "steps": list(_unpacked(program["steps"]))}
    source = generate(whole, literal, kinds)
    captured = {name: held[id(view)].clone() for name, view in source.captured.items()}
    return compile_text(source.text, captured)[0]


def _unpacked(steps: list[dict]) -> Iterator[dict]:
    """The steps, the only tensor of a list taken out of it by a step of its own."""
    for step in steps:
        if "with" in step:
            yield {**step, "steps": list(_unpacked(step["steps"]))}
        elif "apply" in step:
            programs = {role: step[role] for role in applied.ROLES[step["apply"]]}
            yield step | {
                role: {**each, "steps": list(_unpacked(each["steps"]))}
                for role, each in programs.items()
            }
        elif step.get("unpacks") and step["let"] != [None]:
            (name,) = step["let"]
            yield {**step, "let": [f"{name}_list"]}
            yield {"let": [name], "get": {"ref": f"{name}_list"}, "index": [0]}
        else:
            yield step


def replay(program: dict, inputs: dict[str, Any], context: dict, seed: Any) -> Any:
    """What the program returns, or the error that it raises; `inputs` may be changed. `seed` is the
    state of the generator that it starts with."""
    before = torch.get_rng_state()
    try:
        torch.set_rng_state(seed)
        with torch.enable_grad(), contexts.enter(context):
            return function_of(program)(*[inputs[name] for name in program["inputs"]])
    except (Malformed, Unsupported) as error:
        return NotExecuted(str(error))
    except Exception as error:
        return error
    finally:
        torch.set_rng_state(before)


class NotExecuted(Exception):
    """The program means nothing to the worker; the message says why."""
