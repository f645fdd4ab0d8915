"""Faulty backends for torch.compile, one fault each: `ci/mutants` counts which of them the suite
kills. Importing this package registers them (`lockstep_mutant_NAME`) and a faultless twin."""

from . import (  # noqa: F401
    aliasing,
    autograd,
    caching,
    crashes,
    errors,
    fallbacks,
    indexing,
    metadata,
    nondeterminism,
    numerics,
    randomness,
    state,
    structure,
    turns,
)
from .interpret import register

register()
turns.register()
