"""A central on Bumble that states the identity of another device while it pairs with a closed phone on BlueZ.

    lab/radio-lab run --no-btvirt -- sh -c 'PYTHON lab/python/edgecoder_impostor.py 00:AA:01:00:00:99 & the-phone-under-test --adapter hci0; wait'

PYTHON is what `lab/radio-lab venv` prints. The program gives BlueZ its adapters (named in its first lines of output) and
pairs with a phone by Just Works as soon as somebody lets it. It uses resolvable private addresses, so that Linux and
bluetoothd take the address that it states in the Security Manager's Identity Address Information for its own. After each
line on standard input it connects, encrypts the connection with its key and asks, until `over`. It prints JSON lines:

    {"event":"adapter","name":"hci0","address":"0A:0B:0C:0D:0E:00"}
    {"event":"paired"}
    {"event":"asked","output":"hello"}                          or "refused" with the problem

Exit code 0 if it came that far, 1 if not (the last line, "result", says why), 2 for wrong usage.
"""
import argparse
import asyncio
import secrets

from bumble.core import BaseBumbleError
from bumble.device import Device
from bumble.hci import Address, HCI_LE_Set_Random_Address_Command, OwnAddressType
from bumble.keys import MemoryKeyStore
from bumble.pairing import PairingConfig

from edgecoder import SERVICE, tell
from edgecoder_pairer import STEP_LIMIT, use
from peer import add_adapters, command_line, judge, line, main
from radiolab import Lab, find


async def hide(device: Device) -> None:
    """Another address, which the device's key resolves."""
    address = Address.generate_private_address(device.irk)
    await device.send_sync_command(HCI_LE_Set_Random_Address_Command(random_address=address))
    device.random_address = address


async def pair(device: Device) -> None:
    """Pairs; until a user agrees, the phone refuses and ends the connection."""
    while True:
        await hide(device)
        connection = await device.connect(await find(device, SERVICE), own_address_type=OwnAddressType.RANDOM)
        try:
            await asyncio.wait_for(connection.pair(), STEP_LIMIT)
            return
        except (BaseBumbleError, TimeoutError, asyncio.CancelledError):
            await asyncio.sleep(1)
        finally:
            await leave(device)


async def leave(device: Device) -> None:
    """Ends the connection, unless the phone was first."""
    for connection in list(device.connections.values()):
        try:
            await connection.disconnect()
        except BaseBumbleError:
            pass


async def ask(device: Device) -> None:
    await hide(device)
    try:
        connection = await device.connect(await find(device, SERVICE), own_address_type=OwnAddressType.RANDOM)
        await asyncio.wait_for(connection.encrypt(), STEP_LIMIT)
        output = await asyncio.wait_for(use(connection), STEP_LIMIT)
    except (BaseBumbleError, IndexError, TimeoutError, asyncio.CancelledError) as error:
        tell("asked", refused=getattr(error, "error_name", "") or type(error).__name__)
    else:
        tell("asked", output=output)
    await leave(device)


async def be_impostor(device: Device, claimed: str) -> None:
    device.irk = secrets.token_bytes(16)
    device.keystore = MemoryKeyStore()
    device.public_address = Address(claimed, Address.PUBLIC_DEVICE_ADDRESS)
    device.pairing_config_factory = lambda _: PairingConfig(
        sc=True, mitm=False, bonding=True, identity_address_type=PairingConfig.AddressType.PUBLIC)  # fmt: skip
    await pair(device)
    tell("paired")
    while (await line()).strip() != "over":
        await ask(device)


async def run(options: argparse.Namespace) -> int:
    async def work(lab: Lab) -> None:
        await add_adapters(lab, options)
        await be_impostor(await lab.add_device("impostor"), options.claimed)

    return await judge(options, work)


if __name__ == "__main__":
    parser = command_line(__file__, __doc__)
    parser.add_argument("claimed", metavar="ADDRESS", help="the public address that it states")
    main(run, parser.parse_args())
