"""The rooms of runner/README.md: no room uses one below it in the table, and only the workers know
torch. Python has no circles of imports, and the Python worker's modules keep the order of their
table."""

import ast
import functools
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[1]
INCLUDE = re.compile(r'^#include ["<]([^">]+)[">]', re.MULTILINE)


def rooms():
    """The rooms in the order of the table, as folders relative to the repository."""
    names = re.findall(
        r"^\| `([\w/]+)/` \|", (ROOT / "runner" / "README.md").read_text("utf-8"), re.MULTILINE
    )
    return [name if name == "reports" else f"runner/{name}" for name in names]


def sources():
    return [
        file.relative_to(ROOT)
        for folder in ("runner", "reports")
        for file in (ROOT / folder).rglob("*")
        if file.suffix in (".h", ".cpp", ".cu") and "testdata" not in file.parts
    ]


def room_of(file):
    return "reports" if file.parts[0] == "reports" else str(file.parent)


def included(file):
    """The files of ours that a file includes."""
    for name in INCLUDE.findall((ROOT / file).read_text("utf-8")):
        for found in (pathlib.Path("runner") / name, pathlib.Path(name)):
            if (ROOT / found).is_file():
                yield found


def upward(order, files):
    """Includes of a room by one above it. Tests may look down: what a test needs, no user has to
    link."""
    place = {room: i for i, room in enumerate(order)}
    return [
        f"{file} includes {other}"
        for file in files
        if not file.stem.endswith("_test")
        for other in included(file)
        if place.get(room_of(other), -1) > place.get(room_of(file), len(order))
    ]


def test_every_folder_is_a_room_of_the_table():
    workers = pathlib.Path("runner/workers")
    folders = {room_of(file) for file in sources() if workers not in file.parents} - {
        "runner"
    }  # main.cpp
    assert folders == set(rooms())


def test_no_arrow_runs_back_up():
    assert upward(rooms(), sources()) == []


def test_an_arrow_that_runs_back_up_is_seen():
    assert upward(rooms()[::-1], sources())


def test_workers_and_the_rest_share_the_base_alone():
    workers = pathlib.Path("runner/workers")
    for file in sources():
        torch = re.search(r'#include [<"](torch|ATen|c10)/', (ROOT / file).read_text("utf-8"))
        if workers in file.parents:
            own = file.parent.parent if file.parent.name == "units" else file.parent
            assert {str(other.parent) for other in included(file)} <= {
                "runner/base",
                "runner/program",
                str(own),
            }, file
        else:
            assert torch is None, f"{file} knows torch"
            assert all(workers not in other.parents for other in included(file)), file


def test_no_two_headers_define_a_type_of_the_same_name():
    """Two of them in one program are undefined behaviour that no compiler sees, unless one file
    includes both."""
    places: dict = {}
    for file in sources():
        if file.suffix == ".h" and "workers" not in file.parts:
            for name in re.findall(
                r"^(?:struct|class|enum class|union) (\w+)[^;\n]*\{",
                (ROOT / file).read_text("utf-8"),
                re.MULTILINE,
            ):
                places.setdefault(name, []).append(str(file))
    assert len(places) > 100
    assert not {name: files for name, files in places.items() if len(files) > 1}


# Python -----------------------------------------------------------------------------------------

WORKER = pathlib.Path("runner/workers/compiled/lockstep_worker")


def python_files():
    return [
        file.relative_to(ROOT)
        for folder in ("cases", "ci", "examples", "expected", "reports", "runner")
        for file in (ROOT / folder).rglob("*.py")
    ]


def module_name(file):
    """As it is imported: a package's module by its dotted name, any other file by its own."""
    parts = [] if file.name == "__init__.py" else [file.stem]
    folder = file.parent
    while (ROOT / folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    return ".".join(parts)


@functools.cache
def nodes(text):
    return [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.Attribute, ast.Import, ast.ImportFrom))
    ]


def imported_names(file, text):
    """What a file imports, wherever in it, as dotted names; those from a module with what is
    taken."""
    package = module_name(file).split(".")[: None if file.name == "__init__.py" else -1]
    for node in nodes(text):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            yield from (
                ".".join([*above, *([node.module] if node.module else []), alias.name])
                for alias in node.names
            )


def imports(texts):
    """File → the files of ours that it imports, of the text of each."""
    places: dict = {}
    for file in texts:
        places.setdefault(module_name(file), []).append(file)

    def meant(name, by):
        while name and name not in places:
            name = name.rpartition(".")[0]
        found = places.get(name, [])
        return [one for one in found if one.parent == by.parent] or found[:1]

    return {
        file: {found for name in imported_names(file, text) for found in meant(name, file)} - {file}
        for file, text in texts.items()
    }


def circles(arrows):
    """Each circle of imports that is met on the way down, as the files on it."""
    found, done = [], set()
    way: list = []

    def visit(file):
        if file in way:
            found.append([str(each) for each in way[way.index(file) :]])
        elif file not in done:
            way.append(file)
            for other in sorted(arrows[file]):
                visit(other)
            done.add(way.pop())

    for file in sorted(arrows):
        visit(file)
    return found


def texts_of_python():
    return {file: (ROOT / file).read_text("utf-8") for file in python_files()}


def test_python_imports_run_in_no_circle():
    arrows = imports(texts_of_python())
    assert sum(map(len, arrows.values())) > 200
    assert circles(arrows) == []


def test_a_circle_is_seen_also_where_a_function_imports():
    texts = texts_of_python()
    texts[WORKER / "wire.py"] += "\n\ndef late():\n    from . import execute\n"
    found = circles(imports(texts))
    assert found and all(str(WORKER / "wire.py") in circle for circle in found)


def places_in_the_worker():
    """File or folder of the Python worker → its place in the table of its README."""
    text = (ROOT / WORKER.parent / "README.md").read_text("utf-8")
    rows = re.findall(r"^\| (`.*?`) \|", text, re.MULTILINE)
    names = [name.rstrip("/") for row in rows for name in re.findall(r"`([^`]+)`", row)]
    return {name: place for place, name in enumerate(names)}


def upward_in_the_worker(places, arrows):
    def place(file):
        return places[file.relative_to(WORKER).parts[0]]

    return [
        f"{file} imports {other}"
        for file, others in arrows.items()
        if WORKER in file.parents and file != WORKER / "__init__.py"
        for other in others
        if other != WORKER / "__init__.py" and place(other) < place(file)
    ]


def test_the_worker_keeps_the_order_of_its_table():
    places, arrows = places_in_the_worker(), imports(texts_of_python())
    inside = {file.relative_to(WORKER).parts[0] for file in arrows if WORKER in file.parents}
    assert inside - {"__init__.py"} == set(places)
    assert upward_in_the_worker(places, arrows) == []
    turned = {name: -place for name, place in places.items()}
    assert upward_in_the_worker(turned, arrows)


def test_what_torch_loads_stands_alone():
    """The Python worker and the mutants use nothing of ours but themselves, and the worker is
    nobody's library but of what captures programs, which writes what it executes."""
    arrows = imports(texts_of_python())
    for package in (WORKER, pathlib.Path("ci/mutation/lockstep_mutants")):
        for file in (each for each in arrows if package in each.parents):
            assert all(package in other.parents for other in arrows[file]), file
    above = (WORKER.parent, pathlib.Path("runner/python/lockstep/capturing"))
    for file in (each for each in arrows if not set(above) & set(each.parents)):
        assert all(WORKER not in other.parents for other in arrows[file]), file


def test_nobody_reads_the_stack_of_a_caller():
    """What a function needs, it is given."""
    for file, text in texts_of_python().items():
        attributes = {node.attr for node in nodes(text) if isinstance(node, ast.Attribute)}
        assert not attributes & {"_getframe", "currentframe", "f_back", "f_locals"}, file
