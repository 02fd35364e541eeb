"""Both EdgeCoder peers on one air, without BlueZ, kernel or guest: `peer_pair.py PHONE OPTIONS -- CENTRAL OPTIONS`.

Runs with the interpreter of `radio-lab venv`. Exit code and last line are the central's.
"""
import asyncio
import sys
from pathlib import Path
from typing import Callable

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

import edgecoder_central  # noqa: E402
import edgecoder_phone  # noqa: E402
from peer import judge  # noqa: E402
from radiolab import Lab  # noqa: E402


async def pair(phone_options: list[str], central_options: list[str], prepare: Callable[[Lab], None] = lambda _: None) -> int:
    of_phone, of_central = edgecoder_phone.parse(phone_options), edgecoder_central.parse(central_options)

    async def work(lab: Lab) -> None:
        prepare(lab)
        phone = edgecoder_phone.Phone(0, await lab.add_device("phone", of_phone.mtu), of_phone)
        await phone.start()
        serving = asyncio.create_task(phone.serve())
        try:
            await edgecoder_central.ask(lab, of_central)
        finally:
            serving.cancel()

    return await judge(of_central, work)


if __name__ == "__main__":
    border = sys.argv.index("--")
    sys.exit(asyncio.run(pair(sys.argv[1:border], sys.argv[border + 1 :])))
