import Foundation
import SystemTesting

/// A program beside the test; it is asked to end with the test, by its pid.
final class Subprocess: Sendable {
  /// What it prints, line by line.
  let lines: AsyncStream<String>
  private let process: ChildProcess
  private let exit: AsyncStream<Int32>

  /// - Parameter hasKeyboard: whether the test types its input; without, it reads nothing.
  init(_ program: String, _ arguments: [String], hasKeyboard: Bool = false) throws {
    let process = try ChildProcess(program, arguments, hasInput: hasKeyboard)
    let (lines, line) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingNewest(4096))
    let (exit, exited) = AsyncStream.makeStream(of: Int32.self)
    self.process = process
    self.lines = lines
    self.exit = exit
    // A thread of its own: reading blocks until the program ends.
    Thread.detachNewThread {
      var rest: [UInt8] = []
      while case let bytes = read(process.output), !bytes.isEmpty {
        rest += bytes
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
          line.yield(String(decoding: rest[..<end], as: UTF8.self))
          rest.removeSubrange(...end)
        }
      }
      line.finish()
      exited.yield(process.wait())
      exited.finish()
    }
  }

  deinit { terminate() }

  /// Types a line.
  func type(_ line: String) async throws { try await process.write(line + "\n") }

  /// The next line that contains a word.
  func line(with word: String, within limit: Duration = .seconds(120)) async throws -> String {
    let lines = lines
    return try await bounded(limit, "a line with \(word)") {
      for await line in lines where line.contains(word) { return line }
      throw TestTimeout(phase: "the program ended before it printed \(word)")
    }
  }

  /// Asks it to end.
  func terminate() { process.signal(SIGTERM) }

  /// Ends it as a crash would.
  func kill() { process.signal(SIGKILL) }

  /// Ends it, and waits until it has ended: what it still does at its end must not meet the next test.
  func end(within limit: Duration = .seconds(30)) async throws -> Int32 {
    terminate()
    return try await bounded(limit, "the end of the program") { await self.status() }
  }

  /// Its exit status, when it has ended.
  func status() async -> Int32 {
    for await status in exit { return status }
    return -1
  }

  /// Runs a program to its end, and not to that of the daemons it leaves behind.
  static func run(_ program: String, _ arguments: [String]) async throws -> Int32 {
    try await ChildProcess(program, arguments, output: .shown).outcome().status
  }
}
