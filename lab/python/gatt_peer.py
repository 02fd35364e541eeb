"""A device that offers every kind of attribute, on Bumble, to test a GATT client that is on BlueZ.

    lab/radio-lab run --no-btvirt -- sh -c 'PYTHON lab/python/gatt_peer.py & the-client-under-test; kill $!; wait'

PYTHON is what `lab/radio-lab venv` prints. The program gives BlueZ an adapter, advertises SERVICE until SIGTERM, SIGINT
or --timeout (exit code 0), and grants each link the next MTU of 247, 185, 247 …. SERVICE includes the secondary service
180f, and has these characteristics (ec0d02NN-…):

    02  two of them: readable, "first" and "second", each with a user description (2901), "one" and "two"
    03  read, write, reliable write; with a descriptor 13 that can be read and written
    04  indicate: "indicated" to whoever subscribes
    05  notify: "early" before the subscription is answered, "late" after it
    06  write without response
    07  readable, but refuses with the application's error 0x81

It prints JSON lines:

    {"event":"adapter","name":"hci0","address":"0A:0B:0C:0D:0E:00"}
    {"event":"advertising","name":"gatt-lab","address":"FA:0B:00:7B:0C:01"}
    {"event":"written","number":3,"size":300,"sum":4711}      what a write left there, and the sum of its bytes
    {"event":"confirmed"}                                     of the indication
"""
import argparse
import asyncio
from typing import Any

from bumble import att
from bumble.core import UUID
from bumble.device import Connection, Device
from bumble.gatt import (
    GATT_CHARACTERISTIC_EXTENDED_PROPERTIES_DESCRIPTOR, GATT_CHARACTERISTIC_USER_DESCRIPTION_DESCRIPTOR, Characteristic,
    CharacteristicValue, Descriptor, Service)  # fmt: skip

from edgecoder import tell
from peer import add_adapters, command_line, main, serve
from radiolab import Lab, advertise

NAME = "gatt-lab"
MTUS = [247, 185]
FLAG, MAY = Characteristic.Properties, Characteristic.Permissions


def uuid(number: int) -> UUID:
    return UUID(f"ec0d02{number:02x}-ec0d-ec0d-ec0d-ec0d02{number:02x}ec0d")


SERVICE = uuid(1)


class Stored:
    """A value that can be read and written."""

    def __init__(self, number: int):
        self.number, self.value = number, bytes([number])

    def access(self) -> CharacteristicValue[bytes]:
        return CharacteristicValue(read=lambda _: self.value, write=self.write)

    def write(self, _: Connection, value: bytes) -> None:
        self.value = value
        tell("written", number=self.number, size=len(value), sum=sum(value))


def refuse(_: Connection) -> bytes:
    raise att.ATT_Error(error_code=0x81)


def described(value: bytes, text: bytes) -> Characteristic[Any]:
    description = Descriptor(GATT_CHARACTERISTIC_USER_DESCRIPTION_DESCRIPTOR, MAY.READABLE, text)
    return Characteristic(uuid(2), FLAG.READ, MAY.READABLE, value, [description])


class Peer:
    def __init__(self, device: Device):
        self.device = device
        self.links = 0
        both = MAY.READABLE | MAY.WRITEABLE
        reliable = Descriptor(GATT_CHARACTERISTIC_EXTENDED_PROPERTIES_DESCRIPTOR, MAY.READABLE, bytes([1, 0]))
        note = Descriptor(uuid(0x13), both, Stored(0x13).access())
        self.indicating = Characteristic(uuid(4), FLAG.INDICATE, MAY.READABLE, b"")
        self.notifying = Characteristic(uuid(5), FLAG.NOTIFY, MAY.READABLE, b"")
        self.indicating.on(Characteristic.EVENT_SUBSCRIPTION, self.indicate)
        self.notifying.on(Characteristic.EVENT_SUBSCRIPTION, self.notify)
        battery = Service("180f", [Characteristic("2a19", FLAG.READ, MAY.READABLE, bytes([87]))], primary=False)
        stored = FLAG.READ | FLAG.WRITE | FLAG.EXTENDED_PROPERTIES
        device.add_service(battery)
        device.add_service(
            Service(
                SERVICE,
                [
                    described(b"first", b"one"),
                    described(b"second", b"two"),
                    Characteristic(uuid(3), stored, both, Stored(3).access(), [reliable, note]),
                    self.indicating,
                    self.notifying,
                    Characteristic(uuid(6), FLAG.WRITE_WITHOUT_RESPONSE, MAY.WRITEABLE, Stored(6).access()),
                    Characteristic(uuid(7), FLAG.READ, MAY.READABLE, CharacteristicValue(read=refuse)),
                ],
                included_services=[battery],
            )
        )

    async def start(self) -> None:
        self.device.on("connection", lambda link: link.on("disconnection", self.advertise_again))
        await self.advertise()
        tell("advertising", name=NAME, address=str(self.device.random_address))

    async def advertise(self) -> None:
        self.device.gatt_server.max_mtu = MTUS[self.links % len(MTUS)]
        self.links += 1
        await advertise(self.device, NAME, SERVICE)

    def advertise_again(self, _reason: int) -> None:
        asyncio.ensure_future(self.advertise())

    def indicate(self, link: Connection, _notify: bool, on: bool) -> None:
        async def send() -> None:
            await self.device.gatt_server.indicate_subscriber(link, self.indicating, b"indicated")
            tell("confirmed")

        if on:
            asyncio.ensure_future(send())

    def notify(self, link: Connection, on: bool, _indicate: bool) -> None:
        def send(value: bytes) -> None:
            pdu = att.ATT_Handle_Value_Notification(attribute_handle=self.notifying.handle, attribute_value=value)
            self.device.gatt_server.send_gatt_pdu(link, bytes(pdu))

        if on:
            send(b"early")
            asyncio.get_running_loop().call_later(0.2, send, b"late")


async def run(options: argparse.Namespace) -> int:
    async def begin(lab: Lab) -> None:
        await add_adapters(lab, options)
        await Peer(await lab.add_device(NAME)).start()

    return await serve(options, begin)


if __name__ == "__main__":
    main(run, command_line(__file__, __doc__).parse_args())
