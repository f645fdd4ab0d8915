"""What ci/model_cases.py writes `cases/models/` with.

zoo.py       the architectures: tiny, and with nothing downloaded
program.py   the program that is captured: one architecture, used in one way, in one dtype
dtypes.py    captures that differ in their dtype alone, as one case
write.py     captures, and writes the files"""
