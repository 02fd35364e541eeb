"""A GeoClue over dbus-fast:  geoclue.py ADDRESS granted|refused|mute    prints "ready" when it owns its name.

`granted` has one client and one location; `refused` answers Start as GeoClue does when the agent of a desktop denies the
program the location; `mute` never answers Start, as without an agent. A line at its standard input is the next of these
words: the user changes the mind.
"""

import asyncio
import sys
import time

from dbus_fast import Message, MessageType, Variant
from dbus_fast.aio import MessageBus

NAME = "org.freedesktop.GeoClue2"
MANAGER, CLIENT = "/org/freedesktop/GeoClue2/Manager", "/org/freedesktop/GeoClue2/Client/1"
LOCATION = CLIENT + "/Location/1"
PROPERTIES, DENIED = "org.freedesktop.DBus.Properties", "org.freedesktop.DBus.Error.AccessDenied"


def location():
    now = time.time()
    return {
        "Latitude": Variant("d", 48.25),
        "Longitude": Variant("d", 16.5),
        "Accuracy": Variant("d", 20.0),
        "Timestamp": Variant("(tt)", [int(now), int(now % 1 * 1e6)]),
    }


async def main(address, answer):
    bus = await MessageBus(bus_address=address).connect()
    state = {"answer": answer, "desktop": ""}

    def start(call):
        if state["answer"] == "mute":
            return True
        if state["answer"] == "refused":
            return Message.new_error(call, DENIED, f"'{state['desktop']}' disallowed by agent")
        return Message.new_method_return(call)

    def on_message(call):
        if call.message_type is not MessageType.METHOD_CALL:
            return None
        match call.path, call.interface, call.member:
            case (path, _, "GetClient") if path == MANAGER:
                return Message.new_method_return(call, "o", [CLIENT])
            case (path, interface, "Set") if (path, interface) == (CLIENT, PROPERTIES):
                if call.body[1] == "DesktopId":
                    state["desktop"] = call.body[2].value
                return Message.new_method_return(call)
            case (path, interface, "Get") if (path, interface) == (CLIENT, PROPERTIES):
                return Message.new_method_return(call, "v", [Variant("o", LOCATION)])
            case (path, _, "Start") if path == CLIENT:
                return start(call)
            case (path, interface, "GetAll") if (path, interface) == (LOCATION, PROPERTIES):
                return Message.new_method_return(call, "a{sv}", [location()])
        return None

    def on_line():
        if not (line := sys.stdin.readline()):
            sys.exit()
        state["answer"] = line.strip()

    bus.add_message_handler(on_message)
    await bus.request_name(NAME)
    asyncio.get_running_loop().add_reader(sys.stdin, on_line)
    print("ready", flush=True)
    await bus.wait_for_disconnect()


asyncio.run(main(*sys.argv[1:]))
