"""Leaves a daemon behind where it is imported: a process in a session of its own, whose parent is
gone, as a vendor's library starts one. LOCKSTEP_TEST_DAEMON is a file to which its number is added;
LOCKSTEP_TEST_HANG makes the execution hang then."""

import os
import time

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        null = os.open(os.devnull, os.O_RDWR)
        for fd in range(64):
            os.dup2(null, fd)
        with open(os.environ["LOCKSTEP_TEST_DAEMON"], "a", encoding="utf-8") as file:
            file.write(f"{os.getpid()}\n")
        os.execvp("sleep", ["sleep", "600"])
    os._exit(0)
os.wait()
if os.environ.get("LOCKSTEP_TEST_HANG"):
    time.sleep(600)
