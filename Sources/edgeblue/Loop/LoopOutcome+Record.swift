import SpeedTest

extension LoopOutcome {
  /// Creates the outcome of a test from its record.
  init(_ record: SpeedTestRecord) {
    let result = record.result
    switch result.failure {
    case nil: self.init(.completed)
    case let failure? where failure.error == nil:
      self.init(.interrupted, reason: "the program was stopped in the phase \(failure.phase.words)")
    case let failure?: self.init(.failed, reason: failure.error.map { Failure($0).message })
    }
    download = result.download?.throughput.bitsPerSecond
    upload = result.upload?.throughput.bitsPerSecond
    pingMs = result.latency.map { $0.median / 1e6 }
    self.result = record.number > 0 ? record.number : nil
    alongside = record.alongside
  }
}
