"""A D-Bus peer over dbus-fast:  peer.py ADDRESS    prints "ready" when it owns its name.

    Echo(…)            answers with what it got, any signature, descriptors too
    Describe(…)        answers with the Python repr of what it understood
    Fail(s, s)         answers with that error name and text
    Never()            never answers
    SignalThenReply(u) sends Changed(u), then answers with the same number
    Burst(u)           sends that many Tick(u), then answers
    ReadAll(h)         reads the descriptor to its end and answers with the bytes
"""

import asyncio
import os
import sys

from dbus_fast import Message, MessageType
from dbus_fast.aio import MessageBus

NAME, PATH, INTERFACE = "org.edgeblue.PythonPeer", "/peer", "org.edgeblue.Peer1"


def plain(value):
    """What dbus-fast understood, with variants as (signature, value)."""
    if hasattr(value, "signature") and hasattr(value, "value"):
        return (value.signature, plain(value.value))
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in sorted(value.items())}
    return value


async def main(address):
    bus = MessageBus(bus_address=address, negotiate_unix_fd=True)
    await bus.connect()

    def signal(member, number):
        message = Message.new_signal(PATH, INTERFACE, member, "u", [number])
        bus.send(message)

    def answer(call):
        body = call.body
        match call.member:
            case "Echo":
                reply = Message.new_method_return(call, call.signature, body, unix_fds=call.unix_fds)
                return reply
            case "Describe":
                return Message.new_method_return(call, "s", [repr([call.signature, plain(body)])])
            case "Fail":
                return Message.new_error(call, body[0], body[1])
            case "SignalThenReply":
                signal("Changed", body[0])
                return Message.new_method_return(call, "u", [body[0]])
            case "ReadAll":
                with os.fdopen(call.unix_fds[body[0]], "rb") as file:
                    return Message.new_method_return(call, "ay", [file.read()])
            case _:
                return Message.new_error(call, "org.freedesktop.DBus.Error.UnknownMethod", call.member)

    async def burst(call):
        for number in range(call.body[0]):
            signal("Tick", number)
            # dbus-fast 5.2 gives the connection up when its socket is full; an answer from the bus says it is empty.
            if number % 50 == 49:
                await bus.introspect("org.freedesktop.DBus", "/org/freedesktop/DBus")
        bus.send(Message.new_method_return(call))

    tasks = set()

    def on_message(call):
        if call.message_type is not MessageType.METHOD_CALL or call.interface != INTERFACE:
            return None
        if call.member == "Never":
            return True
        if call.member == "Burst":
            tasks.add(asyncio.create_task(burst(call)))
            return True
        reply = answer(call)
        bus.send(reply)
        if call.member == "Echo":
            for descriptor in call.unix_fds:
                # send() has duplicated them into the socket only once it ran, so close on the next turn.
                asyncio.get_running_loop().call_later(0.05, os.close, descriptor)
        return True

    bus.add_message_handler(on_message)
    await bus.request_name(NAME)
    print("ready", flush=True)
    await bus.wait_for_disconnect()


asyncio.run(main(sys.argv[1]))
