"""The stand-in of a device whose tensors are compared there: the memory of the process
(workers/digests/)."""

import pathlib
import struct

import pytest
from digest_of_page import BLOCK, text_of

ADDED: dict = {
    "inputs": ["x"],
    "outputs": ["y"],
    "context": {},
    "backward": None,
    "steps": [{"let": ["y"], "op": "aten::add.Tensor", "args": [{"ref": "x"}, 1], "kwargs": {}}],
}
LONG = {"x": {"storage": 0, "dtype": "float32", "shape": [40000], "strides": [1]}}


def long_floats(first=0.0):
    return struct.pack("<40000f", first, *range(1, 40000))


@pytest.fixture
def digesting(binary, worker):
    answer = worker.hello(
        digests={"cpu": str(pathlib.Path(binary).with_name("lockstep-digests-host.so"))}
    )
    assert answer["digests"] == ["cpu"]
    return worker


def held(*datas):
    return [{"bytes": len(data), "digests": text_of(data)} for data in datas]


def test_what_the_runner_has_is_not_sent(digesting):
    x, y = long_floats(), struct.pack("<40000f", *(i + 1 for i in range(40000)))
    seen = digesting.observe(ADDED, LONG, [x], repeat=2, held=held(x, y))
    assert (
        seen["storages"]
        == [
            {"bytes": len(x), "same": {"held": 1}, "blocks": []},
            {"bytes": len(x), "same": {"held": 0}, "blocks": []},
        ]
        * 2
    )
    assert not (digesting.scratch / "1" / "0").exists()


def test_what_differs_is_sent_by_its_blocks(digesting):
    x, y = long_floats(7.0), struct.pack("<40000f", *(i + 1 for i in range(40000)))
    seen = digesting.observe(ADDED, LONG, [x], held=held(y))
    # The input is another one altogether, and what is described first is known from then on.
    assert seen["storages"] == [
        {"bytes": len(x), "same": {"held": 0}, "blocks": [0], "file": "0"},
        {"file": "1", "bytes": len(x)},
    ]
    sent = (digesting.scratch / "1" / "0").read_bytes()
    assert sent == struct.pack("<f", 8.0) + y[4:BLOCK]


def test_whoever_asks_for_nothing_gets_everything(digesting):
    seen = digesting.observe(ADDED, LONG, [long_floats()], repeat=2)
    assert all("same" not in storage for storage in seen["storages"])


def test_a_library_that_digests_nothing_costs_nothing_but_the_digests(worker, tmp_path):
    assert worker.hello(digests={"cpu": str(tmp_path / "gone.so")})["digests"] == ["cpu"]
    seen = worker.observe(ADDED, LONG, [long_floats()], repeat=2, held=[])
    assert all("same" not in storage for storage in seen["storages"])
    assert "gone.so" in worker.stderr(1) and worker.stderr(1).count("sent whole") == 1


def test_results_that_stay_as_they_were_are_not_sent_again(digesting):
    program: dict = {
        "inputs": ["x"],
        "outputs": ["y"],
        "context": {},
        "backward": None,
        "steps": [
            {"let": ["y"], "op": "aten::clone.default", "args": [{"ref": "x"}], "kwargs": {}}
        ],
    }
    seen = digesting.observe(program, LONG, [long_floats()], repeat=3, held=[])
    assert all("again" not in call for run in seen["runs"] for call in run["calls"])
    assert [storage.get("same") for storage in seen["storages"]] == [None, *[{"storage": 0}] * 5]


@pytest.mark.parametrize(
    "given",
    [
        [{}],
        [{"bytes": 8, "digests": "0"}],
        [{"bytes": 8, "digests": "x" * 32}],
        [{"bytes": -1, "digests": ""}],
    ],
)
def test_held_storages_that_are_none_break_the_protocol(digesting, given):
    run = digesting.start(ADDED, LONG, [long_floats()], held=given)
    assert digesting.until("ended", run)[-1]["exit"] == 64
