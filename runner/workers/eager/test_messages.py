"""What is accepted and what is refused, in files that the runner and the other worker are tested
with, too."""

import json
import struct

import pytest

from eager_worker import FOUR, ROUND_TRIP, op
from wire_examples import examples, form


def test_requests_are_accepted_or_refused_as_the_file_says(greeted):
    known: dict = {}  # by type: the keys of what the runner accepts
    for example in examples("worker_lines.jsonl"):
        if "refused" not in example:
            known.setdefault(example["line"]["type"], set()).update(example["line"])
    for number, example in enumerate(examples("requests.jsonl")):
        out, storage = greeted.scratch / f"out{number}", greeted.scratch / f"storage{number}"
        out.mkdir()
        storage.write_bytes(struct.pack("20f", *range(20)))
        line = example.get("text") or json.dumps(example["request"])
        greeted.stdin.write(line.replace("$OUT", str(out)).replace("$STORAGE", str(storage)) + "\n")
        greeted.stdin.flush()
        said = [greeted.hear()]
        while said[-1]["type"] not in ("ended", "error"):
            said.append(greeted.hear())
        for message in said:
            assert message["type"] == "error" or set(message) <= known[message["type"]], message
        answer = said[-1]
        if refused := example.get("refused"):
            assert answer.get("exit", 64) == 64, example["name"]
            assert (refused if isinstance(refused, str) else refused["eager"]) in answer["error"], (
                example["name"]
            )
            continue
        assert answer["exit"] == 0, (example["name"], answer)
        seen = json.loads((out / "observation.json").read_text())
        assert seen["outcome"] == example["outcome"], example["name"]
        if "outputs" in example:
            outputs = seen["runs"][0]["calls"][0]["outputs"]
            assert {name: form(value) for name, value in outputs.items()} == example["outputs"]


def test_hello_is_what_the_runner_accepts(worker):
    accepted = next(
        example["line"] for example in examples("worker_lines.jsonl") if example["name"] == "hello"
    )
    assert set(worker.hello()) <= set(accepted)


def test_outputs_may_come_twice_and_be_constants(greeted):
    program = {
        **ROUND_TRIP,
        "steps": [op([None], "neg.default", {"ref": "x"}), op(["y"], "relu.default", {"ref": "x"})],
        "outputs": ["y", None, 3, {"float": "0x1p-1"}, True, "y", "y"],
    }
    (call,) = greeted.observe(program, {"x": FOUR}, [struct.pack("4f", -1, 2, 3, 4)])["runs"][0][
        "calls"
    ]
    outputs = call["outputs"]
    assert list(outputs) == ["y", "output-2", "output-3", "output-4", "output-5", "y(2)", "y(3)"]
    assert [outputs[f"output-{n}"] for n in (2, 3, 5)] == [None, 3, True]
    assert outputs["output-4"] == {"float": "0x1p-1"}
    assert outputs["y"] == outputs["y(2)"] == outputs["y(3)"], "one storage"


@pytest.mark.parametrize("outputs", [[[1]], [{"str": "y"}], [{"ref": "x"}], ["z(2)"]])
def test_what_is_no_output_is_refused(greeted, outputs):
    run = greeted.start({**ROUND_TRIP, "outputs": outputs}, {"x": FOUR}, [b"\0" * 16])
    assert greeted.until("ended", run)[-1].get("error")
