import Foundation

/// A program beside the test; it is ended with the test, by its pid.
final class Subprocess: Sendable {
  /// What it prints, line by line.
  let lines: AsyncStream<String>
  private let process: Process
  private let keyboard: Pipe?
  private let exit: AsyncStream<Int32>

  /// - Parameter hasKeyboard: whether the test types its input; without, it has the test's own.
  init(_ program: String, _ arguments: [String], hasKeyboard: Bool = false) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    keyboard = hasKeyboard ? Pipe() : nil
    if let keyboard { process.standardInput = keyboard }
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

  /// Types a line.
  func type(_ line: String) throws { try keyboard?.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8)) }

  /// The next line that contains a word.
  func line(with word: String, within limit: Duration = .seconds(60)) async throws -> String {
    let lines = lines
    return try await bounded(limit, "a line with \(word)") {
      for await line in lines where line.contains(word) { return line }
      throw TestTimeout(phase: "the program ended before it printed \(word)")
    }
  }

  /// Asks it to end.
  func terminate() { if process.isRunning { process.terminate() } }

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

  /// Runs a program to its end, and not to that of the daemons it leaves behind, which `Process` would wait for too.
  static func run(_ program: String, _ arguments: [String]) async throws -> Int32 {
    var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var pid: pid_t = 0
    let failure = posix_spawn(&pid, program, nil, nil, &words, environ)
    guard failure == 0 else { throw POSIXError(POSIXErrorCode(rawValue: failure) ?? .EIO) }
    return await withCheckedContinuation { [pid] continuation in
      Thread.detachNewThread {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) == -1 && errno == EINTR {}
        // Ended by a signal counts as -1.
        continuation.resume(returning: status & 0x7f == 0 ? (status >> 8) & 0xff : -1)
      }
    }
  }
}
