"""What a program asked of torch.compile, as a path of Lockstep; knows no torch."""

import functools
import json
from typing import Any

from lockstep import places

#: Inductor as a program has it that draws random numbers: its stream is its own.
NATIVE = "inductor-native-random"
#: Where the options of `torch.compile` are settings of.
OPTIONS = "torch._inductor.config."


class Path:
    """A path by its name, and the file to write where the suite has none."""

    def __init__(self, name: str, file: dict | None = None) -> None:
        self.name, self.file = name, file


@functools.cache
def suite() -> tuple[dict, ...]:
    """The path files of the suite, those that run without being asked first."""
    folder = places.suite() / "runner" / "paths"
    found = [json.loads(each.read_text("utf-8")) for each in sorted(folder.glob("*.json"))]
    return tuple(sorted(found, key=lambda each: not each.get("default")))


def paths_of(asked: dict, varies: bool, draws: bool, stem: str) -> list[Path]:
    """The paths on which a program is judged. One that draws random numbers with Inductor's
    defaults is judged with eager's stream, to compare values, and with its own."""
    found = [path_of(asked, varies, stem)]
    if draws and found[0].name == "inductor":
        found.append(Path(NATIVE))
    return found


def path_of(asked: dict, varies: bool, stem: str) -> Path:
    """The path on which a program is judged that asked for this; `varies`: its calls have different
    shapes. `stem` is what a new path is called after."""
    wanted = {
        "backend": asked["backend"],
        "export": asked.get("export"),
        "mode": None if asked["mode"] in (None, "default") else asked["mode"],
        "config": settings_of(asked),
        "dynamic": _dynamic(asked, varies),
    }
    for each in suite():
        if each["worker"] == "compiled" and all(
            (each.get(key) or (False if key == "dynamic" and each.get(key) is False else None))
            == (value or (False if value is False else None))
            for key, value in wanted.items()
        ):
            return Path(each["name"])
    return _new(wanted, asked, stem)


def settings_of(asked: dict) -> dict[str, Any]:
    """Every setting that was changed, by its full name."""
    options = {OPTIONS + key.replace("-", "_"): value for key, value in asked["options"].items()}
    return {**asked.get("config", {}), **options}


def _dynamic(asked: dict, varies: bool) -> bool | None:
    """`dynamic` of the path: torch's automatic is only something else where shapes vary."""
    if asked.get("export"):
        return None
    return asked["dynamic"] if asked["dynamic"] is not None or varies else False


def _new(wanted: dict, asked: dict, stem: str) -> Path:
    key = "export" if wanted["export"] else "backend"
    alike = [
        each
        for each in suite()
        if each.get(key) == wanted[key] and each["worker"] == "compiled" and not each["config"]
    ]
    base = min(alike, key=lambda each: len(each["name"])) if alike else None
    name = f"{stem}-{base['name'] if base else wanted[key]}"
    file: dict[str, Any] = {
        "format": 2,
        "name": name,
        "title": f"What {stem} asks of {'AOTInductor' if wanted['export'] else 'torch.compile'}"[
            :120
        ],
        "contract": base["contract"] if base else "values",
        "default": False,
        "worker": "compiled",
        key: wanted[key],
        "dynamic": wanted["dynamic"],
        "import": asked.get("imports", []),
        "config": wanted["config"],
        "environment": asked.get("environment", {}),
        "devices": ["*"],
    }
    if not wanted["export"]:
        file |= {"mode": wanted["mode"], "fullgraph": wanted["dynamic"] is not None}
    if base is not None:
        file["above"] = base["name"]
    return Path(name, file)
