"""Which graphs of a program are one case, and which of their calls it has; knows no torch."""

from typing import Any

#: The most calls of a case.
MOST_CALLS = 8


def chains(regions: list[dict]) -> list[dict]:
    """Regions, those that are calls of one program together."""
    found: list[dict] = []
    for region in _replaced(regions):
        host = next((each for each in found if _joins(each, region)), None)
        if host is None:
            found.append(dict(region))
        else:
            host["calls"] = [*host["calls"], *region["calls"]]
    return found


def _joins(host: dict, region: dict) -> bool:
    """Whether a region is the program of another one, called in another way: Dynamo made it anew
    for other shapes, strides or modes."""
    calls = [*host["calls"], *region["calls"]]
    same = all(host[key] == region[key] for key in ("where", "as_if", "asked", "program"))
    if not same or not calls or not region["program"] or len(calls) > MOST_CALLS:
        return False
    if any(each["raised"] or each.get("repeats") for each in calls) or host["replay"]:
        return False
    ways = [(_placed(each), each["context"]) for each in calls]
    alike = all(_facts(each) == _facts(calls[0]) for each in calls)
    return alike and not any(each in ways[:at] for at, each in enumerate(ways))


def _placed(call: dict) -> Any:
    """The shapes and strides of what a call is given, and what shares memory."""
    return {
        name: [each.get(key) for key in ("shape", "strides", "view_of", "offset", "storage")]
        for name, each in call["inputs"].items()
    }


def _facts(call: dict) -> Any:
    """What all calls of a case have in common."""
    inputs = {
        name: (each["dtype"], each.get("requires_grad")) for name, each in call["inputs"].items()
    }
    return inputs, set(call["backward"])


def _replaced(regions: list[dict]) -> list[dict]:
    """Regions, a graph with sizes that vary together with those before it that it replaces."""
    left = list(regions)
    for region in regions:
        if region not in left or not region["program"] or not _varies(region["program"]["steps"]):
            continue
        before = [
            each
            for each in left[: left.index(region)]
            if each["program"]
            and each["where"] == region["where"]
            and each["asked"] == region["asked"]
            and set(each["program"]["inputs"]) == set(region["program"]["inputs"])
            and len(each["program"]["outputs"]) == len(region["program"]["outputs"])
        ]
        for each in before:
            left.remove(each)
        calls = [call for each in before for call in each["calls"]]
        left[left.index(region)] = {**region, "calls": [*calls, *region["calls"]][:MOST_CALLS]}
    return left


def worth(region: dict) -> list[dict]:
    """The calls that a case has: not those that repeat shapes, unless they go on from those before
    them; not those that lack a gradient that the first one has, and none after an error."""
    first, *later = region["calls"]
    calls, follows = [first], True
    for each in later:
        if calls[-1]["raised"]:
            break
        keeps = set(first["backward"]) <= set(each["backward"])
        if keeps and (follows or not each.get("repeats")):
            calls.append(each if follows else {**each, "carried": {}})
        follows = follows and keeps
    if carry_of(region, calls):
        return calls
    return [each for each in calls if not each.get("repeats")]


def carry_of(region: dict, calls: list[dict]) -> dict[str, str]:
    """What each call after the first one takes over from the one before it: an input, and the name
    of the output or input that it is then."""
    found: dict[str, str] = {}
    for name, place in (calls[1].get("carried", {}) if len(calls) > 1 else {}).items():
        inputs = [call["inputs"] for call in calls]
        is_view = any(
            "view_of" in each[name] or any(o.get("view_of") == name for o in each.values())
            for each in inputs
        )
        if is_view or any(call.get("carried", {}).get(name) != place for call in calls[2:]):
            continue
        if "input" in place:
            found[name] = place["input"]
        elif "ref" in (output := region["program"]["outputs"][place["output"]]):
            found[name] = output["ref"]
    return found


def differ(calls: list[dict]) -> bool:
    """Whether calls have inputs of different shapes or strides."""
    return any(_placed(each) != _placed(calls[0]) for each in calls[1:])


def _varies(steps: Any) -> bool:
    """Whether steps ask for a size, also those inside of others."""
    if isinstance(steps, dict):
        return str(steps.get("op")).startswith("aten::sym_") or _varies(list(steps.values()))
    return isinstance(steps, list) and any(map(_varies, steps))
