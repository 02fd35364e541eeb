"""Adapters for BlueZ on one air, and nothing else: what `radio-lab run --radio bumble` starts instead of btvirt.

`lab-fault radio …` reaches this air. Runs until SIGTERM, SIGINT or --timeout.
"""
import argparse
import asyncio
import signal
import sys

from edgecoder import add_radio_options, tell
from radiolab import Lab


async def run(options: argparse.Namespace) -> int:
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with Lab(options) as lab:
        for _ in range(options.adapters):
            adapter = await lab.add_adapter()
            tell("adapter", name=adapter.name, address=adapter.address)
        try:
            await asyncio.wait_for(stopped.wait(), options.timeout)
        except TimeoutError:
            pass
    return 0


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="air.py", description=__doc__, allow_abbrev=False)
    add_radio_options(parser)
    parser.set_defaults(timeout=None)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(asyncio.run(run(parse(sys.argv[1:]))))
