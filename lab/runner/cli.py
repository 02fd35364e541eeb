"""Command line of radio-lab: which words it knows, and what each of them calls."""
import argparse
import math
import os
import shlex
from pathlib import Path
from typing import Callable, NoReturn

from . import terminal, venv
from .debian import require_tools
from .job import Job
from .release import Release, named
from .terminal import LabError, complain, say

USAGE_ERROR = 2
MAX_CONTROLLERS = 8

DESCRIPTION = """\
A real Linux kernel, virtual Bluetooth LE controllers and a real bluetoothd around any command. No radio needed.

  radio-lab run [OPTION…] -- CMD …   run CMD in a fresh guest; its output is live, its exit code is yours
  radio-lab replay FILE [OPTION…] -- CMD …
                                     the same, with the device of a recording (btsnoop) in range
  radio-lab prepare [--debian R]     fetch and unpack the guest's kernel, or release R, now rather than on the first run
  radio-lab doctor                   what is there, what is missing, and the line that repairs it
  radio-lab build-uml                build user-mode Linux for `run --kernel uml` (once, minutes)
  radio-lab venv                     make the Python environment of the lab's peers; prints its python
  radio-lab help                     this text; `radio-lab run --help` lists the options of run
"""

RUN_EPILOG = """\
Inside: the host's files (changes are thrown away), the current folder, root, no network but loopback,
/lab (writable, the --out folder), `lab-fault` on PATH; EDGEBLUE_ADAPTERS=hci0,…, RADIO_LAB=1 and
RADIO_LAB_RADIO=btvirt or bumble in the environment.

Exit code: CMD's own; 124 when CMD exceeds --timeout; 125 when the guest dies or cannot be set up; 2 for wrong usage.
"""


REPLAY_EPILOG = """\
The other options are those of run, but for the controllers. CMD starts when the device advertises and BlueZ's adapter is
on; its address is in RADIO_LAB_REPLAY. Requests that the recording does not have are in /lab/replay.out.
"""


class Parser(argparse.ArgumentParser):
    """argparse, with errors in the lab's voice."""

    def error(self, message: str) -> NoReturn:
        complain(message)
        complain(f"see `{self.prog} --help`")
        raise SystemExit(USAGE_ERROR)


def main(arguments: list[str]) -> int:
    try:
        return _dispatch(arguments)
    except LabError as error:
        complain(str(error))
        return error.code
    except KeyboardInterrupt:
        return 130


def _dispatch(arguments: list[str]) -> int:
    word, rest = (arguments[0], arguments[1:]) if arguments else ("help", [])
    if word in ("help", "--help", "-h"):
        print(DESCRIPTION, end="")
        return 0
    words: dict[str, Callable[[list[str]], int]] = {"run": _run, "replay": _replay, "prepare": _prepare}
    if word in words:
        return words[word](rest)
    plain: dict[str, Callable[[], int]] = {"doctor": _doctor, "build-uml": _build_uml, "venv": _venv}
    if word not in plain:
        raise LabError(f"unknown word: {word}; `radio-lab help` lists them all", USAGE_ERROR)
    if rest:
        raise LabError(f"{word} takes no arguments: {shlex.join(rest)}", USAGE_ERROR)
    return plain[word]()


def _run(arguments: list[str]) -> int:
    return _start(parse_run(arguments))


def _replay(arguments: list[str]) -> int:
    job = parse_replay(arguments)
    # The peer needs the environment of all peers.
    venv.prepare()
    return _start(job)


def _start(job: Job) -> int:
    from .supervisor import run

    require_tools(job.kernel)
    if job.release:
        job.release.prepare()
    if job.radio == "bumble":
        venv.prepare()
    return run(job)


def _prepare(arguments: list[str]) -> int:
    from .guestkernel import prepare

    parser = Parser(prog="radio-lab prepare", allow_abbrev=False)
    _add_debian(parser)
    release = parser.parse_args(arguments).debian
    kernel = release.prepare() if release else prepare()
    say(f"kernel {kernel.version}: {kernel.kernel.parent}")
    return 0


def _doctor() -> int:
    from .doctor import examine

    return examine()


def _build_uml() -> int:
    from .uml import build

    return build()


def _venv() -> int:
    print(venv.prepare())
    return 0


def parse_run(arguments: list[str]) -> Job:
    """The job that `run` asks for, or a LabError that says what is wrong with it."""
    options, command = _split(arguments)
    parsed = _run_parser().parse_args(options)
    terminal.level = terminal.QUIET if parsed.quiet else terminal.VERBOSE if parsed.verbose else terminal.NORMAL
    if not command:
        raise LabError("no command: put it after `--`, as in `radio-lab run -- bluetoothctl show`", USAGE_ERROR)
    if parsed.virtual_time and parsed.kernel != "uml":
        raise LabError("--virtual-time needs --kernel uml", USAGE_ERROR)
    if parsed.debian and parsed.kernel != "qemu":
        raise LabError("--debian needs --kernel qemu: user-mode Linux is built from the host's release", USAGE_ERROR)
    if parsed.cpu and parsed.kernel != "qemu":
        raise LabError("--cpu needs --kernel qemu: user-mode Linux runs on the host's CPU", USAGE_ERROR)
    if parsed.no_btvirt and (parsed.controllers or parsed.radio):
        raise LabError("--no-btvirt means no controllers: it excludes --controllers and --radio", USAGE_ERROR)
    return Job(
        command=command,
        kernel=parsed.kernel,
        release=parsed.debian,
        controllers=0 if parsed.no_btvirt else parsed.controllers or 2,
        radio=parsed.radio or "btvirt",
        timeout=parsed.timeout,
        boot_timeout=parsed.boot_timeout,
        memory=parsed.memory,
        cpu=parsed.cpu or Job.cpu,
        out=parsed.out,
        capture=parsed.capture,
        bluetoothd=not parsed.no_bluetoothd,
        bluetoothd_args=parsed.bluetoothd_args,
        channels=parsed.eatt,
        environment=dict(parsed.env),
        virtual_time=parsed.virtual_time,
    )


REPLAY_SCRIPT = """\
"$1" "$2" "$3" $4 > /lab/replay.out 2> /lab/replay.err & peer=$!
until grep -qs '"advertising"' /lab/replay.out; do
  kill -0 $peer 2> /dev/null || { cat /lab/replay.err >&2; wait $peer; exit 125; }
  sleep 0.1
done
until bluetoothctl show 2> /dev/null | grep -q 'Powered: yes'; do
  kill -0 $peer 2> /dev/null || { cat /lab/replay.err >&2; exit 125; }
  sleep 0.1
done
export RADIO_LAB_REPLAY=$(sed -n 's/.*"advertising".*"address": *"\\([^"]*\\)".*/\\1/p' /lab/replay.out)
export EDGEBLUE_ADAPTERS=$(sed -n 's/.*"adapter".*"name": *"\\([^"]*\\)".*/\\1/p' /lab/replay.out)
shift 4
"$@"; code=$?
kill $peer; wait $peer
exit $code
"""


def parse_replay(arguments: list[str]) -> Job:
    """The job that `replay` asks for: a run without other controllers, in which the peer comes first."""
    options, command = _split(arguments)
    parser = Parser(
        prog="radio-lab replay", usage="radio-lab replay FILE [--device ADDRESS] [--pace FACTOR] [OPTION…] -- CMD …",
        allow_abbrev=False, epilog=REPLAY_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("file", type=_recording, metavar="FILE", help="a recording of edgeblue capture, btmon or Android (btsnoop)")
    parser.add_argument("--device", metavar="ADDRESS", help="the device to replay (default: the only one that was connected)")
    parser.add_argument("--pace", type=_pace, metavar="FACTOR", help="the factor for the times of values; 0: all at once (default 1)")
    parsed, rest = parser.parse_known_args(options)
    if not command:
        raise LabError("no command: put it after `--`, as in `radio-lab replay lamp.btsnoop -- bluetoothctl scan on`", USAGE_ERROR)
    peer = Path(__file__).resolve().parent.parent / "python" / "replay_peer.py"
    # The limit is that of the run.
    chosen = ["--timeout", "999999", *(["--device", parsed.device] if parsed.device else []), *(["--pace", parsed.pace] if parsed.pace else [])]
    script = ["sh", "-c", REPLAY_SCRIPT, "replay", str(venv.location() / "bin/python"), str(peer), str(parsed.file.resolve()), shlex.join(chosen)]
    return parse_run([*rest, "--no-btvirt", "--", *script, *command])


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    if "--" not in arguments:
        return arguments, []
    border = arguments.index("--")
    return arguments[:border], arguments[border + 1 :]


def _run_parser() -> Parser:
    parser = Parser(
        prog="radio-lab run", usage="radio-lab run [OPTION…] -- CMD …", allow_abbrev=False,
        epilog=RUN_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    add = parser.add_argument
    add("--kernel", choices=("qemu", "uml"), default="qemu",
        help="Debian's kernel under software emulation (default), or user-mode Linux (see build-uml)")  # fmt: skip
    _add_debian(parser)
    add("--controllers", type=_whole_number(1, MAX_CONTROLLERS), metavar="N", help="virtual LE controllers (default 2)")
    add("--radio", choices=("btvirt", "bumble"),
        help="what makes them: btvirt (default), or Bumble, which is slower and knows `lab-fault radio`")  # fmt: skip
    add("--timeout", type=_seconds, default=600.0, metavar="S", help="limit of CMD; booting is not counted (default 600)")
    add("--boot-timeout", type=_seconds, default=180.0, metavar="S", help="limit of the guest's boot (default 180)")
    add("--out", type=_out_folder, metavar="DIR", help="what the guest sees as /lab; keeps the logs too")
    add("--capture", type=_new_file, metavar="FILE", help="write all HCI traffic to FILE (btsnoop)")
    add("--memory", type=_whole_number(256, 65536), default=1024, metavar="MB", help="the guest's memory (default 1024)")
    add("--cpu", metavar="MODEL", help=f"QEMU's CPU; max,la57=off has AVX (default {Job.cpu})")
    add("--env", type=_variable, action="append", default=[], metavar="NAME[=VALUE]", help="set or pass on a variable")
    add("--no-bluetoothd", action="store_true", help="controllers and a bus, but no bluetoothd")
    add("--no-btvirt", action="store_true", help="no controllers: CMD makes them through /dev/vhci")
    add("--eatt", nargs="?", type=int, choices=(2, 3), const=3, default=1, metavar="N",
        help="up to N ATT channels per connection, 2 or 3 (default 3 with this option, 1 without)")  # fmt: skip
    add("--bluetoothd-args", type=shlex.split, default=[], metavar="=ARGS", help="more arguments, as in --bluetoothd-args=-d")
    add("--virtual-time", action="store_true", help="with uml: waiting costs no time and computing none either")
    loudness = parser.add_mutually_exclusive_group()
    loudness.add_argument("-q", "--quiet", action="store_true", help="nothing from the lab itself but errors")
    loudness.add_argument("-v", "--verbose", action="store_true", help="say how long each step of the boot took")
    return parser


def _add_debian(parser: Parser) -> None:
    parser.add_argument("--debian", type=_release, metavar="RELEASE",
        help="kernel, BlueZ, bus and C library of another Debian: 13, 14 or sid (default: the host's); the first use fetches them")  # fmt: skip


def _release(text: str) -> Release | None:
    try:
        return named(text)
    except LabError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _whole_number(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isascii() or not text.isdigit() or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {low} to {high}")
        return int(text)

    return parse


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return seconds


def _recording(text: str) -> Path:
    path = Path(text)
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"{text} is no file")
    return path


def _pace(text: str) -> str:
    try:
        factor = float(text)
    except ValueError:
        factor = math.nan
    if not 0 <= factor <= 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a factor from 0 to 1000")
    return text


def _out_folder(text: str) -> Path:
    path = Path(text)
    if path.exists() and not path.is_dir():
        raise argparse.ArgumentTypeError(f"{text} is not a folder")
    return path


def _new_file(text: str) -> Path:
    path = Path(text)
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise argparse.ArgumentTypeError(f"cannot write a file {text}: its folder does not exist, or it is one itself")
    return path


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name.replace("_", "a").isalnum() or not name.isascii() or name[0].isdigit():
        raise argparse.ArgumentTypeError(f"{name!r} is not a variable's name")
    if not equals and name not in os.environ:
        raise argparse.ArgumentTypeError(f"{name} is not set here, so it cannot be passed on")
    return name, value if equals else os.environ[name]
