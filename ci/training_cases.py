"""Writes `cases/training/`: steps of training, networks × optimizers.

python ci/training_cases.py          # writes the files
python ci/training_cases.py --check  # says which differ; exit status 1 if any does"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "runner" / "python"))

from training.family import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
