import Streams
import Timing

/// The end of a v2 mux at the phone: receives requests of one central and sends their replies as they are produced.
actor MuxServer {
  private let channel: any MuxChannel
  private let time: TimeSource
  private var machine: MuxServerMachine
  private let wake = WakeSignal()
  private let onAction: @Sendable (MuxServerMachine.Action) async -> Void
  private var hasGreeted = false

  /// - Parameters:
  ///   - channel: A channel that a central has just opened.
  ///   - requestLimit: The limit on a prompt, in bytes.
  ///   - time: The monotonic clock.
  ///   - onAction: Receives requests and cancellations.
  init(
    _ channel: any MuxChannel, requestLimit: Int, time: TimeSource,
    onAction: @Sendable @escaping (MuxServerMachine.Action) async -> Void
  ) {
    self.channel = channel
    self.time = time
    self.onAction = onAction
    machine = MuxServerMachine(
      terms: channel.terms(inflates: true), bearerLimit: channel.sendLimit, requestLimit: requestLimit)
  }

  /// Serves the mux until it closes.
  /// - Returns: The reason, for display.
  func run() async -> String {
    await channel.pump(wake, time, hasGreeted: { await self.hasGreeted }) {
      await self.next()
    } receive: { frame in
      try await self.receive(frame)
    } watch: {
      await self.watch()
    }
  }

  /// Ends replies that their central does not read, until the task is cancelled.
  /// - Returns: The reason to close the mux; `nil` when cancelled.
  private func watch() async -> String? {
    while true {
      do {
        try await time.sleep(for: .seconds(60))
      } catch {
        return nil  // cancelled
      }
      do throws(MalformedFrame) {
        let actions = try machine.sweep()
        wake.signal()
        for action in actions { await onAction(action) }
      } catch {
        return error.description
      }
    }
  }

  /// Sends more of a reply; has no effect on a stream that is closed.
  func append(_ stream: UInt32, _ text: String) {
    machine.append(stream, text)
    wake.signal()
  }

  /// Sends a part of a reply; has no effect on a stream that is closed.
  func append(_ stream: UInt32, _ part: ReplyPart) {
    machine.append(stream, part)
    wake.signal()
  }

  /// A Boolean value that indicates whether the central is told why a reply ends.
  var tellsCompletion: Bool { machine.tellsCompletion }

  /// Finishes a reply whose text was sent before.
  func finish(_ stream: UInt32, _ ending: MuxEnding) {
    machine.finish(stream, ending)
    wake.signal()
  }

  /// Reports the number of requests ahead of this one; 0 while it is being answered.
  func progress(_ stream: UInt32, ahead: Int) {
    machine.progress(stream, ahead: ahead)
    wake.signal()
  }

  private func next() -> [UInt8]? { machine.next() }

  private func receive(_ frame: MuxFrame) async throws {
    let actions = try machine.handle(frame)
    hasGreeted = true
    wake.signal()
    for action in actions { await onAction(action) }
  }
}
