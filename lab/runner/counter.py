"""The processor's time stamp counter, which QEMU's emulated one follows."""
import ctypes
import mmap
import platform
import time

# rdtsc; shl rdx, 32; or rax, rdx; ret
_READ_COUNTER = bytes.fromhex("0f31 48c1e220 4809d0 c3")


def kilohertz(seconds: float = 0.05) -> int | None:
    """How fast it counts, measured; None on a processor that has none, or where a program may not bring its own code."""
    if platform.machine() != "x86_64":
        return None
    try:
        code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError:
        return None
    code.write(_READ_COUNTER)
    read = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(code)))

    def moment() -> tuple[float, int]:
        """The counter and the clock as close together as they can be read on a busy machine."""
        tries = []
        for _ in range(20):
            before = time.monotonic_ns()
            counted = read()
            after = time.monotonic_ns()
            tries.append((after - before, (before + after) / 2, counted))
        return min(tries)[1:]

    start, first = moment()
    time.sleep(seconds)
    end, last = moment()
    return round((last - first) / (end - start) * 1_000_000)
