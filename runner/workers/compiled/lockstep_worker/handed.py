"""What parts of an execution hand over, taken by whoever started them: storages become files, and
views are on these. A part may have lied: it can name no storage but its own."""

import os
from typing import Any

from .cell import copy
from .held import BLOCK, blocks_of
from .problems import Fault


class Handed:
    """The storages of one observation, in the order in which parts hand them over."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self.storages: list[dict] = []

    def take(self, words: dict, file: int) -> Any:
        """The `result` of a part's words, its views on the storages that are written now: those
        that lie in `file`. Raises `Fault`."""
        first, given = len(self.storages), words.get("storages")
        if not isinstance(given, list):
            raise Fault("a part handed over no list of storages")
        for described in given:
            self.storages.append(self._storage(described, first, file))
        return _moved(words.get("result"), first, len(given))

    def _storage(self, described: Any, first: int, file: int) -> dict:
        try:
            size, at = described["bytes"], described.get("at")
            taken: dict = {"bytes": _whole(size)}
            sent = size
            if "same" in described:
                blocks = [_whole(block) for block in described["blocks"]]
                taken |= {"same": self._same(described["same"], first), "blocks": blocks}
                sent = sum(min(BLOCK, size - block * BLOCK) for block in blocks)
                if any(block >= blocks_of(size) for block in blocks):
                    raise ValueError("it has no such block")
            if "same" in described and at is None:
                return taken
            self._write(file, _whole(at), sent)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise Fault(f"a part handed over what is no storage: {error!r:.200}") from None
        except OSError as error:
            raise Fault(f"a storage cannot be written: {error.strerror or error}") from None
        return {**taken, "file": str(len(self.storages))}

    def _same(self, same: Any, first: int) -> dict:
        if "held" in same:
            return {"held": _whole(same["held"])}
        index = first + _whole(same["storage"])
        if index >= len(self.storages):
            raise ValueError("it is the same as one that comes later")
        return {"storage": index}

    def _write(self, file: int, at: int, size: int) -> None:
        name = os.path.join(self._directory, str(len(self.storages)))
        with open(name, "xb", buffering=0) as written:
            copy(file, at, size, written.fileno())


def _whole(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r:.40} is no count")
    return value


def _moved(value: Any, by: int, count: int) -> Any:
    """A described value with its views on storages that come later by so many. A lowered program
    is the request's with other steps: its storages are those of the request."""
    if isinstance(value, list):
        return [_moved(each, by, count) for each in value]
    if not isinstance(value, dict):
        return value
    moved = {
        key: each if key == "lowered" else _moved(each, by, count) for key, each in value.items()
    }
    if "storage" in value:
        if type(value["storage"]) is not int or not 0 <= value["storage"] < count:
            raise Fault(f"a part handed over a view on storage {value['storage']!r:.40}")
        moved["storage"] = value["storage"] + by
    return moved
