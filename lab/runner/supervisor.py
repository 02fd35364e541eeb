"""Boots a guest, passes its streams on, and turns however it ends into one exit code. Every wait here has a bound."""
import os
import shutil
import re
import signal
import subprocess
import sys
import threading
import time
from types import TracebackType
from typing import BinaryIO

from .job import Job, Talk, conversation
from .machines import KINDS, Streams
from .terminal import LabError, complain, detail

TIMED_OUT = 124
GUEST_DIED = 125
SHUTDOWN_LIMIT = 15
DRAIN_LIMIT = 10
CONSOLE_LINES = 15
OOPS_LINES = 60
OOPS = re.compile(r"corruption|kernel BUG at|BUG:|Oops|general protection|cut here")


class Interrupted(BaseException):
    """A signal that means: clean up and go. The exit code says which, as a shell would."""

    def __init__(self, number: int):
        super().__init__(number)
        self.code = 128 + number


def run(job: Job) -> int:
    """Run the job's command in a fresh guest; its exit code, or a LabError with code 124 or 125."""
    try:
        with Signals() as signals, conversation(job) as talk:
            begun = time.monotonic()
            try:
                with Guest(job, talk) as guest:
                    signals.release()
                    return guest.wait()
            finally:
                _report_times(talk, time.monotonic() - begun)
                _keep_capture(job, talk)
    except Interrupted as interruption:
        return interruption.code


class Guest:
    """A running guest. Leaving the `with` block leaves no process of it behind."""

    def __init__(self, job: Job, talk: Talk):
        self.job = job
        self.talk = talk
        self.pumps: list[Pump] = []

    def __enter__(self) -> "Guest":
        with open(self.talk.console, "ab") as console:
            console.truncate(0)
            pipes = [os.pipe(), os.pipe()]
            try:
                self.process = self._start(Streams(pipes[0][1], pipes[1][1], console.fileno()), console)
            finally:
                for _, write_end in pipes:
                    os.close(write_end)
        self._bind_to_runner()
        self.pumps = [Pump(pipes[0][0], sys.stdout.buffer), Pump(pipes[1][0], sys.stderr.buffer)]
        return self

    def _start(self, streams: Streams, console: BinaryIO) -> subprocess.Popen[bytes]:
        launch = KINDS[self.job.kernel](self.job, self.talk, streams)
        # A process group of its own keeps the terminal's Ctrl-C away from the guest: the runner decides.
        return subprocess.Popen(
            launch.command, stdin=subprocess.DEVNULL, stdout=console, stderr=console, env=launch.environment,
            pass_fds=(streams.out, streams.err, streams.console), process_group=0)  # fmt: skip

    def _bind_to_runner(self) -> None:
        """Let the guest die even with a runner that is killed by SIGKILL: the watcher's read ends when its pipe does.

        A signal for the parent's death would reach the guest's first process only, and user-mode Linux has many."""
        watched, self.lifeline = os.pipe()
        with open(watched, "rb") as stdin:
            watch = ["sh", "-c", "read -r _; kill -s KILL 0"]
            self.watcher = subprocess.Popen(watch, stdin=stdin, stdout=subprocess.DEVNULL, process_group=self.process.pid)

    def wait(self) -> int:
        """Until the guest ends or a limit is reached."""
        if not self._lasts_while(lambda: not self.talk.started, self.job.boot_timeout):
            if self._is_running():
                raise self._problem(GUEST_DIED, f"the guest was not ready within {self.job.boot_timeout:g} s")
        if not self._lasts_while(lambda: self.talk.exit_code() is None, self.job.timeout):
            if self._is_running():
                raise self._problem(TIMED_OUT, f"the command did not end within {self.job.timeout:g} s", console=False)
        self._lasts_while(lambda: True, SHUTDOWN_LIMIT)
        return self._verdict()

    def _lasts_while(self, condition, limit: float) -> bool:
        """Wait while the guest runs and `condition` holds; whether it ceased to hold in time."""
        deadline = time.monotonic() + limit
        while condition():
            if time.monotonic() > deadline or not self._is_running():
                return not condition()
            if any(pump.reader_is_gone for pump in self.pumps):
                raise Interrupted(signal.SIGPIPE)
            time.sleep(0.02)
        return True

    def _is_running(self) -> bool:
        # The dead process stays unreaped, so that its group's number cannot pass to strangers before _end.
        return os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def _verdict(self) -> int:
        code = self.talk.exit_code()
        if code is not None:
            return code
        failure = self.talk.read("failed")
        if failure:
            raise self._problem(GUEST_DIED, f"the guest could not be set up: {failure}", console=False)
        raise self._problem(GUEST_DIED, "the guest died" + (" under the command" if self.talk.started else " while booting"))

    def _problem(self, code: int, message: str, console: bool = True) -> LabError:
        lines = telling_lines(self.talk.console.read_text(errors="replace"))
        if console and lines:
            message += "; its console says:\n" + "\n".join(f"  {line}" for line in lines)
        return LabError(message, code)

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.watcher.wait()
        os.close(self.lifeline)
        for pump in self.pumps:
            pump.finish()


def telling_lines(console: str) -> list[str]:
    """The end of a console; with a dying kernel, what it says from its first fault on, the stack included, and without
    one what came before its death rather than the stack dump behind it."""
    lines = console.splitlines()
    fault = next((index for index, line in enumerate(lines) if OOPS.search(line)), None)
    if fault is not None:
        return lines[fault : fault + OOPS_LINES]
    death = next((index for index, line in enumerate(lines) if "Kernel panic" in line), None)
    if death is not None:
        lines = lines[: death + CONSOLE_LINES // 2]
    return lines[-CONSOLE_LINES:]


class Pump(threading.Thread):
    """Copies one stream of the guest to one of ours. Pipes rather than our own descriptors, because QEMU can neither
    write to a terminal opened for reading and writing nor share a file's offset."""

    def __init__(self, source: int, target: BinaryIO):
        super().__init__(daemon=True)
        self.source = source
        self.target = target
        self.reader_is_gone = False
        self.start()

    def run(self) -> None:
        with open(self.source, "rb", buffering=0) as source:
            while data := source.read(65536):
                self._pass_on(data)

    def _pass_on(self, data: bytes) -> None:
        try:
            self.target.write(data)
            self.target.flush()
        except (BrokenPipeError, ValueError):
            self.reader_is_gone = True

    def finish(self) -> None:
        self.join(DRAIN_LIMIT)


class Signals:
    """Makes exceptions of the signals that end a run. Held back until ``release()``: an exception in the middle of a
    guest's start would leave it running."""

    NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __enter__(self) -> "Signals":
        self.is_released = False
        self.pending: int | None = None
        self.before = {number: signal.signal(number, self._take) for number in self.NUMBERS}
        return self

    def _take(self, number: int, _frame: object) -> None:
        for each in self.NUMBERS:
            signal.signal(each, signal.SIG_IGN)  # a second Ctrl-C must not interrupt the cleaning up
        self.pending = number
        if self.is_released:
            raise Interrupted(number)

    def release(self) -> None:
        self.is_released = True
        if self.pending:
            raise Interrupted(self.pending)

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)


def _report_times(talk: Talk, whole: float) -> None:
    """One line for `-v`: how long each step took, from the uptimes that the guest noted."""
    last, steps = 0.0, []
    for entry in (talk.read("times") or "").split():
        name, uptime = entry.split("=")
        steps.append(f"{name} {float(uptime) - last:.1f}")
        last = float(uptime)
    detail(f"seconds by the guest's clock: {', '.join(steps) or 'none'}; whole run {whole:.1f}")


def _keep_capture(job: Job, talk: Talk) -> None:
    if not job.capture:
        return
    written = talk.folder / "capture.btsnoop"
    if written.exists():
        shutil.copyfile(written, job.capture)
    else:
        complain(f"nothing was captured: {job.capture} is not written")
