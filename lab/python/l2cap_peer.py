"""A device with L2CAP channels, on Bumble, to test a central that is on BlueZ.

    lab/radio-lab run --no-btvirt -- sh -c 'PYTHON lab/python/l2cap_peer.py & the-central-under-test; kill $!; wait'

PYTHON is what `lab/radio-lab venv` prints. The program gives BlueZ an adapter, advertises SERVICE and listens on these
PSMs until SIGTERM, SIGINT or --timeout (exit code 0):

    0x80  sends every packet back
    0x81  the same, with one credit at a time and PDUs of 23 bytes: the least there can be
    0x82  sends ten packets, the fourth and the last of them empty, and closes at once
    0x83  opens a channel to the central, on the PSM that is the packet's first byte, and does there what 0x80 does
    0x84  is out of range from the first packet on
    0x85  refuses, because the link is not encrypted; and the peer does not pair

It prints JSON lines:

    {"event":"adapter","name":"hci0","address":"0A:0B:0C:0D:0E:00"}
    {"event":"advertising","name":"l2cap-lab","address":"FA:0B:00:7B:0C:01"}
    {"event":"opened","psm":128,"mtu":2048,"mps":247} {"event":"closed","psm":128,"packets":2,"bytes":512}
    {"event":"refused","psm":200,"problem":"..."}
"""
import argparse
import asyncio
import struct
from typing import Callable

from bumble import l2cap
from bumble.core import UUID, BaseBumbleError
from bumble.device import Connection, Device
from bumble.l2cap import LeCreditBasedChannel, LeCreditBasedChannelSpec
from bumble.pairing import PairingConfig, PairingDelegate

from edgecoder import tell
from peer import add_adapters, command_line, main, serve
from radiolab import Lab, advertise

SERVICE = UUID("c0c00002-c0c0-c0c0-c0c0-c0c0c0c00002")
NAME = "l2cap-lab"

Sink = Callable[[bytes], None]


class NoPairing(PairingDelegate):
    async def accept(self) -> bool:
        return False


class Peer:
    def __init__(self, device: Device, lab: Lab):
        self.device = device
        self.lab = lab

    async def start(self) -> None:
        self.listen(0x80, self.echo)
        self.listen(0x81, self.echo, mtu=3000, mps=23, max_credits=1)
        self.listen(0x82, self.farewell)
        self.listen(0x83, self.call_back)
        self.listen(0x84, self.vanish)
        self.refuse_without_encryption(0x85)
        self.device.pairing_config_factory = lambda connection: PairingConfig(delegate=NoPairing())
        self.device.on("connection", lambda connection: connection.on("disconnection", self.advertise_again))
        await advertise(self.device, NAME, SERVICE)
        tell("advertising", name=NAME, address=str(self.device.random_address))

    def advertise_again(self, _reason: int) -> None:
        asyncio.ensure_future(advertise(self.device, NAME, SERVICE))

    def listen(self, psm: int, serve: Callable[[LeCreditBasedChannel], Sink], **limits: int) -> None:
        spec = LeCreditBasedChannelSpec(psm=psm, **limits)
        self.device.create_l2cap_server(spec, lambda channel: self.attach(channel, serve(channel)))

    def refuse_without_encryption(self, psm: int) -> None:
        """Bumble's servers have no security of their own."""
        manager = self.device.l2cap_channel_manager
        accept = manager.on_l2cap_le_credit_based_connection_request
        answer = l2cap.L2CAP_LE_Credit_Based_Connection_Response

        def answer_request(
            connection: Connection, cid: int, request: l2cap.L2CAP_LE_Credit_Based_Connection_Request
        ) -> None:
            if request.le_psm != psm or connection.is_encrypted:
                return accept(connection, cid, request)
            refused = answer.Result.CONNECTION_REFUSED_INSUFFICIENT_ENCRYPTION
            manager.send_control_frame(
                connection, cid, answer(
                    identifier=request.identifier, destination_cid=0, mtu=0, mps=0, initial_credits=0, result=refused))  # fmt: skip

        manager.on_l2cap_le_credit_based_connection_request = answer_request

    def attach(self, channel: LeCreditBasedChannel, sink: Sink) -> None:
        tell("opened", psm=channel.psm, mtu=channel.peer_mtu, mps=channel.peer_mps)
        sizes: list[int] = []

        def count(packet: bytes) -> None:
            sizes.append(len(packet))
            sink(packet)

        def closed() -> None:
            # Bumble 0.0.236 forgets to forget a closed channel, and then refuses a new one with the number it had.
            channel.manager.le_coc_channels[channel.connection.handle].pop(channel.destination_cid, None)
            tell("closed", psm=channel.psm, packets=len(sizes), bytes=sum(sizes))

        channel.sink = count
        channel.on(channel.EVENT_CLOSE, closed)

    def echo(self, channel: LeCreditBasedChannel) -> Sink:
        return channel.write

    def farewell(self, channel: LeCreditBasedChannel) -> Sink:
        async def say() -> None:
            for number in range(10):
                packet = b"" if number in (3, 9) else bytes([number]) * 100
                # Bumble's own `write` joins packets and refuses empty ones.
                channel.send_pdu(struct.pack("<H", len(packet)) + packet)
                channel.credits -= 1
            await channel.disconnect()

        asyncio.ensure_future(say())
        return lambda packet: None

    def call_back(self, channel: LeCreditBasedChannel) -> Sink:
        async def call(psm: int) -> None:
            try:
                answer = await channel.connection.create_l2cap_channel(LeCreditBasedChannelSpec(psm=psm, mtu=700, mps=100))
                self.attach(answer, answer.write)
            except BaseBumbleError as error:
                tell("refused", psm=psm, problem=str(error))

        return lambda packet: asyncio.ensure_future(call(packet[0])) and None

    def vanish(self, channel: LeCreditBasedChannel) -> Sink:
        return lambda packet: asyncio.ensure_future(self.lab.lose_radio(0.2)) and None


async def run(options: argparse.Namespace) -> int:
    async def begin(lab: Lab) -> None:
        await add_adapters(lab, options)
        await Peer(await lab.add_device(NAME), lab).start()

    return await serve(options, begin)


if __name__ == "__main__":
    main(run, command_line(__file__, __doc__).parse_args())
