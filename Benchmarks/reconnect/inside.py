#!/usr/bin/python3
"""Inside the lab: loses a connection, and has the device connected again in three ways. Prints one JSON line for each.

The device, hci0, is absent for a while each time, and then advertises again. hci1 waits for it:

- attempts   what `.keepConnected()` does with a device that bluetoothd knows: Connect for 15 s, then 30 s of rest
- discovery  what a program does that scans for the device for 15 s, then rests for 30 s
- bluetoothd GattProfile1 with a service of the device, which has bluetoothd connect by itself
"""

import asyncio
import json
import sys
import time

from dbus_fast import BusType, Message, MessageType, Variant
from dbus_fast.aio import MessageBus
from dbus_fast.constants import PropertyAccess
from dbus_fast.service import ServiceInterface, dbus_property, method

HEART_RATE = "0000180d-0000-1000-8000-00805f9b34fb"
ADAPTERS = ("/org/bluez/hci0", "/org/bluez/hci1")
ATTEMPT, REST = 15, 30


class Advertisement(ServiceInterface):
    def __init__(self):
        super().__init__("org.bluez.LEAdvertisement1")

    @dbus_property(access=PropertyAccess.READ)
    def Type(self) -> "s":
        return "peripheral"

    @dbus_property(access=PropertyAccess.READ)
    def ServiceUUIDs(self) -> "as":
        return [HEART_RATE]

    @method()
    def Release(self):
        pass


class Service(ServiceInterface):
    def __init__(self):
        super().__init__("org.bluez.GattService1")

    @dbus_property(access=PropertyAccess.READ)
    def UUID(self) -> "s":
        return HEART_RATE

    @dbus_property(access=PropertyAccess.READ)
    def Primary(self) -> "b":
        return True


class Profile(ServiceInterface):
    def __init__(self):
        super().__init__("org.bluez.GattProfile1")

    @dbus_property(access=PropertyAccess.READ)
    def UUIDs(self) -> "as":
        return [HEART_RATE]

    @method()
    def Release(self):
        pass


async def call(bus, path, interface, member, signature="", body=(), refusals=False):
    message = Message("org.bluez", path, interface, member, signature=signature, body=list(body))
    reply = await bus.call(message)
    if reply.message_type == MessageType.ERROR and not refusals:
        raise RuntimeError(f"{member}: {reply.error_name} {reply.body}")
    return reply.body


async def prop(bus, path, interface, name, refusals=False):
    body = await call(bus, path, "org.freedesktop.DBus.Properties", "Get", "ss", [interface, name], refusals)
    return body[0].value if body and isinstance(body[0], Variant) else None


async def until(bus, path, name, wanted, limit):
    """The seconds until a property of a device has a value."""
    begin = time.monotonic()
    while time.monotonic() - begin < limit:
        if await prop(bus, path, "org.bluez.Device1", name, refusals=True) == wanted:
            return time.monotonic() - begin
        await asyncio.sleep(0.02)
    return None


class Waiting:
    """The three ways in which hci1 waits for the device."""

    def __init__(self, bus, device):
        self.bus, self.device = bus, device

    async def attempts(self):
        while True:
            try:
                await asyncio.wait_for(call(self.bus, self.device, "org.bluez.Device1", "Connect", refusals=True), ATTEMPT)
                if await prop(self.bus, self.device, "org.bluez.Device1", "Connected"):
                    return
            except asyncio.TimeoutError:
                await call(self.bus, self.device, "org.bluez.Device1", "Disconnect", refusals=True)
            await asyncio.sleep(REST)

    async def discovery(self):
        options = {"Transport": Variant("s", "le"), "DuplicateData": Variant("b", False)}
        while True:
            await call(self.bus, ADAPTERS[1], "org.bluez.Adapter1", "SetDiscoveryFilter", "a{sv}", [options])
            await call(self.bus, ADAPTERS[1], "org.bluez.Adapter1", "StartDiscovery")
            end = time.monotonic() + ATTEMPT
            while time.monotonic() < end:
                await asyncio.sleep(0.1)
                if await prop(self.bus, self.device, "org.bluez.Device1", "RSSI", refusals=True) is not None:
                    await call(self.bus, ADAPTERS[1], "org.bluez.Adapter1", "StopDiscovery")
                    await call(self.bus, self.device, "org.bluez.Device1", "Connect")
                    return
            await call(self.bus, ADAPTERS[1], "org.bluez.Adapter1", "StopDiscovery")
            await asyncio.sleep(REST)

    async def bluetoothd(self):
        await call(self.bus, ADAPTERS[1], "org.bluez.GattManager1", "RegisterApplication", "oa{sv}", ["/profile", {}])


async def main():
    absence = float(sys.argv[1])
    peripheral = await MessageBus(bus_type=BusType.SYSTEM).connect()
    central = await MessageBus(bus_type=BusType.SYSTEM).connect()
    peripheral.export("/server/service", Service())
    peripheral.export("/advertisement", Advertisement())
    central.export("/profile/heartrate", Profile())
    addresses = [await prop(peripheral, path, "org.bluez.Adapter1", "Address") for path in ADAPTERS]
    device = ADAPTERS[1] + "/dev_" + addresses[0].replace(":", "_")
    other = ADAPTERS[0] + "/dev_" + addresses[1].replace(":", "_")

    async def advertise(on):
        member = ("RegisterAdvertisement", "oa{sv}", ["/advertisement", {}]) if on else (
            "UnregisterAdvertisement", "o", ["/advertisement"])
        await call(peripheral, ADAPTERS[0], "org.bluez.LEAdvertisingManager1", *member)

    await call(peripheral, ADAPTERS[0], "org.bluez.GattManager1", "RegisterApplication", "oa{sv}", ["/server", {}])
    await advertise(True)
    target = {"Address": Variant("s", addresses[0]), "AddressType": Variant("s", "public")}
    await call(central, ADAPTERS[1], "org.bluez.Adapter1", "ConnectDevice", "a{sv}", [target])
    await until(central, device, "ServicesResolved", True, 30)
    # bluetoothd connects by itself only to devices that are bonded or trusted.
    trust = ["org.bluez.Device1", "Trusted", Variant("b", True)]
    await call(central, device, "org.freedesktop.DBus.Properties", "Set", "ssv", trust)

    waiting = Waiting(central, device)
    for way in ("attempts", "discovery", "bluetoothd"):
        await advertise(False)
        await call(peripheral, other, "org.bluez.Device1", "Disconnect")
        await until(central, device, "Connected", False, 30)
        begin = time.time()
        task = asyncio.create_task(getattr(waiting, way)())
        await asyncio.sleep(absence)
        end = time.time()
        await advertise(True)
        took = await until(central, device, "Connected", True, 120)
        print(json.dumps({"way": way, "begin": begin, "end": end, "took": took}), flush=True)
        await task
        await until(central, device, "ServicesResolved", True, 30)

    # bluetoothd goes on after the profile is gone, and after its program is gone.
    for ending in ("the profile was unregistered", "the program has left the bus", "Disconnect was called"):
        if ending.startswith("the profile"):
            await call(central, ADAPTERS[1], "org.bluez.GattManager1", "UnregisterApplication", "o", ["/profile"])
        elif ending.startswith("the program"):
            central.disconnect()
            central = await MessageBus(bus_type=BusType.SYSTEM).connect()
        member = (central, device) if ending.startswith("Disconnect") else (peripheral, other)
        lost = await call(*member, "org.bluez.Device1", "Disconnect", refusals=True)
        del lost
        await asyncio.sleep(5)
        back = await prop(central, device, "org.bluez.Device1", "Connected", refusals=True)
        print(json.dumps({"ending": ending, "connected again": bool(back)}), flush=True)


asyncio.run(main())
