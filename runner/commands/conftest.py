"""The suites that the tests of this folder run."""

import json
import shutil
import sys

import pytest
from suites import BINARY, FAKE, Suite, case


@pytest.fixture(scope="module")
def binary(tmp_path_factory):
    """The binary by itself: beside it a build may have the operator schemas of some torch."""
    if not BINARY.is_file():
        pytest.skip("LOCKSTEP_BINARY_DIR names no build with bin/lockstep")
    copy = tmp_path_factory.mktemp("bin") / "lockstep"
    shutil.copy(BINARY, copy)
    return copy


@pytest.fixture
def suite(tmp_path, binary):
    return Suite(tmp_path / "suite", binary)


@pytest.fixture
def sweeping(suite):
    """A suite with a sweep; `suite.dump(operators)` puts a registry beside the binary."""
    sweep = case(
        "every operator of one tensor",
        tags=["sweep"],
        sweep={"operators": {"tag": "pointwise"}},
        compare={"y": "bits"},
    )
    del sweep["steps"], sweep["outputs"]
    suite.write("cases/ops/sweep.json", sweep)
    folder = suite.root / "bin"
    folder.mkdir()
    suite.binary = shutil.copy(suite.binary, folder / "lockstep")
    suite.dump = lambda operators, operators_digest="f": (folder / "schemas.json").write_text(
        json.dumps({"torch": "2.0", "operators_digest": operators_digest, "operators": operators})
    )
    suite.know = lambda: suite.eager.write_text(  # the worker then has the operators of the dump
        f"""#!/bin/sh
new='"torch": "2.0", "operators_digest": "f"'
{sys.executable} {FAKE} "$@" | sed -u "s/\\"torch\\": *\\"2.13.0\\"/$new/"
"""
    )
    return suite
