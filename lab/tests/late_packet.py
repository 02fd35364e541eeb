"""A packet reaches the kernel when the adapter has just been switched off: the adapter is still there afterwards."""
import asyncio
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

from bumble import hci  # noqa: E402

from radiolab import Lab  # noqa: E402


async def run() -> int:
    async with Lab() as lab:
        adapter = await lab.add_adapter()
        for power in ("on", "off", "on"):
            done = await asyncio.to_thread(subprocess.run, ["lab-fault", "adapter", power, adapter.name])
            if done.returncode:
                return 1
            if power == "off":
                late = hci.HCI_Disconnection_Complete_Event(status=0, connection_handle=1, reason=0x13)
                adapter.controller.send_hci_packet(late)
                await asyncio.sleep(0.1)
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(run()))
