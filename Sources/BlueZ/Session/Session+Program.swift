public import DBus
import Dispatch
import Glibc

extension Session {
  /// Runs a program that is made of one body: opens a session, calls the body with it, and closes it.
  ///
  /// ```swift
  /// import BlueZ
  ///
  /// await Session.runProgram { session in
  ///   let adapter = try await session.adapter()
  ///   for await result in try await adapter.discover() { print(result.device) }
  /// }
  /// ```
  ///
  /// - `SIGINT` and `SIGTERM` cancel the body. When it has ended, whatever it throws then, the session ends with the
  ///   links that it made (``end()``), and the method returns. A second signal ends the program at once.
  /// - An error is printed to the standard error with its hint, for example when there is no message bus, and ends the
  ///   program with status 1. An error that leaves the main file of a program would be a crash with a backtrace.
  ///
  /// The signals are handled once in a process: call it once, from the main file.
  /// - Parameters:
  ///   - bus: The message bus on which bluetoothd is.
  ///   - body: The work of the program.
  public static func runProgram(
    bus: Connection.Bus = .system, _ body: @escaping @Sendable (Session) async throws -> Void
  ) async {
    let work = Task {
      let session = try await open(bus: bus)
      do {
        try await body(session)
      } catch {
        await session.end()
        throw error
      }
      await session.end()
    }
    let signals = [SIGINT, SIGTERM].map { number in
      // The source learns of a signal that is ignored, too.
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number)
      source.setEventHandler {
        work.cancel()
        signal(number, SIG_DFL)
      }
      source.resume()
      return source
    }
    do {
      try await work.value
    } catch {
      // When the program is ended, what was under way says so in its own words.
      if !work.isCancelled { fail(error) }
    }
    withExtendedLifetime(signals) {}
  }

  private static func fail(_ error: any Error) -> Never {
    let line = Array("\(error)\n".utf8)
    _ = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
    exit(1)
  }
}
