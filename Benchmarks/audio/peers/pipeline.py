"""A recorder as one writes it in Python: packets in, a WAV file out; libopus by ctypes, as opuslib does it.

    pipeline.py FRAMES OUT.wav ROUNDS
"""
import ctypes
import struct
import sys
import wave


def main() -> None:
    library = ctypes.CDLL("libopus.so.0")
    library.opus_decoder_create.restype = ctypes.c_void_p
    decoder = ctypes.c_void_p(library.opus_decoder_create(16_000, 1, None))
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    packets, offset = [], 0
    while offset + 2 <= len(data):
        (length,) = struct.unpack_from("<H", data, offset)
        packets.append(bytes(3) + data[offset + 2 : offset + 2 + length])
        offset += 2 + length
    room = ctypes.create_string_buffer(5760 * 2)
    number = 0
    with wave.open(sys.argv[2], "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(16_000)
        for _ in range(int(sys.argv[3])):
            for packet in packets:
                # The header as a wearable sends it, read back as a recorder reads it.
                value = struct.pack("<HB", number, 0) + packet[3:]
                got, index = struct.unpack_from("<HB", value)
                assert got == number and index == 0
                number = (number + 1) % 65536
                frame = value[3:]
                made = library.opus_decode(decoder, frame, len(frame), room, 5760, 0)
                assert made > 0
                out.writeframesraw(room.raw[: made * 2])


main()
