"""Threads that make calls of a program in the place of the one that asks for them."""

import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch


def new_thread() -> ThreadPoolExecutor:
    """A thread that does what is submitted to it, until this is left."""
    # The count: else OpenMP has in each new thread as many as there are cores.
    return ThreadPoolExecutor(1, initializer=torch.get_num_threads)


def done_by(thread: ThreadPoolExecutor, function: Callable[[], Any]) -> Any:
    """What `function` returns, or raises, in a thread."""
    # torch keeps its configuration for each context of Python's, and a thread begins with an empty
    # one: what a path sets is to hold there, too.
    return thread.submit(contextvars.copy_context().run, function).result()


def by_another_thread(function: Callable[[], Any]) -> Any:
    """What `function` returns, or raises, in a new thread, which has ended then."""
    with new_thread() as thread:
        return done_by(thread, function)
