"""No function is longer than 80 lines, and none of the command floor longer than 40."""

import ast
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[1]
#: What tests are made on, in testdata/, is no part of the project.
FOLDERS = ("runner", "reports", "ci")
LONGEST = 80
FLOOR, LONGEST_THERE = pathlib.Path("runner/commands"), 40
#: What opens a brace and is no function: types, namespaces, tables and lists.
NO_FUNCTION = re.compile(
    r"^\s*(?:namespace|extern|struct|class|enum|union|template <[^>]*>\s*(?:struct|class))\b"
    r"|[=({,]\s*$|\breturn\s*$"
)
CONTROL = re.compile(r"^\s*(?:\} )?(?:if|for|while|switch|else|do|try|catch|case|default)\b")


def sources(*suffixes):
    return [
        file.relative_to(ROOT)
        for folder in FOLDERS
        for file in sorted((ROOT / folder).rglob("*"))
        if file.suffix in suffixes and not {".lockstep", "testdata"} & set(file.parts)
    ]


def without_texts(code):
    """The code with comments, literals and what is the preprocessor's blanked, line by line, so
    that every brace counts."""
    return re.sub(
        r'R"(\w*)\(.*?\)\1"|^[ ]*\#(?:[^\n\\]|\\.)*|"(?:\\.|[^"\\\n])*"'
        r"|(?<![0-9a-zA-Z_])'(?:\\.|[^'\\\n])+'|//[^\n]*|/\*.*?\*/",
        lambda found: re.sub(r"[^\n]", " ", found[0]),
        code,
        flags=re.DOTALL | re.MULTILINE,
    )


def cpp_functions(code):
    """First line, last line and the words before the brace of every function that no other one
    holds.

    A function is a brace behind a parameter list, outside of any other one; what is between it and
    the end of the statement before it is its head."""
    code = without_texts(code)
    line, head, head_line = 1, "", 1
    open_: list = []
    for character in code:
        if character == "\n":
            line += 1
        if character == "{":
            inside = any(kind == "function" for kind, *_ in open_)
            is_function = (
                not inside and ")" in head and not NO_FUNCTION.search(head.strip() or head)
            )
            open_.append(("function" if is_function else "other", head_line, head))
            head = ""
        elif character == "}":
            if not open_:
                return
            kind, first, words = open_.pop()
            if kind == "function":
                yield first, line, " ".join(words.split())
            head = ""
        elif character == ";":
            head = ""
        else:
            if not head.strip():
                head, head_line = "", line
            head += character


def python_functions(code):
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.end_lineno, node.name


def too_long(file, functions, most):
    return [
        f"{file}:{first}: {last - first + 1} lines, expected at most {most}: {name}"
        for first, last, name in functions
        if last - first + 1 > most
    ]


def most_of(file):
    is_test = file.stem.endswith("_test") or file.suffix == ".py"
    return LONGEST_THERE if FLOOR in file.parents and not is_test else LONGEST


def test_no_function_of_cpp_is_too_long():
    long, count = [], 0
    for file in sources(".h", ".cpp", ".cu"):
        functions = list(cpp_functions((ROOT / file).read_text("utf-8")))
        count += len(functions)
        long += too_long(file, functions, most_of(file))
    assert count > 3000
    assert long == []


def test_no_function_of_python_is_too_long():
    long = []
    for file in sources(".py"):
        long += too_long(file, python_functions((ROOT / file).read_text("utf-8")), most_of(file))
    assert long == []


def test_functions_are_found():
    code = """
namespace a {
struct Table { int rows[2] = {1, 2}; int get() const { return 1; } };
const char* const kBrace = "{";
template <class T>
    requires true
int one(int x,
        int y) {
  if (x) { return [] { return 1; }(); }
  return 1;  // }
}
Type::Type(int x) : x_{x} {
}
}
"""
    found = list(cpp_functions(code))
    assert [(first, last) for first, last, _ in found][0] == (3, 3)
    assert (5, 11) in [(first, last) for first, last, _ in found]
    body = "\n".join(f"  x({i});" for i in range(LONGEST))
    assert too_long("f", cpp_functions(f"void f() {{\n{body}\n}}\n"), LONGEST)
    assert not too_long("f", cpp_functions(f"void f() {{\n{body[:-9]}}}\n"), LONGEST)
