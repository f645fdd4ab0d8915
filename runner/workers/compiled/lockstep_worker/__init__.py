"""The Python worker of Lockstep: executes programs through `torch.compile`, beside eager Python.

Start it as `python -m lockstep_worker`; it speaks the worker protocol (docs/design/protocol.md)
on standard input and output. Only the standard library and torch are imported.
"""
