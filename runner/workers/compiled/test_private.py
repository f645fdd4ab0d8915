"""Torch's private parts are used in `compat/` alone."""

import ast
import pathlib
import re

import pytest

import lockstep_worker

PACKAGE = pathlib.Path(lockstep_worker.__file__).parent
#: A reproducer stands alone: these are its text, and `part.py` and `write.py` write the rest.
ALONE = {
    *(PACKAGE / "repro" / "script").glob("*.py"),
    *(PACKAGE / "repro" / "execution").glob("*.py"),
    PACKAGE / "repro" / "part.py",
    PACKAGE / "repro" / "write.py",
}
FILES = [
    file
    for file in sorted(PACKAGE.rglob("*.py"))
    if "compat" not in file.parts and file not in ALONE
]


def private_uses(text):
    """Line and words of what is private to another: attributes, imports and dotted names in
    texts."""
    tree = ast.parse(text)
    documentation = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef))
        and ast.get_docstring(node) is not None
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and re.match(r"_[A-Za-z]", node.attr):
            if not (
                isinstance(node.value, ast.Name)
                and (node.value.id, node.attr) == ("os", "_exit")
                or isinstance(node.value, ast.Name)
                and node.value.id in ("self", "cls")
            ):
                yield node.lineno, ast.unparse(node)
        elif (
            isinstance(node, ast.ImportFrom)
            and not node.level
            and re.search(r"(^|\.)_[a-z]", node.module or "", re.I)
        ):
            yield node.lineno, node.module
        elif isinstance(node, ast.Import):
            yield from (
                (node.lineno, name.name) for name in node.names if re.search(r"\._", name.name)
            )
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in documentation
        ):
            if re.search(r"\btorch\._[A-Za-z]", node.value):
                yield node.lineno, node.value


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_a_file_uses_nothing_private(file):
    assert list(private_uses(file.read_text(encoding="utf-8"))) == []


def test_what_counts_as_private():
    assert len(FILES) > 15
    text = (
        "import torch._dynamo\nfrom torch._inductor import x\ntorch._C._set_conj(t, True)\n"
        "op._schema\nset('torch._inductor.config.x')\nself._mine\n'not torch.compile'\n"
    )
    assert {line for line, _ in private_uses(text)} == {1, 2, 3, 4, 5}
