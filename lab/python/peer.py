"""How every peer runs: its command line, its adapters for BlueZ, and its end."""
import argparse
import asyncio
import signal
import sys
from typing import Any, Awaitable, Callable, Coroutine

from bumble.core import BaseBumbleError

from edgecoder import add_radio_options, tell
from radiolab import Lab


class Failure(Exception):
    """A peer did not get what it waited for."""


def command_line(file: str, text: str | None) -> argparse.ArgumentParser:
    """A parser with the options of every peer."""
    parser = argparse.ArgumentParser(
        prog=file.rpartition("/")[2], description=text, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    add_radio_options(parser)
    return parser


async def add_adapters(lab: Lab, options: argparse.Namespace) -> None:
    """Gives BlueZ its adapters, and tells of them."""
    for _ in range(options.adapters):
        adapter = await lab.add_adapter()
        tell("adapter", name=adapter.name, address=adapter.address)


async def line() -> str:
    """The next line that is typed."""
    return await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)


async def serve(options: argparse.Namespace, begin: Callable[[Lab], Awaitable[list[asyncio.Task[Any]] | None]]) -> int:
    """Runs what `begin` starts until SIGTERM, SIGINT or the limit, and ends the tasks it returns. A task that fails ends
    it at once, with its error: whoever waits for the peer must not wait in vain."""
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with Lab(options) as lab:
        tasks = await begin(lab) or []
        for task in tasks:
            task.add_done_callback(lambda task: None if task.cancelled() or not task.exception() else stopped.set())
        try:
            await asyncio.wait_for(stopped.wait(), options.timeout)
        except TimeoutError:
            pass
        for task in tasks:
            task.cancel()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome
    return 0


async def judge(options: argparse.Namespace, work: Callable[[Lab], Awaitable[Any]]) -> int:
    """Does the work within the limit, and tells whether it passed."""
    problem = None
    async with Lab(options) as lab:
        try:
            await asyncio.wait_for(work(lab), options.timeout)
        except TimeoutError:
            problem = f"not done within {options.timeout:g} s"
        except (Failure, BaseBumbleError, asyncio.CancelledError) as error:
            problem = f"{type(error).__name__}: {error}"
    tell("result", passed=problem is None, problem=problem)
    return 0 if problem is None else 1


def main(run: Callable[[argparse.Namespace], Coroutine[Any, Any, int]], options: argparse.Namespace) -> None:
    sys.exit(asyncio.run(run(options)))
