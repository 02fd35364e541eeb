"""A controller that is reset while it has a link and advertises: the other end is told, and nobody hears it any more."""
import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

from bumble.core import UUID  # noqa: E402
from bumble.hci import HCI_Reset_Command, OwnAddressType  # noqa: E402

from radiolab import SUPERVISION_TIMEOUT, Lab, advertise, find  # noqa: E402

SERVICE = UUID("ec0d0001-ec0d-ec0d-ec0d-ec0d0001ec0d")


async def run() -> int:
    async with Lab() as lab:
        phone, central = await lab.add_device("phone"), await lab.add_device("central")
        await advertise(phone, "phone", SERVICE)
        link = await central.connect(await find(central, SERVICE), own_address_type=OwnAddressType.RANDOM)
        ended = asyncio.get_running_loop().create_future()
        link.on("disconnection", ended.set_result)
        await advertise(phone, "phone", SERVICE)
        await phone.send_sync_command(HCI_Reset_Command())
        if await asyncio.wait_for(ended, 10) != SUPERVISION_TIMEOUT:
            return 1
        try:
            await asyncio.wait_for(find(central, SERVICE), 0.5)
        except TimeoutError:
            return 0
        return 2


if __name__ == "__main__":
    sys.exit(asyncio.run(run()))
