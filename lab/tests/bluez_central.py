"""An EdgeCoder central on BlueZ, over bleak, to prove edgecoder_phone.py with: `bluez_central.py SECONDS PROMPT…`.

Asks each prompt in turn and prints one JSON line per reply. Runs inside the lab with the interpreter of `radio-lab venv`.
"""
import asyncio
import hashlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

from bleak import BleakClient, BleakScanner  # noqa: E402
from bleak.exc import BleakError  # noqa: E402
from edgecoder import REQUEST, RESPONSE, SERVICE, Collector, cut, encode, tell  # noqa: E402

service, request, response = (str(each).lower() for each in (SERVICE, REQUEST, RESPONSE))


async def ask(prompts: list[str]) -> None:
    """The adapter is a moment old, and refuses what is asked of it until it is powered; bleak also takes a link that comes
    up fast for one that is lost. Whatever an attempt dies of, the limit of the whole program bounds the repetition."""
    while True:
        try:
            device = await BleakScanner.find_device_by_filter(lambda _, heard: service in heard.service_uuids, timeout=5)
            if device:
                async with BleakClient(device) as client:
                    return await converse(client, prompts)
        except BleakError as error:
            tell("not yet", problem=str(error))
            await asyncio.sleep(0.25)


async def converse(client: BleakClient, prompts: list[str]) -> None:
    pieces: asyncio.Queue[bytes] = asyncio.Queue()
    await client.start_notify(response, lambda _, value: pieces.put_nowait(bytes(value)))
    for number, prompt in enumerate(prompts):
        for piece in cut(encode({"id": str(number), "prompt": prompt}), 508):
            await client.write_gatt_char(request, piece, response=True)
        collector, sizes, reply = Collector(), [], None
        while reply is None:
            piece = await pieces.get()
            sizes.append(len(piece))
            reply = collector.add(piece)
        output = reply["output"].encode()
        digest = hashlib.sha256(output).hexdigest()
        tell("bluez-reply", id=reply["id"], output_bytes=len(output), sha256=digest, chunks=len(sizes), largest_chunk=max(sizes))


asyncio.run(asyncio.wait_for(ask(sys.argv[2:]), float(sys.argv[1])))
