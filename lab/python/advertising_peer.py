"""Somebody who advertises and listens, on Bumble, to test what BlueZ hears and says.

    lab/radio-lab run --no-btvirt -- sh -c 'PYTHON lab/python/advertising_peer.py & the-program-under-test; kill $!; wait'

PYTHON is what `lab/radio-lab venv` prints. The program gives BlueZ an adapter and makes two devices, until SIGTERM,
SIGINT or --timeout (exit code 0). "beacon" says one of everything, at -50 dBm. "fickle" advertises SERVICE at -80 dBm;
it answers nobody who asks for its services, hangs up a second later, and advertises again. It prints JSON lines:

    {"event":"adapter","name":"hci0","address":"0A:0B:0C:0D:0E:00"}
    {"event":"advertising","name":"beacon","address":"FA:0B:00:7B:0C:01"}
    {"event":"heard","data":"020106","response":"","interval":160}    from the adapter, when it differs from the last
                                                                      three; the interval in units of 0.625 ms
    {"event":"hung-up"}                                               by fickle
"""
import argparse
import asyncio
import collections
from typing import Any

from bumble import att, hci
from bumble.core import UUID, AdvertisingData
from bumble.device import Connection, Device

from edgecoder import tell
from peer import command_line, main, serve
from radiolab import Adapter, Lab

SERVICE = UUID("ad000001-ad00-ad00-ad00-ad00ad000001")
FLAGS = bytes([AdvertisingData.Flags.LE_GENERAL_DISCOVERABLE_MODE | AdvertisingData.Flags.BR_EDR_NOT_SUPPORTED])

BEACON = [
    (AdvertisingData.FLAGS, FLAGS),
    (AdvertisingData.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS, bytes.fromhex("0f18")),
    (AdvertisingData.SERVICE_DATA_16_BIT_UUID, bytes.fromhex("0f1863")),
    (AdvertisingData.MANUFACTURER_SPECIFIC_DATA, bytes.fromhex("ffff010203")),
    (AdvertisingData.TX_POWER_LEVEL, b"\x04"),
    (AdvertisingData.APPEARANCE, bytes.fromhex("8001")),
]
BEACON_RESPONSE = [
    (AdvertisingData.COMPLETE_LOCAL_NAME, b"beacon"),
    (AdvertisingData.URI, b"\x17//edgeblue"),
]
FICKLE = [
    (AdvertisingData.FLAGS, FLAGS),
    (AdvertisingData.COMPLETE_LIST_OF_128_BIT_SERVICE_CLASS_UUIDS, SERVICE.to_bytes(force_128=True)),
]


async def advertise(device: Device, data: list[tuple[int, bytes]], response: list[tuple[int, bytes]] = []) -> None:
    await device.start_advertising(
        advertising_data=bytes(AdvertisingData(data)), scan_response_data=bytes(AdvertisingData(response)),
        advertising_interval_min=100, advertising_interval_max=100)  # fmt: skip


async def listen(device: Device, adapter: Adapter) -> None:
    """Tells what the adapter says. Sets that take turns are told once, not at every turn."""
    told: collections.deque[tuple[bytes, bytes, float]] = collections.deque(maxlen=3)
    data = b""

    def heard(report: hci.HCI_LE_Advertising_Report_Event.Report) -> None:
        nonlocal data
        # What is not connectable goes under a private address.
        if report.address not in (adapter.controller.public_address, adapter.controller.random_address):
            return
        if report.event_type != hci.HCI_LE_Advertising_Report_Event.EventType.SCAN_RSP:
            data = bytes(report.data)
            return
        interval = adapter.controller.le_legacy_advertiser.advertising_interval_min
        new = (data, bytes(report.data), interval)
        if new not in told:
            told.append(new)
            tell("heard", data=new[0].hex(), response=new[1].hex(), interval=int(interval))

    device.host.on("advertising_report", heard)
    await device.start_scanning(legacy=True, active=True)


async def be_fickle(device: Device) -> None:
    async def hang_up(connection: Connection) -> None:
        await asyncio.sleep(1)
        await connection.disconnect()
        tell("hung-up")
        await advertise(device, FICKLE)

    answer = device.gatt_server.on_gatt_pdu

    def answer_mtu_only(bearer: Any, pdu: att.ATT_PDU) -> None:
        if isinstance(pdu, att.ATT_Exchange_MTU_Request):
            answer(bearer, pdu)

    device.gatt_server.on_gatt_pdu = answer_mtu_only
    device.on("connection", lambda connection: asyncio.ensure_future(hang_up(connection)))
    await advertise(device, FICKLE)


async def run(options: argparse.Namespace) -> int:
    async def begin(lab: Lab) -> None:
        adapter = await lab.add_adapter()
        tell("adapter", name=adapter.name, address=adapter.address)
        beacon = await lab.add_device("beacon", rssi=-50)
        await listen(beacon, adapter)
        await advertise(beacon, BEACON, BEACON_RESPONSE)
        tell("advertising", name="beacon", address=str(beacon.random_address))
        await be_fickle(await lab.add_device("fickle", rssi=-80))

    return await serve(options, begin)


if __name__ == "__main__":
    main(run, command_line(__file__, __doc__).parse_args())
