"""A peer whose work fails when it has begun."""
import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

from peer import command_line, main, serve  # noqa: E402
from radiolab import Lab  # noqa: E402


async def fail() -> None:
    await asyncio.sleep(0.1)
    raise ValueError("nobody is there")


async def begin(_: Lab) -> list[asyncio.Task[None]]:
    return [asyncio.create_task(fail())]


if __name__ == "__main__":
    main(lambda options: serve(options, begin), command_line(__file__, __doc__).parse_args())
