import Foundation
import SystemTesting

/// This program of tests once more, to be killed in the one test that it runs.
struct Victim {
  /// It ended by itself.
  struct Ended: Error { let said: String }

  private let process: ChildProcess
  /// What it has printed.
  private(set) var said = ""

  /// How often victims are killed: `EDGEBLUE_KILLS`, or the usual number.
  static func kills(usual: Int) -> Int { Int(ProcessInfo.processInfo.environment["EDGEBLUE_KILLS"] ?? "") ?? usual }

  /// Starts it.
  /// - Parameters:
  ///   - test: the name of its test.
  ///   - settings: what its environment has besides.
  init(_ test: String, _ settings: [String: String]) throws {
    process = try ChildProcess(
      try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"),
      ["--testing-library", "swift-testing", "--filter", test],
      environment: ProcessInfo.processInfo.environment.merging(settings) { $1 }, errors: .discarded)
  }

  /// Waits until it has said something. Blocks the thread.
  mutating func wait(for words: String) throws {
    while !said.contains(words) {
      let more = read(process.output)
      guard !more.isEmpty else { throw Ended(said: said) }
      said += String(decoding: more, as: UTF8.self)
    }
  }

  /// Kills it.
  /// - Returns: what stood behind a word on the last line that began with it, if one did.
  mutating func kill(last word: String) -> Int? {
    process.kill()
    said += readToEnd(process.output)
    // The last line may be cut off.
    let lines = said.split(separator: "\n").dropLast(said.hasSuffix("\n") ? 0 : 1)
    return lines.last { $0.hasPrefix(word + " ") }.flatMap { Int($0.dropFirst(word.count + 1)) }
  }

  /// Says something in the victim: a line that is out when this returns.
  static func say(_ line: String) { _ = (line + "\n").withCString { write(STDOUT_FILENO, $0, strlen($0)) } }
}
