import Timing

/// The phone's end of a v2 link: takes requests from one central and sends their replies as they are made.
actor LinkServer {
  private let channel: any LinkChannel
  private let time: TimeSource
  private var machine: LinkServerMachine
  private let wake = Wake()
  private let onAction: @Sendable (LinkServerMachine.Action) async -> Void
  private var hasGreeted = false

  /// - Parameters:
  ///   - channel: a channel a central just opened.
  ///   - requestLimit: the longest prompt, in bytes.
  ///   - time: the monotonic clock.
  ///   - onAction: told of requests, and of those no longer wanted.
  init(
    _ channel: any LinkChannel, requestLimit: Int, time: TimeSource,
    onAction: @Sendable @escaping (LinkServerMachine.Action) async -> Void
  ) {
    self.channel = channel
    self.time = time
    self.onAction = onAction
    machine = LinkServerMachine(
      terms: channel.terms(inflates: true), bearerLimit: channel.sendLimit, requestLimit: requestLimit)
  }

  /// Serves the link until it ends.
  /// - Returns: why, for a person.
  func run() async -> String {
    await channel.pump(wake, time, hasGreeted: { await self.hasGreeted }) {
      await self.next()
    } take: { frame in
      try await self.take(frame)
    }
  }

  /// More of a reply; without effect when nobody wants it any more.
  func append(_ stream: UInt32, _ text: String) {
    machine.append(stream, text)
    wake.signal()
  }

  /// The end of a reply.
  /// - Parameter reason: why it failed; empty when it did not.
  func finish(_ stream: UInt32, _ status: LinkStatus, durationMs: Int, reason: String = "") {
    machine.finish(stream, status, durationMs: durationMs, reason: reason)
    wake.signal()
  }

  /// How many requests come before this one; 0 when it is being answered.
  func progress(_ stream: UInt32, ahead: Int) {
    machine.progress(stream, ahead: ahead)
    wake.signal()
  }

  private func next() -> [UInt8]? { machine.next() }

  private func take(_ frame: LinkFrame) async throws {
    let actions = try machine.handle(frame)
    hasGreeted = true
    wake.signal()
    for action in actions { await onAction(action) }
  }
}
