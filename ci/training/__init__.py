"""Training as cases: networks, optimizers, and what stands around them, as steps of one program."""
