import Foundation

// Plays days of an agent's life, one for each seed:
//
//   agent-simulation FIRST LAST [--hours N] [--tell]
//
// Prints each broken promise, and the seed that repeats it. `--tell` prints every event.

// The order of a dictionary is a part of what a seed decides.
if getenv("SWIFT_DETERMINISTIC_HASHING") == nil {
  setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1)
  var arguments = CommandLine.arguments.map { strdup($0) } + [nil]
  execv("/proc/self/exe", &arguments)
  fatalError("it cannot be started again")
}
var words = Array(CommandLine.arguments.dropFirst())
let isTelling = words.contains("--tell")
words.removeAll { $0 == "--tell" }
var hours = 24
if let place = words.firstIndex(of: "--hours"), place + 1 < words.count, let number = Int(words[place + 1]) {
  hours = number
  words.removeSubrange(place...(place + 1))
}
guard words.count == 2, let first = UInt64(words[0]), let last = UInt64(words[1]), first <= last else {
  print("usage: agent-simulation FIRST LAST [--hours N] [--tell]")
  exit(2)
}

Executor.install()
// Its error is seen where something is written.
signal(SIGXFSZ, SIG_IGN)
var failed: [UInt64] = []
for seed in first...last {
  let base = FileManager.default.fileExists(atPath: "/dev/shm") ? "/dev/shm" : NSTemporaryDirectory()
  let folder = "\(base)/agent-simulation-\(getpid())-\(seed)"
  if isTelling { print("seed \(seed)") }
  fflush(nil)
  Executor.begin(seed: seed)
  let world = World(seed: seed, folder: folder, isTelling: isTelling)
  world.play(hours: hours)
  try? FileManager.default.removeItem(atPath: folder)
  if !world.faults.isEmpty {
    failed.append(seed)
    for fault in world.faults { print("seed \(seed): \(fault)") }
  }
  // What was killed is never let go.
  _ = Unmanaged.passRetained(world)
}
fflush(nil)
print("\(last - first + 1) seeds of \(hours) h, \(failed.count) failed" + (failed.isEmpty ? "" : ": \(failed)"))
// Without the program's normal end: some tasks are still asleep.
fflush(nil)
_exit(failed.isEmpty ? 0 : 1)
