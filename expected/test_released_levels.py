"""A level with a number is frozen: certificates and gates name it. What it holds never changes,
whatever is renamed around it; a new set of instances is a new number."""

import hashlib
import json
import pathlib

import pytest

LEVELS = pathlib.Path(__file__).resolve().parent / "levels"

#: SHA-256 of what each frozen level holds, written down when it was frozen.
RELEASED = {
    "core-1": "50fb9f4ada6d462532c230655fcb745642ca50ec04b1e9b41138ff9ece144bdd",
    "core-2": "269c55b590756238d172d42fedc6c93c9a47830c1bbd1a4034ae9d88f35acc90",
    "smoke-1": "479bd970c371de2bd9c76c66ecebc84d5cd8209aeb9b05f12c80bd7a088cb225",
    "smoke-2": "ba4bedae951758ecedea160638d82db3c311155a911e95975de902c2740a0412",
}


def test_every_frozen_level_is_written_down():
    frozen = {file.stem for file in LEVELS.glob("*.json") if file.stem[-1].isdigit()}
    assert frozen == set(RELEASED)


@pytest.mark.parametrize("name", sorted(RELEASED))
def test_a_frozen_level_is_as_it_was_released(name):
    level = json.loads((LEVELS / f"{name}.json").read_text("utf-8"))
    held = {key: level[key] for key in ("instances", "fills", "threads") if key in level}
    text = json.dumps(held, sort_keys=True).encode()
    assert hashlib.sha256(text).hexdigest() == RELEASED[name]
