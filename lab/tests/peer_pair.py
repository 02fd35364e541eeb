"""Both EdgeCoder peers on one air, without BlueZ, kernel or guest: `peer_pair.py PHONE OPTIONS -- CENTRAL OPTIONS`.

Runs with the interpreter of `radio-lab venv`. Exit code and last line are the central's.
"""
import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

import edgecoder_central  # noqa: E402
import edgecoder_phone  # noqa: E402
from bumble.core import BaseBumbleError  # noqa: E402
from radiolab import Lab  # noqa: E402


async def pair(phone_options: list[str], central_options: list[str]) -> int:
    of_phone, of_central = edgecoder_phone.parse(phone_options), edgecoder_central.parse(central_options)
    async with Lab(of_central) as lab:
        phone = edgecoder_phone.Phone(0, await lab.add_device("phone", of_phone.mtu), of_phone)
        await phone.start()
        serving = asyncio.ensure_future(phone.serve())
        work = [
            edgecoder_central.Central(index, await lab.add_device(f"central-{index}", of_central.mtu), lab, of_central).work()
            for index in range(of_central.centrals)
        ]
        try:
            await asyncio.wait_for(asyncio.gather(*work), of_central.timeout)
        except TimeoutError:
            return edgecoder_central.end("not done in time")
        except (edgecoder_central.Failure, BaseBumbleError) as error:
            return edgecoder_central.end(str(error))
        finally:
            serving.cancel()
    return edgecoder_central.end(None)


if __name__ == "__main__":
    border = sys.argv.index("--")
    sys.exit(asyncio.run(pair(sys.argv[1:border], sys.argv[border + 1 :])))
