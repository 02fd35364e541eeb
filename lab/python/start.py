"""Starts a peer at once: `start.py gatt_peer.py OPTIONS` is `gatt_peer.py OPTIONS` without the seconds that an emulated CPU
takes to load Bumble. Inside the lab only.

The first call leaves a server behind that has loaded what the peers need. Each peer is a fork of it, with the streams, the
folder and the exit code of the `start.py` that asked for it, and ends with that. Its environment is that of the first call.
"""
import contextlib
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import sys
import threading
import traceback
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
STATE = Path("/run/radio-lab")  # exists inside the lab only; see guest/daemons.sh
SERVER = str(STATE / "peers")
MESSAGE_LIMIT = 1 << 16


def ask(arguments: list[str]) -> int:
    """Has a peer started, and waits for its end: its exit code, 1 if a signal ended it."""
    with connected() as link:
        socket.send_fds(link, [json.dumps([os.getcwd(), *arguments]).encode()], [0, 1, 2])
        code = link.recv(1)
    return code[0] if code else 1


def connected() -> socket.socket:
    link = socket.socket(socket.AF_UNIX)
    try:
        link.connect(SERVER)
    except FileNotFoundError:
        start_server()
        link.connect(SERVER)
    return link


def start_server() -> None:
    """It listens before it has its name: who finds it can connect. Of two that start at once the first one stays."""
    listening = socket.socket(socket.AF_UNIX)
    own = f"{SERVER}-{os.getpid()}"
    listening.bind(own)
    listening.listen()
    try:
        os.link(own, SERVER)
    except FileExistsError:
        return
    finally:
        os.unlink(own)
    if os.fork() == 0:
        os.setsid()
        # What else the first one who asks has open would stay so with the server.
        log = os.open("/lab/peers.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for number, descriptor in enumerate([os.open(os.devnull, os.O_RDONLY), log, log, listening.fileno()]):
            os.dup2(descriptor, number)
        os.closerange(4, os.sysconf("SC_OPEN_MAX"))
        listening.detach()
        serve(socket.socket(fileno=3))


def serve(listening: socket.socket) -> None:
    sys.path.insert(0, str(FOLDER))
    ours = [path.stem for path in FOLDER.glob("*.py")]
    for name in ours:
        importlib.import_module(name)
    for name in ours:
        del sys.modules[name]  # each peer has its own, as if it had been started alone
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # peers are waited for by who asked for them
    while True:
        link, _ = listening.accept()
        if os.fork() == 0:
            listening.close()
            become_peer(link)
        link.close()


def become_peer(link: socket.socket) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    message, streams, _, _ = socket.recv_fds(link, MESSAGE_LIMIT, 3)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    folder, *sys.argv = json.loads(message)
    os.chdir(folder)
    threading.Thread(target=end_with, args=[link], daemon=True).start()
    code = 0
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    with contextlib.suppress(BrokenPipeError):  # whoever asked has left
        link.send(bytes([code]))
    os._exit(code)


def end_with(link: socket.socket) -> None:
    """Who asked is gone, and the peer gets the signal that it would have got itself."""
    link.recv(1)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    if not STATE.is_dir():
        sys.exit("start.py: this is not the radio lab")
    sys.exit(ask(sys.argv[1:]))
