"""What a Python program does to advertise the EdgeCoder service, over dbus-fast: the least of it."""
import asyncio

from dbus_fast.aio import MessageBus
from dbus_fast.constants import BusType, PropertyAccess
from dbus_fast.service import ServiceInterface, dbus_property, method


class Advertisement(ServiceInterface):
    def __init__(self):
        super().__init__("org.bluez.LEAdvertisement1")

    @dbus_property(access=PropertyAccess.READ)
    def Type(self) -> "s":  # noqa: F821
        return "peripheral"

    @dbus_property(access=PropertyAccess.READ)
    def ServiceUUIDs(self) -> "as":  # noqa: F722
        return ["ec0d0001-ec0d-ec0d-ec0d-ec0d0001ec0d"]

    @method()
    def Release(self):
        pass


async def run():
    bus = await MessageBus(bus_type=BusType.SYSTEM).connect()
    bus.export("/advertisement", Advertisement())
    root = bus.get_proxy_object("org.bluez", "/", await bus.introspect("org.bluez", "/"))
    objects = await root.get_interface("org.freedesktop.DBus.ObjectManager").call_get_managed_objects()
    path = next(path for path, interfaces in objects.items() if "org.bluez.LEAdvertisingManager1" in interfaces)
    adapter = bus.get_proxy_object("org.bluez", path, await bus.introspect("org.bluez", path))
    await adapter.get_interface("org.bluez.LEAdvertisingManager1").call_register_advertisement("/advertisement", {})
    await asyncio.sleep(60)


asyncio.run(run())
