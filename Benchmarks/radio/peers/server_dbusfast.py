"""The Python yardstick, server: a GATT service over dbus-fast, its usual way: WriteValue in, PropertiesChanged out.

server_dbusfast.py ADAPTER: prints "ready" when it advertises; runs until it is killed; sends back what is written.
"""
import asyncio
import sys

from dbus_fast import BusType, Message, MessageType, PropertyAccess
from dbus_fast.aio import MessageBus
from dbus_fast.service import ServiceInterface, dbus_method, dbus_property

UUID = "ec0d000{0}-ec0d-ec0d-ec0d-ec0d000{0}ec0d"
SERVICE = "/bench/service"


class Advertisement(ServiceInterface):
    def __init__(self):
        super().__init__("org.bluez.LEAdvertisement1")

    @dbus_property(access=PropertyAccess.READ)
    def Type(self) -> "s":
        return "peripheral"

    @dbus_property(access=PropertyAccess.READ)
    def ServiceUUIDs(self) -> "as":
        return [UUID.format(1)]


class Service(ServiceInterface):
    def __init__(self):
        super().__init__("org.bluez.GattService1")

    @dbus_property(access=PropertyAccess.READ)
    def UUID(self) -> "s":
        return UUID.format(1)

    @dbus_property(access=PropertyAccess.READ)
    def Primary(self) -> "b":
        return True


class Characteristic(ServiceInterface):
    def __init__(self, number, flag):
        super().__init__("org.bluez.GattCharacteristic1")
        self.number, self.flag, self.value, self.written = number, flag, b"", None

    @dbus_property(access=PropertyAccess.READ)
    def UUID(self) -> "s":
        return UUID.format(self.number)

    @dbus_property(access=PropertyAccess.READ)
    def Service(self) -> "o":
        return SERVICE

    @dbus_property(access=PropertyAccess.READ)
    def Flags(self) -> "as":
        return [self.flag]

    @dbus_property(access=PropertyAccess.READ)
    def Value(self) -> "ay":
        return self.value

    @dbus_method()
    def WriteValue(self, value: "ay", options: "a{sv}"):
        self.written(value)

    @dbus_method()
    def StartNotify(self):
        pass

    @dbus_method()
    def StopNotify(self):
        pass

    def notify(self, value):
        self.value = value
        self.emit_properties_changed({"Value": value})


async def main():
    bus = await MessageBus(bus_type=BusType.SYSTEM).connect()
    request, response = Characteristic(2, "write-without-response"), Characteristic(3, "notify")
    request.written = response.notify
    bus.export(SERVICE, Service())
    bus.export(SERVICE + "/request", request)
    bus.export(SERVICE + "/response", response)
    bus.export("/bench/advertisement", Advertisement())
    for interface, member, path in (
        ("org.bluez.GattManager1", "RegisterApplication", "/bench"),
        ("org.bluez.LEAdvertisingManager1", "RegisterAdvertisement", "/bench/advertisement"),
    ):
        message = Message("org.bluez", f"/org/bluez/{sys.argv[1]}", interface, member, signature="oa{sv}", body=[path, {}])
        reply = await bus.call(message)
        if reply.message_type is MessageType.ERROR:
            sys.exit(f"{member}: {reply.body}")
    print("ready", flush=True)
    await bus.wait_for_disconnect()


asyncio.run(main())
