"""An EdgeCoder phone on BlueZ, over dbus-fast, to prove edgecoder_central.py with: `bluez_phone.py SECONDS [REPLY_BYTES]`.

Serves on the first adapter that appears, repeats prompts or answers REPLY_BYTES bytes, ends by a signal or after SECONDS.
Runs inside the lab with the interpreter of `radio-lab venv`.
"""
import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

from dbus_fast import BusType, DBusError, Message, MessageType, PropertyAccess  # noqa: E402
from dbus_fast.aio import MessageBus  # noqa: E402
from dbus_fast.service import ServiceInterface, dbus_method, dbus_property  # noqa: E402
from edgecoder import PACE_SECONDS, REQUEST, RESPONSE, SERVICE, STATUS, Collector, cut, encode, reproducible_text, tell  # noqa: E402

APP = "/lab/app"


class Advertisement(ServiceInterface):
    def __init__(self) -> None:
        super().__init__("org.bluez.LEAdvertisement1")

    @dbus_property(access=PropertyAccess.READ)
    def Type(self) -> "s":
        return "peripheral"

    @dbus_property(access=PropertyAccess.READ)
    def ServiceUUIDs(self) -> "as":
        return [str(SERVICE).lower()]

    @dbus_property(access=PropertyAccess.READ)
    def LocalName(self) -> "s":
        return "EdgeCoder-bluez"

    @dbus_method()
    def Release(self):
        pass


class Primary(ServiceInterface):
    def __init__(self) -> None:
        super().__init__("org.bluez.GattService1")

    @dbus_property(access=PropertyAccess.READ)
    def UUID(self) -> "s":
        return str(SERVICE).lower()

    @dbus_property(access=PropertyAccess.READ)
    def Primary(self) -> "b":
        return True


class Characteristic(ServiceInterface):
    def __init__(self, uuid, flags, value=b"", on_write=None) -> None:
        super().__init__("org.bluez.GattCharacteristic1")
        self.uuid, self.flags, self.value, self.on_write = str(uuid).lower(), flags, value, on_write

    @dbus_property(access=PropertyAccess.READ)
    def UUID(self) -> "s":
        return self.uuid

    @dbus_property(access=PropertyAccess.READ)
    def Service(self) -> "o":
        return f"{APP}/service"

    @dbus_property(access=PropertyAccess.READ)
    def Flags(self) -> "as":
        return self.flags

    @dbus_property(access=PropertyAccess.READ)
    def Value(self) -> "ay":
        return self.value

    @dbus_method()
    def ReadValue(self, options: "a{sv}") -> "ay":
        return self.value[options["offset"].value if "offset" in options else 0 :]

    @dbus_method()
    def WriteValue(self, value: "ay", options: "a{sv}"):
        self.on_write(bytes(value), options["mtu"].value)

    @dbus_method()
    def StartNotify(self):
        pass

    @dbus_method()
    def StopNotify(self):
        pass

    def notify(self, value: bytes) -> None:
        self.value = value
        self.emit_properties_changed({"Value": value})


class Phone:
    def __init__(self, reply_bytes: int | None) -> None:
        self.reply_bytes = reply_bytes
        self.collector = Collector()
        self.response = Characteristic(RESPONSE, ["notify", "read"])
        self.requests: asyncio.Queue = asyncio.Queue()

    def on_write(self, value: bytes, mtu: int) -> None:
        tell("bluez-write", bytes=len(value), mtu=mtu)
        if request := self.collector.add(value):
            self.requests.put_nowait((request, mtu))

    async def answer(self) -> None:
        while True:
            request, mtu = await self.requests.get()
            output = request["prompt"] if self.reply_bytes is None else reproducible_text(self.reply_bytes)
            message = encode({"id": request["id"], "output": output, "ok": True, "durationMs": 0})
            for chunk in cut(message, min(512, mtu - 3)):
                self.response.notify(chunk)
                await asyncio.sleep(PACE_SECONDS)


async def call(bus: MessageBus, path: str, interface: str, member: str, signature: str = "", *body):
    reply = await bus.call(Message("org.bluez", path, interface, member, signature=signature, body=list(body)))
    if reply.message_type is MessageType.ERROR:
        raise DBusError(reply.error_name, str(reply.body))
    return reply.body


async def first_adapter(bus: MessageBus) -> str:
    while True:
        try:
            (objects,) = await call(bus, "/", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")
        except DBusError:
            objects = {}
        for path, interfaces in sorted(objects.items()):
            if "org.bluez.LEAdvertisingManager1" in interfaces and interfaces["org.bluez.Adapter1"]["Powered"].value:
                return path
        await asyncio.sleep(0.1)


async def serve(reply_bytes: int | None) -> None:
    bus = await MessageBus(bus_type=BusType.SYSTEM).connect()
    adapter = await first_adapter(bus)
    phone = Phone(reply_bytes)
    status = Characteristic(STATUS, ["notify", "read"], encode({"modelState": "ready"}))
    request = Characteristic(REQUEST, ["write", "write-without-response"], on_write=phone.on_write)
    bus.export(f"{APP}/service", Primary())
    for number, characteristic in enumerate((request, phone.response, status)):
        bus.export(f"{APP}/service/char{number}", characteristic)
    bus.export("/lab/advertisement", Advertisement())
    await call(bus, adapter, "org.bluez.GattManager1", "RegisterApplication", "oa{sv}", APP, {})
    await call(bus, adapter, "org.bluez.LEAdvertisingManager1", "RegisterAdvertisement", "oa{sv}", "/lab/advertisement", {})
    tell("bluez-advertising", adapter=adapter)
    await phone.answer()


asyncio.run(asyncio.wait_for(serve(int(sys.argv[2]) if len(sys.argv) > 2 else None), float(sys.argv[1])))
