#!/usr/bin/env python3
"""Runs Lockstep on jobs of SLURM: submits dask workers by dask-jobqueue, runs on them, and cancels
them in the end.

    ci/dask python ci/recipes/slurm.py --nodes 8 --cores 8 --memory 16GB [--partition P] [--walltime
    T] -- RUN…

RUN… goes to `ci/lockstep run`. --dry-run prints the script of a job, and submits nothing. The
checkout has to be on a path that the nodes share (docs/release/cluster.md)."""

import argparse
import os
import pathlib
import subprocess
import sys

from dask_jobqueue import SLURMCluster

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--nodes", type=int, default=1, help="jobs, each of which is one dask worker"
    )
    parser.add_argument(
        "--cores", type=int, required=True, help="of each: so many executions at a time"
    )
    parser.add_argument("--memory", required=True, help="of each, such as 16GB")
    parser.add_argument("--partition")
    parser.add_argument("--walltime", default="04:00:00")
    parser.add_argument(
        "--interface",
        help="the network interface on which the nodes reach this machine, such as ib0",
    )
    parser.add_argument("--dry-run", action="store_true", help="print the script of a job")
    parser.add_argument("run", nargs="*", metavar="RUN", help="what `ci/lockstep run` is given")
    given = parser.parse_args()
    home = pathlib.Path(os.environ.get("LOCKSTEP_HOME") or ROOT)
    with SLURMCluster(
        queue=given.partition,
        cores=given.cores,
        processes=1,
        memory=given.memory,
        walltime=given.walltime,
        interface=given.interface,
        python=sys.executable,
        job_name="lockstep",
        nanny=False,
        # Lockstep contains what it executes; what Dask would do to a worker that is short of memory
        # is of no use.
        worker_extra_args=["--memory-limit", "0"],
        job_script_prologue=[f"export LOCKSTEP_HOME={home}"],
        scheduler_options={"dashboard_address": None},
    ) as cluster:
        if given.dry_run:
            print(cluster.job_script())
            return 0
        cluster.scale(jobs=given.nodes)
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        return subprocess.run(
            [home / "ci" / "lockstep", "run", "--on", address, *given.run]
        ).returncode


if __name__ == "__main__":
    sys.exit(main())
