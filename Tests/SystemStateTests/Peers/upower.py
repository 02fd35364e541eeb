"""A UPower over dbus-fast:  upower.py ADDRESS battery|mains PERCENTAGE    prints "ready" when it owns its name.

It has one battery, as UPower 0.99.20 describes it, and answers GetAll. It never changes.
"""

import asyncio
import sys

from dbus_fast import Message, MessageType, Variant
from dbus_fast.aio import MessageBus

NAME, MANAGER = "org.freedesktop.UPower", "/org/freedesktop/UPower"
DISPLAY, DEVICE = MANAGER + "/devices/DisplayDevice", NAME + ".Device"
BATTERY, CHARGING, DISCHARGING = 2, 1, 2


async def main(address, supply, percentage):
    bus = await MessageBus(bus_address=address).connect()
    is_on_battery = supply == "battery"
    properties = {
        (MANAGER, NAME): {"OnBattery": Variant("b", is_on_battery)},
        (DISPLAY, DEVICE): {
            "Type": Variant("u", BATTERY),
            "IsPresent": Variant("b", True),
            "Percentage": Variant("d", float(percentage)),
            "State": Variant("u", DISCHARGING if is_on_battery else CHARGING),
        },
    }

    def on_message(call):
        if call.message_type is not MessageType.METHOD_CALL or call.member != "GetAll":
            return None
        found = properties.get((call.path, call.body[0]))
        if found is None:
            return Message.new_error(call, "org.freedesktop.DBus.Error.UnknownInterface", call.body[0])
        return Message.new_method_return(call, "a{sv}", [found])

    bus.add_message_handler(on_message)
    await bus.request_name(NAME)
    print("ready", flush=True)
    await bus.wait_for_disconnect()


asyncio.run(main(*sys.argv[1:]))
