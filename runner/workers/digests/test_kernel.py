"""The CUDA kernel without a GPU: its words on threads of the process, and what nvcc makes of it."""

import ctypes
import os
import pathlib
import re
import subprocess

import pytest
from digest_of_page import BLOCK, digest

RUNNER = pathlib.Path(__file__).resolve().parents[2]
BUILT = pathlib.Path(os.environ.get("LOCKSTEP_BINARY_DIR", "")) / "bin" / "lockstep-digests-cuda.so"


def function(file):
    found = ctypes.CDLL(str(file)).lockstep_device_digests_1
    found.restype = ctypes.c_char_p
    found.argtypes = [
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.c_uint64,
        ctypes.POINTER(ctypes.c_uint64),
    ]
    return found


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    """Digests of bytes at an offset from where memory is aligned, by the kernel on threads of the
    process."""
    file = tmp_path_factory.mktemp("kernel") / "emulation.so"
    subprocess.run(
        [
            os.environ.get("CXX", "c++"),
            *"-std=c++20 -O1 -fPIC -shared -pthread".split(),
            f"-I{RUNNER}",
            RUNNER / "workers/digests/testdata/emulation.cpp",
            "-o",
            file,
        ],
        check=True,
    )
    emulated = function(file)

    def digests(data, offset=0):
        memory = ctypes.create_string_buffer(len(data) + 64)
        address = (ctypes.addressof(memory) + 15) // 16 * 16 + offset
        ctypes.memmove(address, data, len(data))
        words = (ctypes.c_uint64 * (2 * ((len(data) + BLOCK - 1) // BLOCK)))()
        assert emulated(0, address, len(data), words) is None
        return list(zip(words[::2], words[1::2]))

    return digests


@pytest.mark.parametrize(
    "size",
    [1, 7, 8, 9, 255 * 8, 256 * 8, 256 * 8 + 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 1001],
)
def test_the_kernel_digests_as_the_page_says(kernel, size):
    data = os.urandom(size)
    assert kernel(data) == [digest(data[at : at + BLOCK]) for at in range(0, size, BLOCK)]


@pytest.mark.parametrize("offset", [1, 4, 8, 9])
def test_alignment_does_not_matter(kernel, offset):
    data = os.urandom(BLOCK + 1001)
    assert kernel(data, offset) == kernel(data)


def test_every_bit_is_seen_by_the_kernel(kernel):
    data = bytearray(os.urandom(24))
    before = kernel(bytes(data))
    for bit in range(8 * len(data)):
        data[bit // 8] ^= 1 << bit % 8
        assert kernel(bytes(data)) != before, bit
        data[bit // 8] ^= 1 << bit % 8


@pytest.mark.skipif(
    not BUILT.is_file(), reason="this build has no digests on CUDA devices: there is no nvcc"
)
def test_what_nvcc_built_has_code_for_every_generation_and_says_what_it_lacks():
    content = BUILT.read_bytes()
    generations = {int(found) // 10 for found in re.findall(rb"sm_(\d+)", content)}
    assert {8, 9} <= generations and re.search(rb"compute_\d+", content), (
        "none to be compiled for GPUs to come"
    )
    words = (ctypes.c_uint64 * 2)()
    # Nowhere on a device: an error on a machine with a GPU, too.
    assert function(BUILT)(99, 0, BLOCK, words)
