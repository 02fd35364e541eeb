import Foundation

/// A program beside the test; it is ended with the test, by its pid.
final class Subprocess: Sendable {
  /// What it prints, line by line.
  let lines: AsyncStream<String>
  private let process: Process
  private let exit: AsyncStream<Int32>

  init(_ program: String, _ arguments: [String]) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    let (lines, line) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingNewest(4096))
    let (exit, exited) = AsyncStream.makeStream(of: Int32.self)
    process.terminationHandler = { process in
      exited.yield(process.terminationStatus)
      exited.finish()
    }
    try process.run()
    self.process = process
    self.lines = lines
    self.exit = exit
    // A thread of its own: reading blocks until the program ends.
    Thread.detachNewThread {
      var rest = Data()
      while true {
        let data = pipe.fileHandleForReading.availableData
        if data.isEmpty { break }
        rest += data
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
          line.yield(String(decoding: rest[..<end], as: UTF8.self))
          rest = Data(rest[rest.index(after: end)...])
        }
      }
      line.finish()
    }
  }

  deinit { if process.isRunning { process.terminate() } }

  /// Asks it to end.
  func terminate() { if process.isRunning { process.terminate() } }

  /// Its exit status, when it has ended.
  func status() async -> Int32 {
    for await status in exit { return status }
    return -1
  }

  /// Runs a program to its end. Its output is the test's own: a daemon it leaves behind may hold it open.
  static func run(_ program: String, _ arguments: [String]) async throws -> Int32 {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    return try await withCheckedThrowingContinuation { continuation in
      process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
      do {
        try process.run()
      } catch {
        continuation.resume(throwing: error)
      }
    }
  }
}
