"""Writes `cases/models/`: what models of transformers and timm compute, captured.

python ci/model_cases.py [NAME…]    # needs what ci/requirements-models.txt names, beside torch
python ci/model_cases.py --calls    # every distinct call of all, and who makes it how often"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "runner" / "python"))

from models.write import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
