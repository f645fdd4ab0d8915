"""What the runner has already of a storage is not sent (docs/design/protocol.md, "Held storages"),
with the stand-in of a device."""

import os
import pathlib
import struct
import subprocess
import sys

import pytest
import torch

from conversation import Worker, view
from lockstep_worker.held import BLOCK, Held
from lockstep_worker.problems import Malformed
from lockstep_worker.tensors import Outputs

RUNNER = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(RUNNER / "workers" / "digests"))
from digest_of_page import digest, text_of  # noqa: E402


def storage_of(data):
    return torch.frombuffer(bytearray(data), dtype=torch.uint8).clone().untyped_storage()


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The stand-in: a device that is the memory of the process."""
    file = tmp_path_factory.mktemp("digests") / "host.so"
    subprocess.run(
        [
            os.environ.get("CXX", "c++"),
            *"-std=c++20 -O2 -fPIC -shared".split(),
            f"-I{RUNNER}",
            RUNNER / "workers/digests/host.cpp",
            RUNNER / "base/block_digest.cpp",
            "-o",
            file,
        ],
        check=True,
    )
    return {"cpu": str(file)}


@pytest.fixture(scope="module")
def data():
    return os.urandom(3 * BLOCK + 1001)


def test_a_digest_is_what_the_protocol_says(library, data):
    digests = Held([], library).digest(storage_of(data))
    words = [struct.unpack("<2Q", each) for each in digests or []]
    assert words == [digest(data[at : at + BLOCK]) for at in range(0, len(data), BLOCK)]
    assert digest(bytes(range(256))) == (
        0x5C109D37B913E26F,
        0x9C638CCDEA83BE9C,
    )  # the example there


def test_nothing_is_digested_that_is_not_worth_it_or_asked_for(library, data):
    assert Held([], library).digest(storage_of(data[: BLOCK - 1])) is None
    assert Held(None, library).digest(storage_of(data)) is None
    assert Held([], {"cuda": library["cpu"]}).digest(storage_of(data)) is None


@pytest.mark.parametrize("file", ["/nowhere/library.so", "libc.so.6"])
def test_a_library_that_is_none_costs_nothing_but_the_digests(file, data, capfd):
    assert Held([], {"cpu": file}).digest(storage_of(data)) is None
    assert "sent whole" in capfd.readouterr().err


@pytest.mark.parametrize(
    "held",
    [
        3,
        [{}],
        [{"bytes": -1, "digests": ""}],
        [{"bytes": 1, "digests": "0" * 31}],
        [{"bytes": 1, "digests": "g" * 32}],
        [{"bytes": 1, "digests": 1}],
    ],
)
def test_held_storages_that_are_none_break_the_protocol(held, library):
    with pytest.raises(Malformed):
        Held(held, library)


def whole(outputs, index, held):
    """A storage as the runner puts it together."""
    storage = outputs.storages[index]
    if "same" not in storage:
        return os.pread(outputs.file, storage["bytes"], storage["at"])
    ((kind, which),) = storage["same"].items()
    result = bytearray(held[which] if kind == "held" else whole(outputs, which, held))
    sizes = [min(BLOCK, len(result) - block * BLOCK) for block in storage["blocks"]]
    sent = os.pread(outputs.file, sum(sizes), storage["at"]) if sizes else b""
    for block, size in zip(storage["blocks"], sizes):
        result[block * BLOCK : block * BLOCK + size], sent = sent[:size], sent[size:]
    assert not sent
    return bytes(result)


def outputs_like(library, data):
    given = [
        {"bytes": len(each), "digests": text_of(each)}
        for each in (os.urandom(len(data)), data, data[:BLOCK])
    ]
    return Outputs(os.memfd_create("bytes"), Held(given, library))


def write(outputs, data):
    tensor = torch.empty(0, dtype=torch.uint8).set_(storage_of(data))
    return outputs.call([("y", tensor)], [], [])["outputs"]["y"]["storage"]


def test_what_is_the_same_is_not_sent(library, data):
    outputs = outputs_like(library, data)
    index = write(outputs, data)
    assert outputs.storages[index] == {"bytes": len(data), "same": {"held": 1}, "blocks": []}
    assert os.fstat(outputs.file).st_size == 0


@pytest.mark.parametrize("at", [0, BLOCK - 1, BLOCK, 3 * BLOCK, 3 * BLOCK + 1000])
@pytest.mark.parametrize("bit", [0, 7])
def test_a_bit_that_differs_is_sent_with_its_block(library, data, at, bit):
    other = bytearray(data)
    other[at] ^= 1 << bit
    outputs = outputs_like(library, data)
    index = write(outputs, other)
    assert outputs.storages[index]["blocks"] == [at // BLOCK]
    assert whole(outputs, index, {1: data}) == other


def test_blocks_that_changed_places_differ(library, data):
    other = data[BLOCK : 2 * BLOCK] + data[:BLOCK] + data[2 * BLOCK :]
    outputs = outputs_like(library, data)
    index = write(outputs, other)
    assert outputs.storages[index]["blocks"] == [0, 1] and whole(outputs, index, {1: data}) == other


@pytest.mark.parametrize("other", [lambda d: d[:-1], lambda d: d + b"\0", lambda d: bytes(len(d))])
def test_what_is_mostly_other_is_sent_whole(library, data, other):
    outputs = outputs_like(library, data)
    index = write(outputs, other(data))
    assert "same" not in outputs.storages[index] and whole(outputs, index, {}) == other(data)


def test_what_was_described_before_is_held_too(library, data):
    outputs = Outputs(os.memfd_create("bytes"), Held([], library))
    first, second = write(outputs, data), write(outputs, data)
    assert outputs.storages[second] == {
        "bytes": len(data),
        "same": {"storage": first},
        "blocks": [],
    }
    assert os.fstat(outputs.file).st_size == len(data)


def test_what_reads_otherwise_afterwards_is_seen_by_its_digests(library, data):
    outputs = outputs_like(library, data)
    outputs.keep(True)
    tensor, same = (torch.empty(0, dtype=torch.uint8).set_(storage_of(data)) for _ in range(2))
    runs = [{"calls": [outputs.call([("y", tensor), ("z", same)], [], [])]}]
    tensor[2 * BLOCK] ^= 1
    outputs.read_again(runs)
    again = runs[0]["calls"][0]["again"]["outputs"]
    assert set(again) == {"y"}
    assert whole(outputs, again["y"]["storage"], {1: data}) == bytes(tensor.numpy())


def test_a_worker_tells_what_the_runner_has(tmp_path, library):
    worker = Worker(tmp_path, hello=False)
    worker.say(
        {
            "type": "hello",
            "protocol": 2,
            "threads": 1,
            "scratch": str(tmp_path),
            "cache": os.environ.get("LOCKSTEP_TEST_CACHE"),
            "limits": {},
            "libraries": [],
            "digests": library,
        }
    )
    assert worker.hear(600)["digests"] == ["cpu"]
    x = struct.pack("<32768f", *range(32768))
    y = struct.pack("<32768f", *(i + 1 for i in range(32768)))
    program = {
        "inputs": ["x"],
        "steps": [
            {"let": ["y"], "op": "aten::add.Tensor", "args": [{"ref": "x"}, 1], "kwargs": {}}
        ],
        "outputs": ["y"],
    }
    held = [{"bytes": len(each), "digests": text_of(each)} for each in (x, y)]
    seen = worker.run(
        program,
        [{"x": view(0, [32768])}],
        [x],
        {"name": "eager-python", "backend": None},
        repeat=2,
        held=held,
    )
    assert [storage["same"] for storage in seen["storages"]] == [{"held": 1}, {"held": 0}] * 2
    assert all(storage["blocks"] == [] for storage in seen["storages"])
    # Whoever asks for nothing gets everything.
    seen = worker.run(
        program, [{"x": view(0, [32768])}], [x], {"name": "eager-python", "backend": None}
    )
    assert seen.raw(seen.output("y")) == y
    run, _ = worker.start(
        program,
        [{"x": view(0, [32768])}],
        [x],
        {"name": "eager-python", "backend": None},
        held=[{}],
    )
    assert worker.wait(run)["exit"] == 64
    assert worker.stop() == 0
