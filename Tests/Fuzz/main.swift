// fuzz list | fuzz seeds TARGET FOLDER | fuzz run TARGET [option of libFuzzer or folder]… | fuzz random TARGET SECONDS FOLDER
import DeterministicTesting
import Foundation

#if LIBFUZZER
  private typealias Callback = @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
  private typealias Words = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>

  /// The entry of libFuzzer for programs with a `main` of their own.
  @_silgen_name("LLVMFuzzerRunDriver")
  private func runDriver(_ count: UnsafeMutablePointer<CInt>, _ words: UnsafeMutablePointer<Words>, _ body: Callback)
    -> CInt
#endif

/// What libFuzzer's callback, which can capture nothing, calls.
nonisolated(unsafe) private var chosen: Target?

private func take(_ bytes: [UInt8]) {
  // An error is how a parser refuses.
  do { try chosen?.take(bytes) } catch {}
}

private func usage() -> Never {
  FileHandle.standardError.write(
    Data("fuzz list | seeds TARGET FOLDER | run TARGET [OPTION…] | random TARGET SECONDS FOLDER\n".utf8))
  exit(2)
}

private func files(of folder: String) throws -> [[UInt8]] {
  try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    .map { [UInt8](try Data(contentsOf: URL(filePath: folder + "/" + $0))) }
}

/// Changes inputs at random until the time is over. The last input stays in FOLDER.last when the process dies of it.
private func random(_ seconds: Int, _ folder: String) throws {
  var corpus = try files(of: folder)
  if corpus.isEmpty { corpus = [[]] }
  for bytes in corpus { take(bytes) }
  let seed = UInt64.random(in: 1...1_000_000)
  var mutator = Mutator(random: SeededGenerator(seed: seed))
  let end = ProcessInfo.processInfo.systemUptime + Double(seconds)
  let last = try LastInput(folder + ".last")
  var count = corpus.count
  while ProcessInfo.processInfo.systemUptime < end {
    for _ in 0..<100 {
      let bytes = mutator.input(of: corpus)
      last.keep(bytes)
      take(bytes)
    }
    count += 100
  }
  last.remove()
  print("seed \(seed)\nstat::number_of_executed_units: \(count)")
}

/// The variable with the name of the target, for the copies of this program that libFuzzer starts to merge a corpus: they
/// get its own options alone.
private let variable = "EDGEBLUE_FUZZ_TARGET"

private func run() throws {
  var words = CommandLine.arguments
  guard words.count > 1 else { usage() }
  if let name = ProcessInfo.processInfo.environment[variable], !["list", "seeds", "run", "random"].contains(words[1]) {
    words.insert(contentsOf: ["run", name], at: 1)
  }
  if words[1] == "list" {
    for target in Target.all { print(target.name) }
    return
  }
  guard words.count > 2, let target = Target.all.first(where: { $0.name == words[2] }) else { usage() }
  chosen = target
  switch (words[1], words.count) {
  case ("seeds", 4):
    for (index, seed) in target.seeds.enumerated() {
      try Data(seed).write(to: URL(filePath: words[3] + "/seed-\(index)"))
    }
  case ("random", 5): try random(Int(words[3]) ?? 0, words[4])
  case ("run", _):
    #if LIBFUZZER
      setenv(variable, target.name, 1)
      var arguments = ([words[0]] + words.dropFirst(3)).map { strdup($0) } + [nil]
      var count = CInt(arguments.count - 1)
      let status = arguments.withUnsafeMutableBufferPointer { buffer in
        var start: Words = buffer.baseAddress!
        return runDriver(&count, &start) { bytes, count in
          take([UInt8](UnsafeBufferPointer(start: bytes, count: count)))
          return 0
        }
      }
      exit(status)
    #else
      usage()
    #endif
  default: usage()
  }
}

try run()
