"""Adapters for BlueZ on one air, and nothing else: what `radio-lab run --radio bumble` starts instead of btvirt.

`lab-fault radio …` reaches this air. Runs until SIGTERM, SIGINT or --timeout.
"""
import argparse

from peer import add_adapters, command_line, main, serve


async def run(options: argparse.Namespace) -> int:
    return await serve(options, lambda lab: add_adapters(lab, options))


if __name__ == "__main__":
    line = command_line(__file__, __doc__)
    line.set_defaults(timeout=None)
    main(run, line.parse_args())
