"""The bridge between a run and a Dask cluster (cluster.md): JSON lines on standard input and
output, the cluster behind it. `ci/dask bridge` starts it with an interpreter that has
`distributed`; it is one file, for what runs on dask workers travels by value: they need nothing of
it.

On each dask worker that it is told to start, a task becomes a member: it starts Lockstep there
(`ci/lockstep serve`), hands it orders, and tells what it writes. The task lasts as long as the run,
so that whoever scales the cluster sees a busy worker."""

import asyncio
import contextlib
import itertools
import json
import os
import pathlib
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import uuid

import dask
from distributed import Client, LocalCluster, get_worker, secede

#: Seconds without a word from the bridge after which a member ends itself: nobody is there any
#: more.
SILENCE = 120
BEAT = 20
#: Lines of a member travel together, at most so often: each event costs the dask worker, the
#: scheduler and the bridge more than a line does.
TOGETHER = 0.25
#: What Dask looks at of tasks of its own, of which there are none to speak of: on one machine it
#: costs what executions could have.
IDLE = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.tick.interval": "1s",
    "distributed.worker.memory.monitor-interval": "10s",
}


def files_of(line):
    """The kept tensors that a verdict names; they are sent before it."""
    for output in json.loads(line).get("outputs", []):
        yield from output.get("tensors", [])


def watch(process, mine):
    """Ends a Lockstep of which nobody has heard for long."""
    while process.poll() is None:
        if time.monotonic() - mine["heard"] > SILENCE:
            process.terminate()
        time.sleep(1)


def lockstep_in(home):
    """How Lockstep is called here: of a clone by its script, else as pip installed it."""
    script = home / "ci" / "lockstep"
    installed = shutil.which("lockstep")
    return [script if script.exists() or installed is None else installed]


def member(run, where, home, told):
    """On a dask worker: runs Lockstep until it ends; returns how it ended."""
    worker = get_worker()
    if worker.local_directory != where:
        return "another dask worker has taken its place"
    secede()  # its threads count executions of ours, not tasks of Dask's
    lines: queue.SimpleQueue = queue.SimpleQueue()  #: and at last None

    def tell(**message):
        worker.log_event(run, {"of": worker.address, **message})

    def send(process):
        """Tells all that has come, files and lines in their order, until there is nothing more to
        come."""
        going = True
        while going:
            waiting = [lines.get()]
            time.sleep(TOGETHER if waiting[0] is not None else 0)
            while not lines.empty():
                waiting.append(lines.get())
            going = waiting[-1] is not None
            waiting = [line for line in waiting if line is not None]
            try:
                for name in itertools.chain.from_iterable(
                    files_of(line) for line in waiting if b'"tensors"' in line
                ):
                    tell(file=name, data=(out / "run" / name).read_bytes())
                if waiting:
                    tell(lines=[line.decode("utf-8", "replace") for line in waiting])
            except (OSError, ValueError):  # what is not told is never done
                process.terminate()
                return

    home = pathlib.Path(os.environ.get("LOCKSTEP_HOME") or home)
    # What Dask's nanny sets for its own tasks changes what torch computes.
    nannys = dask.config.get("distributed.nanny.pre-spawn-environ", {})
    environment = {
        name: value for name, value in os.environ.items() if value != str(nannys.get(name))
    }
    out = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-", dir=where))
    members = worker.__dict__.setdefault("lockstep_members", {})
    try:
        with open(out / "errors", "w+b") as errors:
            process = subprocess.Popen(
                [*lockstep_in(home), "serve"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment,
                cwd=told["directory"] if os.path.isdir(told["directory"]) else home,
                start_new_session=True,
            )
            assert process.stdin and process.stdout
            mine = members[run] = {"process": process, "heard": time.monotonic()}
            threading.Thread(target=watch, args=(process, mine), daemon=True).start()
            sender = threading.Thread(target=send, args=(process,), daemon=True)
            sender.start()
            with contextlib.suppress(OSError):  # of one that ended at once
                process.stdin.write(
                    json.dumps(
                        {"jobs": worker.state.nthreads, **told, "out": str(out / "run")}
                    ).encode()
                    + b"\n"
                )
                process.stdin.flush()
            for line in process.stdout:
                if not line.endswith(b"\n"):  # it was killed while it wrote
                    break
                lines.put(line)
            status = process.wait()
            lines.put(None)
            sender.join()
            errors.seek(max(0, errors.seek(0, os.SEEK_END) - 2000))
            said = errors.read().decode("utf-8", "replace").strip()
            return f"its Lockstep ended with {status}: {said}"
    except OSError as error:
        return f"Lockstep cannot be started there: {error}"
    finally:
        members.pop(run, None)
        shutil.rmtree(out, ignore_errors=True)


def order(run, line, dask_worker=None):
    """On a dask worker: hands a line to its member; an empty one says only that somebody is
    there."""
    mine = dask_worker.lockstep_members[run]
    mine["heard"] = time.monotonic()
    if line:
        mine["process"].stdin.write(line.encode() + b"\n")
        mine["process"].stdin.flush()


def end(run, dask_worker=None):
    mine = getattr(dask_worker, "lockstep_members", {}).get(run)
    if mine:
        mine["process"].terminate()


def say(**message):
    print(json.dumps(message), flush=True)


def keep(directory, name, data):
    """Writes a tensor that a member has kept, at its name below `directory`, and nowhere else."""
    path = pathlib.PurePosixPath(name)
    if (
        path.is_absolute()
        or path.parts[:1] != ("tensors",)
        or len(path.parts) < 2
        or ".." in path.parts
    ):
        raise ValueError(f"a member names the file {name!r}, which is none of tensors/")
    target = pathlib.Path(directory).joinpath(*path.parts)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)


class Bridge:
    def __init__(self, client, begin):
        self.client = client
        self.begin = begin
        self.run = f"lockstep-{uuid.uuid4().hex[:12]}"
        #: Of each dask worker, by its address, its folder: one that comes after it has another.
        self.places = {}
        self.members = {}  #: futures, by address
        self.tasks = set()
        client.subscribe_topic(self.run, self.hear)

    def spawn(self, coroutine):
        task = asyncio.ensure_future(coroutine)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def hear(self, event):
        message = event[1]
        if message["of"] not in self.members:
            return
        if "file" in message:
            try:
                keep(self.begin["directory"], message["file"], message["data"])
            except (OSError, ValueError) as error:
                say(note=f"cannot save tensors: {error}")
        else:
            print(
                "\n".join(
                    json.dumps({"of": message["of"], "line": line}) for line in message["lines"]
                ),
                flush=True,
            )

    async def look(self):
        """Tells which dask workers came and went, and goes on for ever."""
        while True:
            workers = (await self.client.scheduler.identity(n_workers=-1))["workers"]
            there = {
                address: facts
                for address, facts in workers.items()
                if facts["status"] in ("running", "paused")
            }
            for address, place in list(self.places.items()):
                if address not in there or there[address]["local_directory"] != place:
                    del self.places[address]
                    if future := self.members.pop(address, None):
                        await future.cancel()
                    say(of=address, gone=True, why="it left the cluster")
            for address, facts in there.items():
                if address not in self.places:
                    self.places[address] = facts["local_directory"]
                    say(joined=address, jobs=self.begin["run"].get("jobs", facts["nthreads"]))
            await asyncio.sleep(1)

    async def beat(self):
        while True:
            await asyncio.sleep(BEAT)
            for address in list(self.members):
                self.spawn(
                    self.client.run(order, self.run, "", workers=[address], on_error="ignore")
                )

    def start(self, address):
        if address not in self.places:
            return
        self.members[address] = self.client.submit(
            member,
            self.run,
            self.places[address],
            self.begin["home"],
            self.begin["run"],
            workers=[address],
            allow_other_workers=False,
            pure=False,
            retries=0,
            key=f"{self.run}-{uuid.uuid4().hex[:6]}",
        )
        self.spawn(self.follow(address, self.members[address]))

    async def follow(self, address, future):
        try:
            why = await future
        except asyncio.CancelledError:
            return
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
        self.ended(address, future, why)

    def ended(self, address, future, why):
        if self.members.get(address) is future:
            del self.members[address]
            say(of=address, ended=True, why=why)

    async def order(self, address, items):
        future = self.members.get(address)
        try:
            await self.client.run(order, self.run, json.dumps({"items": items}), workers=[address])
        except Exception as error:  # what is not told is never done
            self.spawn(self.client.run(end, self.run, workers=[address], on_error="ignore"))
            self.ended(address, future, f"it cannot be told anything: {error!r}")

    async def obey(self, lines):
        """Does what it is told until there is nobody to tell it."""
        while line := await lines.readline():
            told = json.loads(line)
            if "start" in told:
                self.start(told["start"])
            elif "order" in told:
                self.spawn(self.order(told["order"], told["items"]))
            elif "drop" in told:
                self.spawn(
                    self.client.run(end, self.run, workers=[told["drop"]], on_error="ignore")
                )

    async def close(self):
        members, self.members = self.members, {}
        ends = [
            self.client.run(end, self.run, workers=[address], on_error="ignore")
            for address in members
        ]
        waits = [
            asyncio.ensure_future(each)
            for each in [*ends, *(ending(future) for future in members.values())]
        ]
        if waits:
            await asyncio.wait(waits, timeout=5)
        for future in members.values():
            await future.cancel()


async def ending(future):
    with contextlib.suppress(Exception):
        await future


async def connect(on, folder):
    """A cluster of our own or None, and a client."""
    if "here" in on:
        dask.config.set(IDLE)
        cluster = await LocalCluster(
            n_workers=on["workers"],
            threads_per_worker=1,
            dashboard_address=None,
            asynchronous=True,
            memory_limit=0,
            local_directory=folder,
        )
        return cluster, await Client(cluster, asynchronous=True)
    place = {"scheduler_file": on["file"]} if "file" in on else {"address": on["address"]}
    return None, await Client(**place, asynchronous=True, timeout=30)


async def main():
    lines = asyncio.StreamReader(limit=1 << 28)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(lines), sys.stdin
    )
    begin = json.loads(await lines.readline())
    with tempfile.TemporaryDirectory(prefix="lockstep-dask-", ignore_cleanup_errors=True) as folder:
        try:
            cluster, client = await connect(begin["on"], folder)
        except Exception as error:
            say(
                failed=f"no scheduler answers: {error}",
                hint=(
                    "is it there, and of the same release of `distributed`? `ci/dask scheduler` "
                    "starts one"
                ),
            )
            return
        bridge = Bridge(client, begin)
        tasks = [
            asyncio.ensure_future(each)
            for each in (bridge.look(), bridge.beat(), bridge.obey(lines))
        ]
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            if lost := task.exception():
                say(
                    failed=f"its scheduler is lost: {lost!r}",
                    hint="`run --resume DIR` goes on; DIR is the directory of this run",
                )
        for task in tasks:
            task.cancel()
        with contextlib.suppress(Exception):
            await asyncio.wait_for(bridge.close(), 8)
            await client.close(timeout=2)
        if cluster:
            with contextlib.suppress(Exception):
                await asyncio.wait_for(cluster.close(), 5)


if __name__ == "__main__":
    os.environ.setdefault("DASK_DISTRIBUTED__LOGGING__DISTRIBUTED", "error")
    asyncio.run(main())
