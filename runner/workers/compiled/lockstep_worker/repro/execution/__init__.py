"""What executes the two sides of a script, and its golds; `../definitions.py` copies what one
needs."""
