"""The judge of scripts that reproduce a divergence; `../definitions.py` copies what one needs."""
