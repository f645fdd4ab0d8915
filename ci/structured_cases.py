"""Writes `cases/structured/`: operators with structure, by pairwise covering arrays.

python ci/structured_cases.py          # writes the files; needs torch, for shapes of results
python ci/structured_cases.py --check  # says which differ; exit status 1 if any does"""

import sys

from structured.generate import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
