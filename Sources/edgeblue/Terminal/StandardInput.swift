import Foundation
import Streams

/// What a person types, or a program sends, line by line.
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

  /// Whether a person can be asked.
  static var isTerminal: Bool { isatty(STDIN_FILENO) == 1 }

  /// The next line that comes after a question; `nil` at the end of the input, and when the task is cancelled. What came
  /// before the question is no answer to it, and goes. One question at a time: a second one ends the first.
  /// - Parameter ask: puts the question, when an answer would be heard already: a program answers at once.
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
    // A thread of its own, because reading blocks. It ends with the input, or with the program.
    Thread.detachNewThread {
      while let line = readLine() { state.withLock { $0.takeWaiter() }?.resume(returning: line) }
      state.withLock { state in
        state.hasEnded = true
        return state.takeWaiter()
      }?.resume(returning: nil)
    }
  }
}
