"""The rooms of runner/README.md: no room uses one below it in the table, and only the workers know
torch."""

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
            assert {str(other.parent) for other in included(file)} <= {
                "runner/base",
                "runner/program",
                str(file.parent),
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
