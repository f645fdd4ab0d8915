"""What every reproducer consists of besides its case.

`../write.py` copies the text of these modules into the script, one below the other, and leaves out
what they import of each other: so they import only the standard library and torch, and no two of
them define the same name. Here they are imported, tested and linted like any module.
"""
