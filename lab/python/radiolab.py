"""Virtual Bluetooth LE radios made of Bumble, with faults.

    async with Lab() as lab:
        adapter = await lab.add_adapter()            # BlueZ on this machine sees a new hciN (through /dev/vhci)
        phone = await lab.add_device("phone")        # a Bumble Device on the same air, in this process
        ...
        lab.air.bytes_per_second = 20_000            # slow radio
        await lab.lose_radio(supervision_timeout=2)  # radio loss

Inside the lab, `lab-fault radio …` reaches every such air too.

Runs with the interpreter that `lab/radio-lab venv` prints, as root, inside `lab/radio-lab run` (only `add_adapter` needs
that: devices alone run anywhere). Beside btvirt's controllers these are further adapters on an air of their own; with
`--no-btvirt` they are the only ones.
"""
import argparse
import asyncio
import dataclasses
import errno
import os
from pathlib import Path
from typing import Any, Callable

from bumble import core, hci, ll
from bumble.controller import Connection, Controller, LegacyAdvertiser
from bumble.core import AdvertisingData
from bumble.device import Device, DeviceConfiguration
from bumble.hci import Address
from bumble.host import Host
from bumble.link import LocalLink
from bumble.transport import open_transport

SUPERVISION_TIMEOUT = hci.HCI_ErrorCode.CONNECTION_TIMEOUT_ERROR
ESTABLISHMENT_LIMIT = 0.06  # six connection intervals of 10 ms
POWER, MOST_POWER = 4, 10  # dBm
VHCI_LIMIT = 10
GUEST_STATE = Path("/run/radio-lab")  # exists inside the lab only; see guest/daemons.sh


class Air(LocalLink):
    """What is between the radios.

    `bytes_per_second` and `latency` (seconds one way) slow it down; a controller gives its host no new credits for what
    has not been sent yet, so a slow air pushes back on the host as a real one does. `silent` holds everything up without
    telling anyone, as radio loss does until the supervision timeout.
    """

    def __init__(self) -> None:
        super().__init__()
        self.bytes_per_second: float | None = None
        self.latency = 0.0
        self._silent = False
        self._held: list[Callable[[], None]] = []

    @property
    def silent(self) -> bool:
        return self._silent

    @silent.setter
    def silent(self, silent: bool) -> None:
        self._silent = silent
        if not silent:
            held, self._held = self._held, []
            for deliver in held:
                deliver()

    def time_out(self) -> None:
        """The supervision timeout of every link at once. Bumble's controllers have none of their own."""
        self._held.clear()
        for controller in self.controllers:
            for connection in list(controller.le_connections.values()):
                controller.on_le_disconnected(connection, SUPERVISION_TIMEOUT)

    def claim(self, advertiser: Address) -> bool:
        """Whether a connection to `advertiser` is to be had: of several centrals that hear one advertisement, the first
        one gets it. Bumble's controllers all believe they did, and the losers' links lead nowhere."""
        for controller in self.controllers:
            advertising = controller.le_legacy_advertiser
            if advertising.enabled and advertising.address == advertiser and not advertising.claimed:
                advertising.claimed = True
                return True
        return False

    def release(self, advertiser: Address) -> None:
        """It never heard who claimed it: the others may connect again."""
        for controller in self.controllers:
            if controller.le_legacy_advertiser.address == advertiser:
                controller.le_legacy_advertiser.claimed = False

    def when_audible(self, deliver: Callable[[], None]) -> None:
        """Now, or when silence ends before the links time out: a link layer repeats what was not acknowledged."""
        if self._silent:
            self._held.append(deliver)
        else:
            deliver()

    def send_acl_data(
        self, sender_controller: Controller, destination_address: Address, transport: core.PhysicalTransport, data: bytes
    ) -> None:
        """Bumble 0.0.236 always names the sender's random address as the source, so that data of a BlueZ adapter, which
        connects with its public one, finds no connection at the receiver. The address in use is the connection's."""
        receiver = self.find_le_controller(destination_address)
        connection = sender_controller.le_connections.get(destination_address)
        if receiver and connection:
            asyncio.get_running_loop().call_soon(receiver.on_link_acl_data, connection.self_address, transport, data)

    def send_advertising_pdu(self, sender_controller: Controller, packet: ll.AdvertisingPdu) -> None:
        if not self._silent:
            super().send_advertising_pdu(sender_controller, packet)

    def send_ll_control_pdu(self, sender_address: Address, receiver_address: Address, packet: ll.ControlPdu) -> None:
        self.when_audible(lambda: super(Air, self).send_ll_control_pdu(sender_address, receiver_address, packet))


@dataclasses.dataclass
class Advertisement(ll.AdvInd):
    """An advertisement with what Bumble's own leaves out: the scan response, and how well it is heard."""

    scan_response: bytes = b""
    rssi: int = -50


class Advertiser(LegacyAdvertiser):
    claimed = False

    def start(self) -> None:
        self.claimed = False
        super().start()

    def send_advertising_data(self) -> None:
        if self.enabled:
            packet = Advertisement(self.address, self.advertising_data, self.scan_response_data, self.controller.rssi)
            self.controller.send_advertising_pdu(packet)

    def _on_timer_fired(self) -> None:
        self.send_advertising_data()
        interval = self.advertising_interval_min * 0.625 / 1000  # Bumble takes the field for milliseconds
        self.timer_handle = asyncio.get_running_loop().call_later(interval, self._on_timer_fired)


class LabController(Controller):
    """A Bluetooth 4 LE controller.

    Bumble's own offers LL Privacy and extended advertising but answers LE Create Connection with the plain event only.
    Linux 6.1 then waits 4 s for the enhanced one, cancels, and can never disconnect that link. Offering neither, it is
    a controller that the kernel understands in both roles.
    """

    le_features = Controller.le_features & ~(
        hci.LeFeatureMask.LL_PRIVACY
        | hci.LeFeatureMask.LE_EXTENDED_ADVERTISING
        | hci.LeFeatureMask.LE_PERIODIC_ADVERTISING
    )
    le_acl_data_packet_length = 251  # with Bumble's 27 a 512-byte notification takes twenty packets through Python

    def __init__(self, air: Air, name: str, public_address: str, rssi: int, **transport: Any) -> None:
        super().__init__(name, link=air, public_address=public_address, **transport)
        self.air = air
        self.rssi = rssi
        self.le_legacy_advertiser = Advertiser(self)
        self._sent_until = 0.0

    def on_hci_reset_command(self, command: hci.HCI_Reset_Command) -> hci.HCI_StatusReturnParameters:
        """Bumble's own keeps its links and goes on advertising. A central that asked for a link while Linux closed the
        adapter then had one that leads nowhere; on a real air it ends with the supervision timeout."""
        self.le_legacy_advertiser.stop()
        self.le_scan_enable = False
        self.pending_le_connection = None
        links, self.le_connections = self.le_connections, {}
        for link in links.values():
            other = self.air.find_le_controller(link.peer_address)
            if other and (theirs := other.le_connections.get(link.self_address)):
                other.on_le_disconnected(theirs, SUPERVISION_TIMEOUT)
        return super().on_hci_reset_command(command)

    def on_hci_acl_data_packet(self, packet: hci.HCI_AclDataPacket) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        on_air = packet.data_total_length / self.air.bytes_per_second if self.air.bytes_per_second else 0
        # Strictly later than the packet before: the loop does not order timers of the same time.
        self._sent_until = max(now + self.air.latency + on_air, self._sent_until + on_air + 1e-6)
        send = super().on_hci_acl_data_packet
        if self._sent_until - now < 1e-3:
            self.air.when_audible(lambda: send(packet))
        else:
            loop.call_at(self._sent_until, self.air.when_audible, lambda: send(packet))

    def on_advertising_pdu(self, pdu: ll.AdvertisingPdu) -> None:
        reports = hci.HCI_LE_Advertising_Report_Event
        if self.le_scan_enable and isinstance(pdu, Advertisement):
            self._report(reports.EventType.ADV_IND, pdu, pdu.data)
            if self.le_scan_type == hci.HCI_LE_Set_Scan_Parameters_Command.ACTIVE_SCANNING:
                self._report(reports.EventType.SCAN_RSP, pdu, pdu.scan_response)
        pending = self.pending_le_connection
        if pending and pending.peer_address == pdu.advertiser_address and self.air.claim(pdu.advertiser_address):
            self.create_le_connection(pdu.advertiser_address)

    def create_le_connection(self, peer_address: Address) -> None:
        """Bumble's controller has a link from the moment it asks for one, also when the advertiser has just stopped."""
        super().create_le_connection(peer_address)
        if link := self.le_connections.get(peer_address):
            asyncio.get_running_loop().call_later(ESTABLISHMENT_LIMIT, self._end_if_one_sided, link)

    def _end_if_one_sided(self, link: Connection) -> None:
        other = self.air.find_le_controller(link.peer_address)
        if self.le_connections.get(link.peer_address) is link and not (other and link.self_address in other.le_connections):
            self.air.release(link.peer_address)
            self.on_le_disconnected(link, hci.HCI_ErrorCode.CONNECTION_FAILED_TO_BE_ESTABLISHED_ERROR)

    def _report(self, kind: int, heard: Advertisement, data: bytes) -> None:
        address = heard.advertiser_address
        report = hci.HCI_LE_Advertising_Report_Event.Report(
            event_type=kind, address_type=address.address_type, address=address, data=data, rssi=heard.rssi)  # fmt: skip
        self.send_hci_packet(hci.HCI_LE_Advertising_Report_Event([report]))

    def on_hci_read_rssi_command(self, command: hci.HCI_Read_RSSI_Command) -> hci.HCI_StatusReturnParameters:
        """Bumble's own lists this command and does not know it. A link is heard as well as the peer's advertisements."""
        link = self.find_le_connection_by_handle(command.handle)
        peer = self.air.find_le_controller(link.peer_address) if link else None
        if not isinstance(peer, LabController):
            return hci.HCI_StatusReturnParameters(hci.HCI_ErrorCode.UNKNOWN_CONNECTION_IDENTIFIER_ERROR)
        return hci.HCI_Read_RSSI_ReturnParameters(
            status=hci.HCI_ErrorCode.SUCCESS, handle=command.handle, rssi=peer.rssi)  # fmt: skip

    def on_hci_read_transmit_power_level_command(self, command: hci.HCI_Command) -> None:
        """Bumble's own lists this command, too, and has no type for it: a handle, and 0 for the power now or 1 for the
        largest one."""
        handle, kind = command.parameters[:2], command.parameters[2]
        level = MOST_POWER if kind else POWER
        reply = hci.HCI_GenericReturnParameters(data=bytes([hci.HCI_ErrorCode.SUCCESS]) + handle + bytes([level]))
        self.send_hci_packet(
            hci.HCI_Command_Complete_Event(
                num_hci_command_packets=1, command_opcode=command.op_code, return_parameters=reply))  # fmt: skip

    def on_hci_le_create_connection_cancel_command(
        self, command: hci.HCI_LE_Create_Connection_Cancel_Command
    ) -> hci.HCI_StatusReturnParameters:
        """Bumble's controller forgets to forget: after a cancelled attempt it refuses every further one."""
        pending, self.pending_le_connection = self.pending_le_connection, None
        if not pending:
            return hci.HCI_StatusReturnParameters(hci.HCI_ErrorCode.COMMAND_DISALLOWED_ERROR)
        cancelled = hci.HCI_LE_Connection_Complete_Event(
            status=hci.HCI_ErrorCode.UNKNOWN_CONNECTION_IDENTIFIER_ERROR, connection_handle=0, role=hci.Role.CENTRAL,
            peer_address_type=pending.peer_address_type, peer_address=pending.peer_address, connection_interval=0,
            peripheral_latency=0, supervision_timeout=0, central_clock_accuracy=0)  # fmt: skip
        asyncio.get_running_loop().call_soon(self.send_hci_packet, cancelled)
        return hci.HCI_StatusReturnParameters(hci.HCI_ErrorCode.SUCCESS)


class HostSink:
    """Hands the kernel what the controller says. The kernel refuses what comes when it has just closed the adapter; a real
    controller does not notice, and Bumble's own sink would take the adapter away."""

    def __init__(self, file: int) -> None:
        self.file = file

    def on_packet(self, packet: bytes) -> None:
        try:
            os.write(self.file, packet)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise


@dataclasses.dataclass(frozen=True)
class Adapter:
    """A controller that this machine's BlueZ drives."""

    name: str
    address: str
    controller: LabController

    async def switch_off(self) -> None:
        """As a person would before pulling it: Linux 6.1 does not always survive an adapter that goes while it has links,
        or just had some. Without a bluetoothd that could do it, it is pulled all the same."""
        command = ["lab-fault", "adapter", "off", self.name]
        fault = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.DEVNULL)
        await fault.wait()


class Lab:
    """Radios on one air. Leaving the `async with` block takes the adapters away from BlueZ.

    `options` may be what `edgecoder.add_radio_options` parsed: the air begins as slow as they say.
    """

    def __init__(self, options: argparse.Namespace | None = None) -> None:
        self.air = Air()
        if options:
            self.air.bytes_per_second = options.slow_radio
            self.air.latency = options.latency
        self._adapters: list[tuple[Adapter, Any]] = []
        self._devices = 0
        self._faults = FaultPipe(self)

    async def __aenter__(self) -> "Lab":
        self._faults.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._faults.close()
        for adapter, transport in self._adapters:
            await adapter.switch_off()
            await transport.close()

    async def add_adapter(self, rssi: int = -50) -> Adapter:
        """A new hciN for BlueZ. It shows up on D-Bus a little later, and answers Busy for its first half second."""
        transport = await open_transport("vhci:/dev/vhci")
        sink = HostSink(transport.sink.transport.get_extra_info("pipe").fileno())
        controller = LabController(
            self.air, "adapter", "00:00:00:00:00:00", rssi, host_source=transport.source, host_sink=sink)  # fmt: skip
        number = asyncio.get_running_loop().create_future()
        pass_on = transport.source.data_received

        def listen(data: bytes) -> None:
            # The kernel's first answer is a packet of the vendor's kind: type, opcode, number of the new adapter. It comes
            # before the kernel asks for the address, which then stays the same when the adapter is taken away and returns.
            if data[0] == 0xFF and len(data) == 4 and not number.done():
                number.set_result(int.from_bytes(data[2:4], "little"))
                # Pairing signs addresses with their kinds, and Bumble takes a bare string for a random one.
                address = f"0A:0B:0C:0D:0E:{number.result():02X}"
                controller.public_address = Address(address, Address.PUBLIC_DEVICE_ADDRESS)
            pass_on(data)

        transport.source.data_received = listen
        await asyncio.wait_for(number, VHCI_LIMIT)
        adapter = Adapter(f"hci{number.result()}", str(controller.public_address).removesuffix("/P"), controller)
        self._adapters.append((adapter, transport))
        return adapter

    async def add_device(
        self, name: str, mtu: int | None = None, rssi: int = -50, random: str | None = None, public: str | None = None
    ) -> Device:
        """A powered-on Bumble device with a random static address, or with addresses that are chosen. `mtu` caps what it
        grants as a GATT server."""
        # BlueZ remembers devices: those of another process must not pass for these.
        process = os.getpid() & 0xFFFF
        self._devices += 1
        address = random or f"FA:0B:{process >> 8:02X}:{process & 0xFF:02X}:0C:{self._devices:02X}"
        controller = LabController(self.air, name, public or "0A" + address[2:], rssi)
        host = Host()
        host.controller = controller
        configuration = DeviceConfiguration()
        configuration.name = name
        configuration.address = Address(address)  # its two top bits make it a static one
        device = Device(config=configuration, host=host)
        if mtu:
            device.gatt_server.max_mtu = mtu
        await device.power_on()
        return device

    async def lose_radio(self, supervision_timeout: float = 1.0) -> None:
        """Silence, then every link times out, then the air is clear again."""
        self.air.silent = True
        await asyncio.sleep(supervision_timeout)
        self.air.time_out()
        self.air.silent = False


class FaultPipe:
    """How `lab-fault radio …` reaches this process: a named pipe with one command on each line."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.path = GUEST_STATE / f"air-{os.getpid()}"
        self.descriptor: int | None = None

    def open(self) -> None:
        if not GUEST_STATE.is_dir():
            return
        os.mkfifo(self.path)
        # Open for writing as well: otherwise the pipe ends with its first writer.
        self.descriptor = os.open(self.path, os.O_RDWR | os.O_NONBLOCK)
        asyncio.get_running_loop().add_reader(self.descriptor, self._read)

    def close(self) -> None:
        if self.descriptor is not None:
            self.path.unlink()
            asyncio.get_running_loop().remove_reader(self.descriptor)
            os.close(self.descriptor)

    def _read(self) -> None:
        assert self.descriptor is not None
        for line in os.read(self.descriptor, 4096).decode(errors="replace").splitlines():
            self._obey(*line.split())

    def _obey(self, command: str = "", value: str = "0") -> None:
        """lab-fault has checked what it sends."""
        air = self.lab.air
        match command:
            case "loss":
                asyncio.ensure_future(self.lab.lose_radio(float(value)))
            case "silent":
                air.silent = True
            case "slow":
                air.bytes_per_second = float(value)
            case "latency":
                air.latency = float(value)
            case "clear":
                air.bytes_per_second, air.latency, air.silent = None, 0.0, False


async def advertise(device: Device, name: str, service: core.UUID, interval_ms: float = 100) -> None:
    """Advertise `service`, with the name in the scan response: 31 bytes hold no 128-bit UUID and a long name."""
    flags = AdvertisingData.Flags.LE_GENERAL_DISCOVERABLE_MODE | AdvertisingData.Flags.BR_EDR_NOT_SUPPORTED
    fields: list[tuple[int, bytes]] = [
        (AdvertisingData.FLAGS, bytes([flags])),
        (AdvertisingData.COMPLETE_LIST_OF_128_BIT_SERVICE_CLASS_UUIDS, service.to_bytes(force_128=True)),
    ]
    await device.start_advertising(
        advertising_data=bytes(AdvertisingData(fields)),
        scan_response_data=bytes(AdvertisingData([(AdvertisingData.COMPLETE_LOCAL_NAME, name.encode())])),
        advertising_interval_min=interval_ms,
        advertising_interval_max=interval_ms,
    )


async def find(device: Device, service: core.UUID) -> Address:
    """The address of the first to advertise `service`."""
    found: asyncio.Future[Address] = asyncio.get_running_loop().create_future()

    def heard(advertisement: Any) -> None:
        services = advertisement.data.get_all(0x07) + advertisement.data.get_all(0x06)
        if not found.done() and any(service in group for group in services):
            found.set_result(advertisement.address)

    device.on("advertisement", heard)
    await device.start_scanning(legacy=True)
    try:
        return await found
    finally:
        device.remove_listener("advertisement", heard)
        await device.stop_scanning(legacy=True)
