internal import Streams
internal import Timing

/// The part of a monitor that reads the system whenever it may have changed.
protocol MonitorWorker: Actor {
  /// Reads the system once.
  func read() async
  /// Closes the connection: a worker that has ended may still be referenced.
  func close()
}

extension WakeSignal {
  /// Starts a worker that reads now, after each signal and at an interval, until the signal is finished.
  /// - Parameters:
  ///   - worker: The worker, which the task keeps.
  ///   - interval: The longest time between two readings without a signal.
  ///   - onEnd: A closure that runs after the last reading.
  /// - Returns: The tasks, which the monitor cancels when it is closed.
  func start(
    _ worker: some MonitorWorker, every interval: Duration, onEnd: @escaping @Sendable () -> Void
  ) -> [Task<Void, Never>] {
    signal()
    let reading = Task {
      for await _ in signals { await worker.read() }
      await worker.close()
      onEnd()
    }
    return [reading, Task { await signal(every: interval) }]
  }
}
