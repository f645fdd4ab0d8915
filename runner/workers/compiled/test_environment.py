"""What the worker tells of its toolchain, for the record of a run."""

import pytest
import torch

from lockstep_worker import environment


@pytest.fixture
def vendor(tmp_path, monkeypatch):
    """An installed package `vendor-compiler` that brings the module `vendor.backend`."""
    (tmp_path / "vendor").mkdir()
    (tmp_path / "vendor" / "backend.py").write_text("raise SystemExit('imported')")
    info = tmp_path / "vendor_compiler-3.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: vendor-compiler\nVersion: 3.1\n")
    (info / "RECORD").write_text("vendor/backend.py,,\n")
    (info / "top_level.txt").write_text("vendor\n")
    monkeypatch.syspath_prepend(tmp_path)
    return info


def test_the_package_of_a_module_is_recorded_and_not_imported(vendor):
    assert environment.packages(["vendor.backend", "torch.fx", "not_there"]) == {"package vendor-compiler": "3.1"}
    assert environment.packages([]) == {}


@pytest.mark.parametrize("group", ["torch_dynamo_backends", "torch.backends"])
def test_a_package_that_registers_itself_is_recorded(vendor, group):
    (vendor / "entry_points.txt").write_text(f"[{group}]\nvendor = vendor.backend:compile\n")
    assert environment.packages([]) == {"package vendor-compiler": "3.1"}


def test_flushed_denormals_are_seen():
    assert environment.flush_denormals() is False
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor cannot flush denormals")
    try:
        assert environment.flush_denormals() is True
    finally:
        torch.set_flush_denormal(False)


def test_what_describes_a_worker_can_be_recorded(vendor):
    described = environment.describe(2, [], ["vendor.backend"], "g++ 12")
    assert described["threads"] == 2 and described["compiler"] == "g++ 12"
    assert described["package vendor-compiler"] == "3.1"
    assert all(isinstance(value, (str, int, float, bool)) for value in described.values())
