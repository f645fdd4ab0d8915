"""A suite of a test's own cases with Lockstep's workers."""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def make_suite(folder: pathlib.Path, cases: pathlib.Path) -> pathlib.Path:
    """`folder` as a suite of these cases, without expectations and without paths of its own."""
    (folder / "runner" / "paths").mkdir(parents=True)
    (folder / "runner" / "workers").symlink_to(ROOT / "runner" / "workers")
    (folder / "cases").symlink_to(cases)
    (folder / "expected").mkdir()
    return folder
