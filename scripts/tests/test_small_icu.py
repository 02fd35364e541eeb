"""Tests of the data that scripts/small-icu keeps."""
import importlib.machinery
import importlib.util
import struct
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[1] / "small-icu"
loader = importlib.machinery.SourceFileLoader("small_icu", str(SCRIPT))
small_icu = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
loader.exec_module(small_icu)


class SmallICUTests(unittest.TestCase):
    def test_what_is_written_is_read(self):
        items = {"icudt76l/b.res": b"12345", "icudt76l/a.icu": b"x" * 40, "icudt76l/coll/root.res": b""}
        for base in (32, 0x90):
            data = b"h" * base + small_icu.packed(items, base)
            found = small_icu.items_of(data, base)
            self.assertEqual(list(found), sorted(items))
            for name, item in items.items():
                self.assertEqual(found[name].rstrip(b"\0"), item)

    def test_items_begin_at_sixteen_bytes(self):
        data = b"h" * 32 + small_icu.packed({f"icudt76l/{name}.res": b"1" for name in "abc"}, 32)
        for index in range(3):
            self.assertEqual((32 + struct.unpack_from("<II", data, 36 + 8 * index)[1]) % 16, 0)

    def test_english_and_what_has_no_language_stay(self):
        kept = (
            "root.res", "en.res", "en_US_POSIX.res", "zoneinfo64.res", "nfkc.nrm", "uts46.nrm", "plurals.res",
            "brkitr/root.res", "brkitr/char.brk", "brkitr/word.brk", "brkitr/sent.brk",
        )  # fmt: skip
        for name in kept:
            self.assertTrue(small_icu.is_kept(f"icudt76l/{name}"), name)
        left_out = (
            "de.res", "lang/zh_Hant_TW.res", "en_GB.res", "translit/root.res", "ibm-37.cnv", "brkitr/thaidict.dict",
            "brkitr/word_fi_sv.brk", "brkitr/word_POSIX.brk", "brkitr/en_US_POSIX.res", "coll/ucadata.icu", "curr/en.res",
            "lang/en.res", "unames.icu", "units.res", "windowsZones.res", "nfkc_scf.nrm",
        )  # fmt: skip
        for name in left_out:
            self.assertFalse(small_icu.is_kept(f"icudt76l/{name}"), name)


if __name__ == "__main__":
    unittest.main()
