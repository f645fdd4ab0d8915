"""The family of trainings: its files are what ci/training_cases.py writes."""

import sys
from pathlib import Path

import pytest

HOME = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(HOME / "ci"), str(HOME / "runner" / "python")]

from training import family  # noqa: E402


@pytest.mark.parametrize("of", family.FAMILY, ids=lambda of: of.name)
def test_the_files_are_what_is_generated(of):
    written = (family.FOLDER / f"{of.name}.json").read_text("utf-8")
    assert written == family.document(of), "run: python ci/training_cases.py"


def test_there_are_no_other_files():
    assert {file.stem for file in family.FOLDER.glob("*.json")} == {
        each.name for each in family.FAMILY
    }
