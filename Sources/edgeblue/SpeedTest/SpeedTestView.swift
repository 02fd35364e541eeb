import SpeedTest
import SpeedTestNIO
import Timing

/// The display of a running test: one line that is redrawn on a terminal, one line for each phase elsewhere.
struct SpeedTestView: Sendable {
  let server: String
  let plan: SpeedTestPlan
  let meter: SpeedTestMeter
  let terminal: Terminal

  private static let interval = Duration.milliseconds(100)
  /// The number of intervals over which the present rate is computed.
  private static let window = 5

  /// Runs a test and shows its progress until it ends.
  func watch<Value: Sendable>(_ test: @escaping @Sendable () async throws -> Value) async throws -> Value {
    let display = Task { await follow() }
    do {
      let value = try await test()
      display.cancel()
      await display.value
      return value
    } catch {
      display.cancel()
      await display.value
      throw error
    }
  }

  private func follow() async {
    guard !terminal.json else { return }
    var screen = LiveScreen()
    var phase: SpeedTestPhase?
    var recent: [SpeedTestMeter.Progress] = []
    while !Task.isCancelled {
      let progress = meter.progress
      if progress.phase != phase {
        phase = progress.phase
        recent = []
        if !terminal.isLive, let title = title(of: progress.phase) { terminal.whisper(title) }
      }
      recent = Array((recent + [progress]).suffix(Self.window + 1))
      if terminal.isLive { Output.write(screen.frame(lines(progress, since: recent[0]))) }
      // Cancelled when the test is over: the loop ends then.
      try? await Task.sleep(for: Self.interval, clock: .steady)
    }
    if terminal.isLive { Output.write(screen.frame([])) }
  }

  private func lines(_ progress: SpeedTestMeter.Progress, since: SpeedTestMeter.Progress) -> [String] {
    guard let title = title(of: progress.phase) else { return [] }
    let part = progress.elapsed / expected(of: progress.phase)
    var line = "\(title.padded(to: 28))\(Self.bar(part, width: 30))"
    let elapsed = (progress.elapsed - since.elapsed).inSeconds
    if transfers(progress.phase), elapsed > 0 {
      let rate = Double(progress.bytes - min(since.bytes, progress.bytes)) * 8 / elapsed
      line += "  \(SpeedTestTable.rate(rate))"
    }
    return [line]
  }

  /// A bar of a width in characters.
  static func bar(_ part: Double, width: Int) -> String {
    let full = Int((min(max(part, 0), 1) * Double(width)).rounded(.down))
    return String(repeating: "█", count: full) + String(repeating: "░", count: width - full)
  }

  private func transfers(_ phase: SpeedTestPhase) -> Bool {
    [.downloadPretest, .download, .uploadPretest, .upload].contains(phase)
  }

  private func expected(of phase: SpeedTestPhase) -> Duration {
    switch phase {
    case .connecting, .latency, .finished: .seconds(1)
    case .downloadPretest, .uploadPretest: .seconds(2)
    case .download, .upload: .seconds(plan.seconds)
    }
  }

  private func title(of phase: SpeedTestPhase) -> String? {
    switch phase {
    case .connecting: "Connecting to \(server)"
    case .downloadPretest: "Preparing the download"
    case .latency: "Measuring the ping"
    case .download: "Measuring the download"
    case .uploadPretest: "Preparing the upload"
    case .upload: "Measuring the upload"
    case .finished: nil
    }
  }
}
