"""The bridge between a run and a Dask cluster (cluster.md): JSON lines on standard input and
output, the cluster behind it. `ci/dask bridge` starts it with an interpreter that has
`distributed`; it is one file, for what runs on dask workers travels by value: they need nothing of
it.

A plugin of each dask worker keeps a Lockstep warm there (`ci/lockstep serve`). Each chunk of the
plan is a task of Dask, which hands it to the Lockstep of the dask worker that it is on, and returns
what that writes."""

import asyncio
import contextlib
import itertools
import json
import os
import pathlib
import shutil
import sys
import tempfile
import time
import types
import typing
import uuid

import dask
from distributed import (
    Client,
    KilledWorker,
    LocalCluster,
    SchedulerPlugin,
    Status,
    WorkerPlugin,
    get_worker,
)

#: Of the resource of a run that a dask worker has: all of it is for what must be alone there.
WHOLE = 4096
#: A Lockstep is started again after so many exits without a verdict between them.
MOST_EXITS = 3
#: Lines of a log before the first verdict: the run, the machine, eager.
HEAD = 3
#: Where the scheduler's metadata say why which dask workers are left out.
LEFT_OUT = "left out"
GONE = "it left the cluster"
#: Seconds after which a run ends if no dask worker that is there can be used.
PATIENCE = 30
#: What Dask looks at of tasks of its own, of which there are none to speak of: on one machine it
#: costs what executions could have.
IDLE = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.tick.interval": "1s",
    "distributed.worker.memory.monitor-interval": "10s",
}


class Member(WorkerPlugin):
    """On a dask worker: its Lockstep. Who has the resource `name` is alike, and is given chunks."""

    def __init__(self, run, home, told):
        self.name, self.home, self.told = run, home, told
        self.exits, self.left = 0, False
        self.process: typing.Any = None

    def setup(self, worker):
        self.worker = worker
        # Not awaited: a dask worker that takes long to come is given up by who started it.
        self.ready = asyncio.ensure_future(self.begin())

    async def teardown(self, worker):
        self.left = True
        self.ready.cancel()
        if self.process and self.process.returncode is None:
            self.process.terminate()
            await asyncio.wait_for(self.process.wait(), 5)

    async def begin(self):
        """Starts Lockstep, and waits until it has said who it is; whether it can be used."""
        home = pathlib.Path(os.environ.get("LOCKSTEP_HOME") or self.home)
        script, installed = home / "ci" / "lockstep", shutil.which("lockstep")
        # What Dask's nanny sets for its own tasks changes what torch computes.
        nannys = dask.config.get("distributed.nanny.pre-spawn-environ", {})
        kept = {name: value for name, value in os.environ.items() if value != str(nannys.get(name))}
        place, pipe = self.told["directory"], asyncio.subprocess.PIPE
        folder = tempfile.mkdtemp(prefix="lockstep-", dir=self.worker.local_directory)
        self.out, self.head, self.jobs = pathlib.Path(folder), list[str](), dict[int, typing.Any]()
        try:
            with open(self.out / "errors", "wb") as errors:
                self.process = await asyncio.create_subprocess_exec(
                    script if script.exists() or installed is None else installed,
                    "serve",
                    stdin=pipe,
                    stdout=pipe,
                    stderr=errors,
                    env=kept,
                    cwd=place if os.path.isdir(place) else home,
                    start_new_session=True,
                    limit=1 << 26,
                )
            threads = self.worker.state.nthreads
            self.tell({"jobs": threads, **self.told, "out": str(self.out / "run")})
            while len(self.head) < HEAD:
                self.head.append((await self.process.stdout.readuntil()).decode())
        except OSError as error:
            await self.leave(f"Lockstep cannot be started there: {error}")
        except asyncio.IncompleteReadError:
            await self.leave((await self.ending()).rpartition("lockstep: ")[2])
        else:
            self.reading = asyncio.ensure_future(self.read())
            if self.name not in self.worker.state.total_resources:
                await self.worker.set_resources(**{self.name: WHOLE})
                # What no dask worker could take Dask gives to one that comes, or that goes on, but
                # not to one that gets a resource.
                if self.worker.status == Status.running:
                    self.worker.status = Status.paused
                    self.worker.status = Status.running
        return not self.left

    def tell(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")

    async def leave(self, why):
        """Is given nothing any more; what it has is begun elsewhere."""
        if not self.left:
            self.left = True
            self.finish({})
            if self.process and self.process.returncode is None:
                self.process.terminate()
            scheduler, address = self.worker.scheduler, self.worker.address
            await scheduler.set_resources(resources={self.name: 0}, worker=address)
            await scheduler.set_metadata(keys=[self.name, LEFT_OUT, address], value=why)

    async def execute(self, places):
        job = types.SimpleNamespace(left=len(places), lines=[], files={}, done=asyncio.Future())
        self.jobs.update(dict.fromkeys(places, job))
        self.tell({"places": places})
        return await job.done

    async def read(self):
        """Takes what Lockstep writes until it ends, and starts it again."""
        with contextlib.suppress(OSError, ValueError, LookupError):  # it was killed while it wrote
            async for line in self.process.stdout:
                record = json.loads(line)
                if record["type"] == "verdict":
                    self.take(line.decode(), record)
                else:
                    self.head.append(line.decode())
        why = await self.ending()
        self.finish({"of": self.worker.address, "lost": why})
        self.exits += 1
        if self.exits == MOST_EXITS:
            await self.leave(f"it ended {MOST_EXITS} times in a row: {why}")
        elif not self.left:
            self.ready = asyncio.ensure_future(self.begin())

    def take(self, line, verdict):
        self.exits = 0
        if not (job := self.jobs.pop(verdict["index"], None)):
            return
        for output in verdict.get("outputs", []):
            for name in output.get("tensors", []):
                job.files[name] = (self.out / "run" / name).read_bytes()
        job.lines.append(line)
        if len(job.lines) == job.left and not job.done.done():
            job.done.set_result(
                {"of": self.worker.address, "lines": self.head[1:] + job.lines, "files": job.files}
            )

    def finish(self, result):
        for job in self.jobs.values():
            if not job.done.done():
                job.done.set_result(result)

    async def ending(self):
        status = await self.process.wait()
        said = (self.out / "errors").read_bytes()[-2000:].decode("utf-8", "replace").strip()
        shutil.rmtree(self.out, ignore_errors=True)
        return f"its Lockstep ended with {status}: {said}"


class Ending(SchedulerPlugin):
    """On the scheduler: nothing remains of a run whose bridge is gone, however it went."""

    def __init__(self, run, client):
        self.name, self.run, self.client = f"{run}-ending", run, client

    def remove_client(self, scheduler, client):
        if client == self.client:
            scheduler.task_metadata.pop(self.run, None)
            self.task = asyncio.ensure_future(self.end(scheduler))

    async def end(self, scheduler):
        await scheduler.unregister_worker_plugin(None, self.run)
        scheduler.remove_plugin(self.name)


async def execute(run, key, places):
    """On a dask worker, a task: a chunk. A task that Dask begins a second time was lost with a
    machine, and must be alone now; an empty result: it has not been begun."""
    worker = get_worker()
    if earlier := await worker.scheduler.get_metadata(keys=[run, key], default=None):
        return {"of": earlier, "lost": GONE}
    member = worker.plugins.get(run)
    if not member or not await asyncio.shield(member.ready) or member.left:
        return {}
    await worker.scheduler.set_metadata(keys=[run, key], value=worker.address)
    return await member.execute(places)


async def leave_out(run, why, dask_worker=None):
    await dask_worker.plugins[run].leave(why)


def say(**message):
    print(json.dumps(message), flush=True)


def lose_scheduler(error):
    hint = "`run --resume DIR` goes on; DIR is the directory of this run"
    say(failed=f"its scheduler is lost: {error!r}", hint=hint)


def keep(directory, name, data):
    """Writes a tensor that a member has kept, at its name below `directory`, and nowhere else."""
    path = pathlib.PurePosixPath(name)
    if path.parts[:1] != ("tensors",) or len(path.parts) < 2 or ".." in path.parts:
        raise ValueError(f"a member names the file {name!r}, which is none of tensors/")
    target = pathlib.Path(directory, path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)


class Bridge:
    def __init__(self, client, begin):
        self.client, self.begin = client, begin
        self.run = f"lockstep-{uuid.uuid4().hex[:12]}"
        self.numbers, self.tasks = itertools.count(), []

    async def open(self):
        member = Member(self.run, self.begin["home"], self.begin["run"])
        await self.client.register_plugin(Ending(self.run, self.client.id))
        await self.client.register_plugin(member, name=self.run)

    async def watch(self):
        """Names the dask workers that are left out; ends where none that is there can be used."""
        named, usable = dict[str, str](), time.monotonic()
        while True:
            workers = (await self.client.scheduler.identity(n_workers=-1))["workers"]
            left_out = await self.client.get_metadata([self.run, LEFT_OUT], {})
            for address in left_out.keys() - named.keys():
                named[address] = f"{address} is left out: {left_out[address]}"
                say(note=named[address])
            if not workers or workers.keys() - named.keys():
                usable = time.monotonic()
            elif time.monotonic() - usable > (0 if "here" in self.begin["on"] else PATIENCE):
                why = "\n".join(named[address] for address in workers)
                say(failed="none of its machines can be used", hint=why)
                return
            await asyncio.sleep(1)

    async def follow(self, chunk, places, seconds, alone):
        """Has Dask execute a chunk, and tells how that ended."""
        how = {
            "resources": {
                self.run: WHOLE if alone else WHOLE // self.begin["run"].get("jobs", WHOLE)
            },
            "priority": 1 if alone else -chunk,
            "pure": False,
        }
        found: dict = {}
        while not found:
            # Dask expects of a task what others took whose keys begin with the same word.
            key = f"lockstep{int(seconds).bit_length()}-{next(self.numbers)}-{self.run}"
            future = self.client.submit(execute, self.run, key, places, key=key, **how)
            try:
                found = await future
            except Exception as error:
                if future.cancelled():
                    lose_scheduler(error)
                    return
                # Dask blames a lost machine on what only waited there, too.
                if at := await self.client.get_metadata([self.run, key], None):
                    known = isinstance(error, KilledWorker)
                    found = {"of": at, "lost": GONE if known else repr(error)}
        for name, data in found.pop("files", {}).items():
            try:
                keep(self.begin["directory"], name, data)
            except (OSError, ValueError) as error:
                say(note=f"cannot save tensors: {error}")
        say(chunk=chunk, **found)

    async def obey(self, lines):
        """Does what it is told until there is nobody to tell it."""
        while line := await lines.readline():
            told = json.loads(line)
            if "chunk" in told:
                work = self.follow(**told)
            else:
                at = {"workers": [told["leave_out"]], "on_error": "ignore"}
                work = self.client.run(leave_out, self.run, told["why"], **at)
            self.tasks.append(asyncio.ensure_future(work))


async def connect(on, folder):
    """A cluster of our own or None, and a client."""
    if "here" not in on:
        place = {"scheduler_file": on["file"]} if "file" in on else {"address": on["address"]}
        return None, await Client(**place, asynchronous=True, timeout=30)
    dask.config.set(IDLE)
    how = {"threads_per_worker": 1, "memory_limit": 0, "local_directory": folder}
    cluster = await LocalCluster(
        n_workers=on["workers"], dashboard_address=None, asynchronous=True, **how
    )
    return cluster, await Client(cluster, asynchronous=True)


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
            hint = "is it there, and of the same release of `distributed`? `ci/dask scheduler` "
            say(failed=f"no scheduler answers: {error}", hint=hint + "starts one")
            return
        bridge = Bridge(client, begin)
        await bridge.open()
        tasks = [asyncio.ensure_future(each) for each in (bridge.watch(), bridge.obey(lines))]
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if lost := done.pop().exception():
            lose_scheduler(lost)
        for task in [*tasks, *bridge.tasks]:
            task.cancel()
        for each in (client, cluster):
            with contextlib.suppress(Exception):
                await asyncio.wait_for(each.close(), 8)


if __name__ == "__main__":
    os.environ.setdefault("DASK_DISTRIBUTED__LOGGING__DISTRIBUTED", "error")
    asyncio.run(main())
