"""`lockstep capture`, and `lockstep run|explain|shrink model.py`: from a program to an answer.

    door.py capture [--out DIR] [--name N] [--exact-values] [--as-shown] [--seconds S]
                    -- model.py ARGUMENT…
    door.py run|explain|shrink [OPTION…] model.py ARGUMENT…

The runner becomes this program where it is given a Python file, and this program becomes the runner
again once there are cases. It knows no torch: whatever the captured program does to its process,
it does not do it here."""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
from typing import NoReturn

if not __package__:
    sys.path[0] = str(pathlib.Path(__file__).resolve().parents[2])

from lockstep.capturing import cases, folders, left, proof, said, spool, sweeps
from lockstep.places import Refusal, say

#: Exit statuses of the tool.
OK, FAILS, USAGE, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 130
#: How long a program may run, in seconds; how much of it is kept.
SECONDS, MOST_BYTES, MOST_GRAPHS = 600, 1 << 30, 64
#: So many of the last lines of torch's are shown where nothing could be captured.
SHOWN_LINES = 20


#: What to say of a case that is not Dynamo's graph.
ROUTES = {
    "trace": "from its eager execution",
    "operators": "from its eager execution, transforms as the operators that they call",
}


class Asked(argparse.Namespace):
    """What the command line says."""

    command: str
    out: str | None
    name: str | None
    exact_values: bool
    calls: bool
    as_shown: bool
    json: bool
    seconds: float
    options: list[str]  # of the runner's command
    program: str
    arguments: list[str]


def read(words: list[str]) -> Asked:
    """The command line; the runner has looked at it, and marked the program with `--`."""
    at = words.index("--")
    asked = Asked(command=words[0], program=words[at + 1], arguments=words[at + 2 :])
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--out")
    parser.add_argument("--name")
    parser.add_argument("--exact-values", action="store_true")
    parser.add_argument("--as-shown", action="store_true")
    parser.add_argument("--calls", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    own = words[1:at] if asked.command == "capture" else []
    parser.parse_args(own, asked)
    asked.options = [] if asked.command == "capture" else words[1:at]
    return asked


# The program --------------------------------------------------------------------------------------


def execute(asked: Asked, folder: pathlib.Path, functions: bool) -> tuple[int, bool]:
    """Runs the program once in a process of its own, its output on standard error; its exit status,
    and whether it was interrupted."""
    limits = {"bytes": MOST_BYTES, "graphs": MOST_GRAPHS, "functions": functions}
    limits["calls"] = asked.calls
    script = pathlib.Path(__file__).with_name("script.py")
    python = os.environ.get("LOCKSTEP_PYTHON") or sys.executable
    words = [python, str(script), str(folder), json.dumps(limits), asked.program]
    left.adopt()
    told = said.CPP_LEVEL | os.environ
    process = subprocess.Popen([*words, *asked.arguments], stdout=sys.stderr.fileno(), env=told)
    try:
        return process.wait(timeout=asked.seconds), False
    except subprocess.TimeoutExpired:
        say(f"{asked.program} still runs after {asked.seconds:.0f} s, and is ended.")
        _end(process)
        return process.returncode, False
    except KeyboardInterrupt:
        say("interrupted: what was captured is written.")
        _end(process)
        return process.returncode, True
    finally:
        if count := left.end():
            say(f"{asked.program} leaves {count} processes behind, which are ended.")
        _stand_somewhere()


def _stand_somewhere() -> None:
    """Leaves the working directory where the program has deleted it."""
    try:
        os.getcwd()
    except OSError:
        os.chdir(tempfile.gettempdir())


def _end(process: subprocess.Popen) -> None:
    """Ends a process: politely, then at once."""
    for signal_ in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        process.send_signal(signal_)
        try:
            process.wait(timeout=3)
        except subprocess.TimeoutExpired:
            continue
        return


def capture(asked: Asked, folder: pathlib.Path) -> tuple[list[cases.Captured], bool]:
    """What the program compiles. Raises `Refusal` if there is nothing."""
    stem = stem_of(asked)
    say(
        f"running {asked.program}: what it compiles is recorded and executed eagerly, so what it "
        "prints is eager's"
    )
    status, interrupted = execute(asked, folder / "first", False)
    found = _found(folder / "first", stem)
    if not found and not interrupted and status >= 0:
        say("it compiles nothing and calls no module: once more, for the functions that it calls")
        status, interrupted = execute(asked, folder / "second", True)
        found = _found(folder / "second", stem)
    _tell_end(asked.program, status, interrupted)
    reasons = spool.reasons_of(folder / "first") + spool.reasons_of(folder / "second")
    for reason in reasons:
        say(f"not captured: {_place(reason['source'])}{reason['reason']}")
    if not found:
        raise Refusal(
            f"nothing of {asked.program} could be captured: it compiles no graph, and calls no "
            "nn.Module and no function of its own with tensors."
            if not reasons
            else f"nothing of {asked.program} could be captured."
        )
    for each in found:
        _tell(each)
    return found, interrupted


def _found(folder: pathlib.Path, stem: str) -> list[cases.Captured]:
    return cases.captured_of(spool.regions_of(folder), folder, stem) if folder.is_dir() else []


def _tell_end(program: str, status: int, interrupted: bool) -> None:
    if status < 0 and not interrupted:
        name = signal.Signals(-status).name
        say(f"{program} was ended by {name}; what it compiled until then is captured.")
    elif status > 0:
        say(f"{program} ended with exit status {status}; what it compiled until then is captured.")


def _place(source: dict | None) -> str:
    if not source or not source.get("file"):
        return ""
    return f"{source['file']}:{source['line']}: "


def _tell(each: cases.Captured) -> None:
    """What was captured, in a line."""
    steps = len(each.program["steps"])
    about = [f"{steps} step{'s' if steps != 1 else ''}"]
    if len(each.calls) > 1:
        about.append(f"{len(each.calls)} calls")
    if each.calls[0]["backward"]:
        about.append("with its backward")
    if each.region["route"] in ROUTES:
        about.append(ROUTES[each.region["route"]])
    if each.region["as_if"]:
        name = each.region["as_if"]["name"]
        about.append(f"as if {name} were compiled, since the program compiles nothing")
    say(f"captured {each.name}: {', '.join(about)}; {_paths(each)}")
    if each.region["replay"]:
        say(f"  {each.region['replay']}")


def _paths(each: cases.Captured) -> str:
    words = [f"on {path.name}" for path in each.paths]
    words += [f"on no path: {why}" for why in dict.fromkeys(each.refused)]
    return "; ".join(words) or "on no path: what it asks for compiles nothing"


# Cases --------------------------------------------------------------------------------------------


def stem_of(asked: Asked) -> str:
    """What the names of the cases begin with."""
    return cases.word(asked.name or pathlib.Path(asked.program).stem)


def output_folder(asked: Asked) -> pathlib.Path | None:
    """Where the program's user wants the cases; None: an answer alone is asked for. Raises
    `Refusal` if somebody's files are there."""
    if asked.command != "capture":
        return None
    # Absolute, since the program may delete the folder that it runs in.
    folder = pathlib.Path(os.path.abspath(asked.out or f"{stem_of(asked)}-cases"))
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Refusal(f"{_relative(folder)} exists: --out names another directory.")
    return folder


def _relative(folder: pathlib.Path) -> str:
    return os.path.relpath(folder)


def _where(asked: Asked, place: pathlib.Path) -> str:
    """A place beside the cases, in the words of who asks."""
    return _relative(place) if asked.command == "capture" else str(place)


# What torch said ----------------------------------------------------------------------------------


def keep_log(asked: Asked, work: pathlib.Path, folder: pathlib.Path) -> None:
    """Puts what torch logged and warned beside the cases, and says where."""
    if text := _torch_said(work):
        file = folder / said.FILE
        file.write_text(text, "utf-8")
        lines = text.count("\n")
        say(
            f"torch logged or warned {lines} line{'s' if lines != 1 else ''}: {_where(asked, file)}"
        )


def show_log(work: pathlib.Path) -> None:
    """Prints the end of what torch logged and warned, where it is all that there is."""
    if lines := _torch_said(work).splitlines()[-SHOWN_LINES:]:
        say("what torch logged and warned last:")
        for line in lines:
            print("".join(c if c.isprintable() else " " for c in line), file=sys.stderr)


def _torch_said(work: pathlib.Path) -> str:
    return "".join(map(said.of, (work, work / "first", work / "second")))


def write(
    asked: Asked, found: list[cases.Captured], folder: pathlib.Path, judged: bool
) -> tuple[dict[str, proof.Kept], list[pathlib.Path]]:
    """Writes the case files and path files; how each is kept."""
    folder.mkdir(parents=True, exist_ok=True)
    path_files = cases.write_paths(found, folder)
    strict = asked.as_shown or asked.command in ("explain", "shrink")
    kept: dict[str, proof.Kept] = {}
    if judged:
        with tempfile.TemporaryDirectory(prefix="lockstep-ways-") as trial:
            say("judging what was captured, to write it so that it shows what the program showed")
            wish = proof.Wish(strict, asked.exact_values)
            kept = proof.prove(found, pathlib.Path(trial), path_files, wish)
    for each in found:
        way = kept[each.name].way if each.name in kept else proof.EXACT
        about = f"Captured from {pathlib.Path(asked.program).name}: {_paths(each)}."
        cases.put(each, way, folder, about)
    return kept, path_files


def _summary(each: cases.Captured, kept: proof.Kept | None, folder: pathlib.Path) -> dict:
    """What was captured and what it shows, for programs."""
    found = {
        "name": each.name,
        "file": str(folder / f"{each.name}.json"),
        "source": each.region["as_if"] or each.region["where"],
        "as_if": bool(each.region["as_if"]),
        "route": each.region.get("route", "graph"),
        "replay": each.region["replay"],
        "paths": [path.name for path in each.paths],
        "refused": each.refused,
    }
    if kept is not None:
        found |= {"kept": str(kept.way), "says": kept.words}
        of_way = proof.worst(kept.verdicts) if kept.verdicts else None
        for key, verdict in (("shown", kept.shown), ("verdict", of_way)):
            if verdict is not None:
                status, output, great = proof.magnitude(verdict)
                found[key] = {"path": verdict["path"], "status": status, "output": output}
                found[key] |= {"max_abs": great, "reason": verdict.get("reason")}
    return found


def _tell_kept(name: str, kept: proof.Kept) -> None:
    if kept.shown is not None and proof.diverges(kept.shown):
        say(f"{name}: {kept.shown['reason'].split(' (and ')[0]}")
    say(f"{name}: {kept.words}")


# The answer ---------------------------------------------------------------------------------------


def answer(
    asked: Asked,
    found: list[cases.Captured],
    kept: dict[str, proof.Kept],
    folder: pathlib.Path,
    path_files: list[pathlib.Path],
) -> int:
    """Has the runner say what was asked for; the exit status."""
    judged = [each for each in found if each.paths]
    if not judged:
        say("no path can be asked about it.")
        return USAGE
    own = [word for file in path_files for word in ("--path-file", str(file))]
    if asked.command == "run":
        names = list(dict.fromkeys(path.name for each in judged for path in each.paths))
        files = [str(folder / f"{each.name}.json") for each in judged]
        chosen = [] if "--path" in asked.options else ["--path", *names]
        return _become(["run", *files, *own, *chosen, *asked.options])
    worth = [each for each in judged if _differs(kept.get(each.name))]
    if not worth:
        say(
            f"nothing differs to the bit in {len(judged)} captured "
            f"graph{'s' if len(judged) != 1 else ''}: there is nothing to {asked.command}."
        )
        return OK
    status = OK
    for each in worth:
        name = _accused(each, kept[each.name])
        words = [asked.command, str(folder / f"{each.name}.json"), *own]
        words += [] if "--path" in asked.options else ["--path", name]
        if each is worth[-1] and len(worth) == 1:
            return _become([*words, *asked.options])
        status = max(status, subprocess.call([proof.runner(), *words, *asked.options]))
    return status


def _differs(kept: proof.Kept | None) -> bool:
    return kept is None or kept.shown is None or proof.diverges(kept.shown)


def _accused(each: cases.Captured, kept: proof.Kept) -> str:
    return kept.shown["path"] if kept.shown else each.paths[0].name


def _become(words: list[str]) -> NoReturn:
    sys.stdout.flush()
    os.execv(proof.runner(), ["lockstep", *words])


def sweep(asked: Asked, work: pathlib.Path, folder: pathlib.Path) -> int:
    """Writes every distinct call of the program as one sweep. Raises `Refusal` if there is none."""
    stem = stem_of(asked)
    say(f"running {asked.program}, and recording what it calls")
    status, interrupted = execute(asked, work, False)
    _tell_end(asked.program, status, interrupted)
    noted = [call for region in spool.regions_of(work) for call in region["sweep"]]
    if not noted:
        raise Refusal(f"{asked.program} calls no operator that a sweep takes.")
    folder.mkdir(parents=True, exist_ok=True)
    texts, too_long = sweeps.write(noted, pathlib.Path(asked.program).name)
    for at, text in enumerate(texts):
        name = f"{stem}-calls" + (f"-{at + 1}" if at else "")
        (folder / f"{name}.json").write_text(text, "utf-8")
    say(f"{len(noted) - too_long} distinct calls in {_relative(folder)}")
    if too_long:
        say(f"{too_long} more have so many arguments that no id has room for them")
    keep_log(asked, work, folder)
    return INTERRUPTED if interrupted else OK


def main() -> int:
    asked = read(sys.argv[1:])
    if not os.path.isfile(asked.program):
        say(f"{asked.program} is no file.")
        return USAGE
    work = tempfile.TemporaryDirectory(prefix="lockstep-capture-")
    try:
        wanted = output_folder(asked)
        if wanted is not None and asked.calls:
            return sweep(asked, pathlib.Path(work.name), wanted)
        found, interrupted = capture(asked, pathlib.Path(work.name))
        folder = wanted or folders.new(stem_of(asked))
        kept, path_files = write(asked, found, folder, not interrupted)
        for each in found:
            if each.name in kept:
                _tell_kept(each.name, kept[each.name])
        say(f"{len(found)} case{'s' if len(found) != 1 else ''} in {_where(asked, folder)}")
        keep_log(asked, pathlib.Path(work.name), folder)
        if interrupted:
            return INTERRUPTED
        if asked.command == "capture":
            if asked.json:
                print(json.dumps([_summary(each, kept.get(each.name), folder) for each in found]))
            return OK
        work.cleanup()
        return answer(asked, found, kept, folder, path_files)
    except Refusal as refusal:
        say(str(refusal))
        show_log(pathlib.Path(work.name))
        return USAGE
    except proof.Failed as failed:
        say("the cases could not be judged:")
        print(failed, file=sys.stderr)
        return INTERNAL
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        work.cleanup()


if __name__ == "__main__":
    sys.exit(main())
