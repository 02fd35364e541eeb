"""The parts of the runner that need no guest: archive, modules, kernel image, cache, job script."""
import contextlib
import io
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

LAB = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(LAB))

from runner import cache, counter, debian, guestkernel, initramfs, uml  # noqa: E402
from runner.job import Job, conversation  # noqa: E402
from runner.kernelfiles import SIGNATURE_MARK, ModuleTree, built_version, dependencies, uncompressed_kernel, unsigned  # noqa: E402
from runner.supervisor import Interrupted, Signals, telling_lines  # noqa: E402
from runner.terminal import LabError  # noqa: E402


def kernel_image(text: str = "", payload: bytes = b"") -> bytes:
    """A bzImage: its version in words, and the compressed kernel."""
    header = bytearray(1024)
    header[0x1F1] = 1
    header[0x202:0x206] = b"HdrS"
    struct.pack_into("<II", header, 0x248, 0, len(payload))
    struct.pack_into("<H", header, 0x20E, 0x100)
    header[0x300 : 0x300 + len(text)] = text.encode()
    return bytes(header) + payload


class Kernels(unittest.TestCase):
    """Which kernel is taken, of those that apt knows."""

    def offered(self, *packages: str) -> str:
        shown = "".join(f"Package: linux-image-amd64\nDepends: linux-image-6-{package} (= {package})\n\n" for package in packages)
        with unittest.mock.patch.object(debian, "_apt", return_value=shown):
            return debian.offered_kernel().package

    def test_the_newest_that_does_not_die(self):
        self.assertEqual(self.offered("6.12.3-1", "6.1.176-1"), "6.12.3-1")
        self.assertEqual(self.offered("6.1.192-3", "6.1.192-2", "6.1.176-1", "6.1.170-3"), "6.1.176-1")
        self.assertEqual(self.offered("6.1.193-1", "6.1.190-1"), "6.1.190-1")
        self.assertEqual(self.offered("6.1.192-3"), "6.1.192-3")

    def test_which_die(self):
        for version, expected in (("6.1.192-3", True), ("6.1.200", True), ("6.1.190-1", False), ("6.12.118-1", False), ("7.2~rc3-1", False), ("", False)):
            self.assertEqual(debian.dies(version), expected, version)

    def test_no_kernel(self):
        with self.assertRaisesRegex(LabError, "does not say which kernel"):
            self.offered()

    def test_a_dying_one_in_the_cache_is_the_last_choice(self):
        with tempfile.TemporaryDirectory() as name, unittest.mock.patch.object(guestkernel.cache, "folder", return_value=Path(name)):
            for release, version in (("6.1.0-50", "6.1.176-1"), ("6.1.0-57", "6.1.192-3"), ("6.1.0-58", None)):
                folder = Path(name) / f"{release}-amd64-0"
                folder.mkdir()
                (folder / "wanted").write_bytes(guestkernel.MODULES.read_bytes())
                if version:
                    (folder / "version").write_text(version)
            self.assertEqual(guestkernel.cached().name, "6.1.0-50-amd64-0")


    def test_the_newest_of_boot_that_can_be_read_and_does_not_die(self):
        with tempfile.TemporaryDirectory() as name:
            root = Path(name)
            for number, version, has_modules in ((50, "6.1.176-1", True), (51, "6.1.177-1", False), (57, "6.1.192-3", True)):
                release = f"6.1.0-{number}-amd64"
                (root / "boot").mkdir(exist_ok=True)
                (root / "boot" / f"vmlinuz-{release}").write_bytes(kernel_image(f"{release} (d@example) #1 SMP Debian {version} (2026)"))
                (root / "lib/modules" / release / ("kernel" if has_modules else "build")).mkdir(parents=True)
            (root / "boot/vmlinuz-6.1.0-90-amd64").write_bytes(b"cut off")
            (root / "boot/vmlinuz-6.1.0-91-amd64").mkdir()
            self.assertEqual(guestkernel._installed_version(root), "6.1.0-50-amd64")
            self.assertIsNone(guestkernel._installed_version(root / "lib"))

    def test_a_better_one_that_cannot_be_fetched_leaves_the_kept_one(self):
        with (
            tempfile.TemporaryDirectory() as name,
            unittest.mock.patch.object(guestkernel.cache, "folder", return_value=Path(name)),
            unittest.mock.patch.object(guestkernel, "_is_better_offered", return_value=True),
            unittest.mock.patch.object(guestkernel, "_take_kernel", side_effect=LabError("no network")),
            unittest.mock.patch.object(guestkernel, "ready", side_effect=lambda folder: folder),
            contextlib.redirect_stderr(io.StringIO()) as spoken,
        ):
            with self.assertRaisesRegex(LabError, "no network"):
                guestkernel.prepare()
            (Path(name) / "6.1.0-57-amd64-0").mkdir()
            (Path(name) / "6.1.0-57-amd64-0" / "wanted").write_bytes(guestkernel.MODULES.read_bytes())
            self.assertEqual(guestkernel.prepare().name, "6.1.0-57-amd64-0")
            self.assertIn("no network", spoken.getvalue())


class EndingSignals(unittest.TestCase):
    def test_one_during_a_start_counts_when_it_is_over(self):
        before = signal.getsignal(signal.SIGTERM)
        with Signals() as signals:
            os.kill(os.getpid(), signal.SIGTERM)
            with self.assertRaises(Interrupted) as raised:
                signals.release()
        self.assertEqual((raised.exception.code, signal.getsignal(signal.SIGTERM)), (143, before))

    def test_one_after_it_counts_at_once(self):
        with self.assertRaises(Interrupted), Signals() as signals:
            signals.release()
            os.kill(os.getpid(), signal.SIGHUP)


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))


class Initramfs(Folder):
    @unittest.skipUnless(shutil.which("cpio"), "cpio is not installed")
    def test_cpio_reads_the_archive(self):
        (self.folder / "busybox").write_bytes(b"B" * 4097)
        (self.folder / "init").write_text("#!/bin/busybox sh\n")
        made = initramfs.build(self.folder / "busybox", self.folder / "init", {"one": b"1", "two": b"22"})
        listed = subprocess.run(["cpio", "-itv", "--quiet"], input=made, capture_output=True, check=True).stdout.decode()
        self.assertRegex(listed, r"crw-------.* 5, +1 .* dev/console")
        self.assertRegex(listed, r"-rwxr-xr-x.* 4097 .* bin/busybox")
        self.assertRegex(listed, r"bin/mount -> busybox")
        order = subprocess.run(["cpio", "-i", "--quiet", "--to-stdout", "modules/order"], input=made, capture_output=True).stdout
        self.assertEqual(order, b"one.ko\ntwo.ko\n")


class Modules(Folder):
    def module(self, name: str, *needed: str, signature: bytes = b"") -> bytes:
        content = b"\x7fELF..." + b"\0depends=" + ",".join(needed).encode() + b"\0name=" + name.encode() + b"\0"
        if not signature:
            return content
        trailer = bytes(8) + struct.pack(">I", len(signature))
        return content + signature + trailer + SIGNATURE_MARK

    def tree(self, **needed: list[str]) -> ModuleTree:
        (self.folder / "kernel").mkdir()
        (self.folder / "modules.builtin").write_text("kernel/fs/built-in-thing.ko\n")
        for name, others in needed.items():
            (self.folder / "kernel" / f"{name}.ko").write_bytes(self.module(name, *others))
        return ModuleTree(self.folder)

    def test_dependencies_come_first_and_once(self):
        tree = self.tree(top=["left", "right"], left=["base"], right=["base"], base=[])
        self.assertEqual(list(tree.in_loading_order(["top", "base"])), ["base", "left", "right", "top"])

    def test_what_the_kernel_has_built_in_is_left_out(self):
        self.assertEqual(list(self.tree(top=["built_in_thing"]).in_loading_order(["top"])), ["top"])

    def test_a_missing_module_is_named_with_who_wants_it(self):
        with self.assertRaisesRegex(LabError, "no module base .wanted by top"):
            self.tree(top=["base"]).in_loading_order(["top"])

    def test_one_that_some_kernels_lack_may_be_missing(self):
        self.assertEqual(list(self.tree(top=[]).in_loading_order(["?nowhere", "?top"])), ["top"])

    def test_signatures_are_cut_off(self):
        self.assertEqual(unsigned(self.module("a", signature=b"S" * 300)), self.module("a"))
        self.assertEqual(unsigned(self.module("a")), self.module("a"))

    def test_a_module_without_dependencies(self):
        self.assertEqual(dependencies(self.module("a")), [])
        self.assertEqual(dependencies(b"no module at all"), [])


class KernelImage(unittest.TestCase):
    def test_what_is_no_kernel_is_refused(self):
        with self.assertRaisesRegex(LabError, "no x86 kernel image"):
            uncompressed_kernel(bytes(1024))

    def test_the_version_of_the_package(self):
        for text, version in (
            ("6.1.0-57-amd64 (d@example) #1 SMP PREEMPT_DYNAMIC Debian 6.1.192-3 (2026-11-26)", "6.1.192-3"),
            ("6.9.1-mine (me@home) #1 SMP", "6.9.1-mine"),
        ):
            self.assertEqual(built_version(kernel_image(text)), version)
        with self.assertRaisesRegex(LabError, "no x86 kernel image"):
            built_version(bytes(1024))

    def test_both_compressions_of_debians_kernels(self):
        for program in ("xz", "zstd"):
            if not shutil.which(program):
                self.skipTest(f"{program} is not installed")
            packed = subprocess.run([program, "--stdout"], input=b"\x7fELF and more", capture_output=True, check=True).stdout
            self.assertEqual(uncompressed_kernel(kernel_image(payload=packed + struct.pack("<I", 13))), b"\x7fELF and more")

    def test_an_unknown_compression_is_refused(self):
        for payload in (bytes(3000), bytes.fromhex("28b52ffd") + bytes(100)):
            with self.assertRaisesRegex(LabError, "XZ or Zstandard"):
                uncompressed_kernel(kernel_image(payload=payload))


class Cache(Folder):
    def test_a_folder_appears_whole_or_not_at_all(self):
        target = self.folder / "made"
        with self.assertRaises(ZeroDivisionError):
            with cache.new_folder(target) as partial:
                (partial / "file").write_text("half")
                1 / 0
        self.assertEqual(list(self.folder.iterdir()), [])
        with cache.new_folder(target) as partial:
            (partial / "file").write_text("whole")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["made"])

    def test_a_file_appears_whole(self):
        cache.write_file(self.folder / "file", b"content")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["file"])
        self.assertEqual((self.folder / "file").stat().st_mode & 0o777, 0o644)


class JobScript(unittest.TestCase):
    def shell(self, job: Job, line: str) -> str:
        return subprocess.run(["sh", "-c", job.script() + line], capture_output=True, text=True, check=True).stdout

    def test_words_survive_the_shell(self):
        awkward = ["printf", "%s|", "a b", "$HOME", "'", '"', "", "*", "-n", "ü\n"]
        self.assertEqual(self.shell(Job(command=awkward), "run_command"), "a b|$HOME|'|\"||*|-n|ü\n|")

    def test_the_environment(self):
        job = Job(command=["true"], controllers=3, environment={"A": "b 'c'", "HOME": "/elsewhere"})
        self.assertEqual(self.shell(job, 'echo "$EDGEBLUE_ADAPTERS $A $HOME"'), "hci0,hci1,hci2 b 'c' /elsewhere\n")

    def test_without_controllers_no_adapters_are_promised(self):
        self.assertEqual(self.shell(Job(command=["true"], controllers=0), 'echo "${EDGEBLUE_ADAPTERS-unset}"'), "unset\n")

    def test_eatt_is_off_unless_asked_for(self):
        self.assertIn("/main.conf", Job(command=["true"]).script())
        for channels in (1, 2, 3):
            script = Job(command=["true"], channels=channels).script()
            file = re.search(r"-f (\S+\.conf)", script)[1]
            self.assertIn(f"\nChannels = {channels}\n", Path(file).read_text())
            job = Job(command=["true"], channels=channels)
            self.assertEqual(self.shell(job, 'echo "$RADIO_LAB_ATT_CHANNELS"'), f"{channels}\n")


class Conversation(Folder):
    def test_two_runs_never_share_a_folder(self):
        job = Job(command=["true"], out=self.folder / "out")
        with conversation(job):
            with self.assertRaisesRegex(LabError, "another run is using"):
                with conversation(job):
                    pass
        self.assertEqual(list((self.folder / "out").iterdir()), [])

    def test_what_an_earlier_run_said_is_forgotten(self):
        job = Job(command=["true"], out=self.folder)
        (self.folder / ".radio-lab").mkdir()
        (self.folder / ".radio-lab/exit").write_text("0")
        with conversation(job) as talk:
            self.assertIsNone(talk.exit_code())


class Console(unittest.TestCase):
    def test_the_end(self):
        self.assertEqual(telling_lines("\n".join(map(str, range(100)))), [str(number) for number in range(85, 100)])

    def test_a_panic_and_what_led_to_it(self):
        console = ["boot"] * 30 + ["the reason", "Kernel panic - not syncing"] + ["stack"] * 60
        shown = telling_lines("\n".join(console))
        self.assertIn("the reason", shown)
        self.assertEqual(len(shown), 15)

    def test_an_oops_with_its_stack(self):
        oops = ["list_del corruption. prev->next should be …", "------------[ cut here ]------------", "kernel BUG at lib/list_debug.c:59!"]
        console = ["boot"] * 30 + oops + ["stack"] * 40 + ["Kernel panic - not syncing"]
        self.assertEqual(telling_lines("\n".join(console)), console[30:])


class UserModeLinux(unittest.TestCase):
    def test_what_the_configuration_contradicts(self):
        wanted = "# a comment\nCONFIG_A=y\nCONFIG_B=y\n# CONFIG_C is not set\n# CONFIG_D is not set\n"
        self.assertEqual(uml.contradictions(wanted, "CONFIG_A=y\n# CONFIG_C is not set\n"), ["CONFIG_B=y"])
        self.assertEqual(uml.contradictions(wanted, "CONFIG_A=y\nCONFIG_B=y\nCONFIG_D=y\n"), ["CONFIG_D is not set"])


class Counter(unittest.TestCase):
    @unittest.skipIf(counter.kilohertz() is None, "this processor's counter cannot be read")
    def test_it_counts_evenly(self):
        self.assertAlmostEqual(counter.kilohertz() / counter.kilohertz(), 1, delta=0.001)


class Packages(unittest.TestCase):
    def test_every_program_has_its_package_on_the_list(self):
        listed = debian.package_list("packages.txt")
        for package in (debian.TOOLS | debian.EMULATOR).values():
            self.assertIn(package, listed)

    def test_missing_packages_are_found(self):
        self.assertEqual(debian.missing_packages(["dpkg", "no-such-package-here"]), ["no-such-package-here"])


class Scripts(unittest.TestCase):
    def test_the_guest_has_only_shell_that_parses(self):
        scripts = [path for path in (LAB / "guest").rglob("*") if path.is_file() and path.read_bytes()[:2] == b"#!"]
        for script in [*scripts, LAB / "guest/daemons.sh"]:
            with self.subTest(script.name):
                subprocess.run(["busybox", "sh", "-n", script], check=True)

    def test_lab_fault_outside_the_lab_says_so(self):
        done = subprocess.run([LAB / "guest/bin/lab-fault", "bluetoothd", "kill"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("not the inside of a radio lab", done.stderr)


if __name__ == "__main__":
    unittest.main()
