"""A request for a link that the advertiser does not hear: the central is told that there is none."""
import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

from bumble import ll  # noqa: E402
from bumble.core import UUID  # noqa: E402
from bumble.hci import OwnAddressType  # noqa: E402

from radiolab import Lab, advertise, find  # noqa: E402

SERVICE = UUID("ec0d0001-ec0d-ec0d-ec0d-ec0d0001ec0d")


async def run() -> int:
    async with Lab() as lab:
        phone, central = await lab.add_device("phone"), await lab.add_device("central")
        await advertise(phone, "phone", SERVICE)
        send = lab.air.send_advertising_pdu
        lab.air.send_advertising_pdu = lambda sender, packet: isinstance(packet, ll.ConnectInd) or send(sender, packet)
        link = await central.connect(await find(central, SERVICE), own_address_type=OwnAddressType.RANDOM)
        ended = asyncio.get_running_loop().create_future()
        link.on("disconnection", ended.set_result)
        return 0 if await asyncio.wait_for(ended, 10) == 0x3E else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(run()))
