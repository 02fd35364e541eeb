"""The functions that a process executes, as scripts/function-order sees them, on a small program of C."""

import importlib.machinery
import importlib.util
import pathlib
import platform
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "function-order"
PROGRAM = """
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#define KEPT __attribute__((noinline, used))
static int count;
KEPT void first(void) { __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED); }
KEPT void second(void) { __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED); }
KEPT void never(void) { __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED); }
KEPT void *both(void *unused) { for (int i = 0; i < 1000; i++) second(); return unused; }
KEPT void ended(int number) { (void)number; _exit(7); }
int main(void) {
  pthread_t threads[4];
  signal(SIGTERM, ended);
  first();
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, both, 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
  if (count != 4001) return 1;
  raise(SIGTERM);
}
"""


@unittest.skipUnless(platform.machine() == "x86_64", "the breakpoints are those of x86-64")
class FunctionOrder(unittest.TestCase):
    def test_each_function_is_named_once_in_order_and_the_process_does_as_it_does(self):
        loader = importlib.machinery.SourceFileLoader("function_order", str(SCRIPT))
        script = importlib.util.module_from_spec(importlib.util.spec_from_loader("function_order", loader))
        loader.exec_module(script)
        with tempfile.TemporaryDirectory() as folder:
            program = f"{folder}/program"
            subprocess.run(["cc", "-O1", "-pthread", "-o", program, "-x", "c", "-"], input=PROGRAM, text=True, check=True)
            names = script.functions(program)
            traced = script.Traced([program], {}, names)
            status = traced.run(60)
        self.assertEqual(status, 7)
        reached = [name for place in traced.reached for name in names[place]]
        ours = [name for name in reached if name in {"main", "first", "both", "second", "never", "ended"}]
        self.assertEqual(ours, ["main", "first", "both", "second", "ended"])


if __name__ == "__main__":
    unittest.main()
