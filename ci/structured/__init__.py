"""The cases of `cases/structured/`: operators with structure, by pairwise covering arrays."""
