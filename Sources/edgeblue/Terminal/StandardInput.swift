import Foundation
import Streams

/// Reads lines of standard input, as answers to questions.
enum StandardInput {
  private struct State {
    var isRead = false
    var hasEnded = false
    var count = 0
    var waiter: (id: Int, continuation: CheckedContinuation<String?, Never>)?

    mutating func takeWaiter() -> CheckedContinuation<String?, Never>? {
      defer { waiter = nil }
      return waiter?.continuation
    }
  }

  private static let state = Lock(State())

  /// A Boolean value that indicates whether standard input is a terminal.
  static var isTerminal: Bool { isatty(STDIN_FILENO) == 1 }

  /// Returns the first line that arrives after a question; `nil` at the end of the input, or if the task is cancelled.
  ///
  /// Lines that arrived before the question are discarded. A second question ends the first.
  /// - Parameter ask: prints the question. It runs after reading has started, because a program may answer at once.
  static func answer(to ask: () -> Void) async -> String? {
    startReading()
    let id = state.withLock { state in
      state.count += 1
      return state.count
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let over = state.withLock { state -> CheckedContinuation<String?, Never>? in
          if state.hasEnded || Task.isCancelled { return continuation }
          defer { state.waiter = (id, continuation) }
          return state.takeWaiter()
        }
        ask()
        over?.resume(returning: nil)
      }
    } onCancel: {
      state.withLock { $0.waiter?.id == id ? $0.takeWaiter() : nil }?.resume(returning: nil)
    }
  }

  private static func startReading() {
    let isFirst = state.withLock { state in
      defer { state.isRead = true }
      return !state.isRead
    }
    guard isFirst else { return }
    // Reading blocks, so it needs a thread. The thread ends with the input, or with the process.
    Thread.detachNewThread {
      while let line = readLine() { state.withLock { $0.takeWaiter() }?.resume(returning: line) }
      state.withLock { state in
        state.hasEnded = true
        return state.takeWaiter()
      }?.resume(returning: nil)
    }
  }
}
