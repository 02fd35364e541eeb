internal import Streams
internal import Timing

/// A channel that carries the frames of a v2 mux, whole and in order.
///
/// A channel is an L2CAP channel, a GATT characteristic, or memory in tests.
public protocol MuxChannel: Sendable {
  /// The peer of the channel; all connections of one central to a phone have the same.
  var peer: PeerID { get }
  /// The limit on a frame to send, in bytes.
  var sendLimit: Int { get }
  /// The limit on a frame to receive, in bytes; at most 65535.
  var receiveLimit: Int { get }

  /// Sends a frame, and waits while the bearer has no credit.
  /// - Throws: An error when the channel has closed, or when the peer takes nothing for too long.
  func send(_ frame: [UInt8]) async throws
  /// Returns the next frame for the one reader; `nil` when the channel was closed.
  /// - Throws: An error when the channel failed; `CancellationError`.
  func receive() async throws -> [UInt8]?
  /// Closes the channel within a bounded time; frames sent before still arrive if the bearer works.
  func close() async
}

extension MuxChannel {
  /// Returns the terms of this side of the channel.
  ///
  /// The window covers the data in flight on a radio of 500 kB/s and 100 ms; more would only wait in queues.
  package func terms(inflates: Bool) -> MuxTerms {
    MuxTerms(
      window: 65536, frameLimit: UInt16(clamping: receiveLimit), inflates: inflates, takesDetails: true,
      takesForms: true)
  }

  /// Moves frames in both directions until the channel closes, a side violates the protocol, or the peer sends nothing
  /// for ten seconds at the start.
  /// - Parameters:
  ///   - wake: The signal that `next` may have a frame.
  ///   - time: The monotonic clock.
  ///   - hasGreeted: Returns `true` if the peer has sent a valid frame.
  ///   - next: Returns the next frame to send; `nil` when there is none.
  ///   - receive: Handles each frame; throws ``MalformedFrame`` to close the mux.
  ///   - watch: Runs beside the two, and returns a reason to close the mux; `nil` if there is none.
  /// - Returns: The reason why the mux closed, for display.
  func pump(
    _ wake: WakeSignal, _ time: TimeSource, hasGreeted: @Sendable @escaping () async -> Bool,
    next: @Sendable @escaping () async -> [UInt8]?,
    receive: @Sendable @escaping (MuxFrame) async throws -> Void,
    watch: @Sendable @escaping () async -> String? = { nil }
  ) async -> String {
    let reason = await withTaskGroup(of: String?.self) { group in
      group.addTask {
        do {
          try await time.sleep(for: .seconds(10))
          return await hasGreeted() ? nil : "the peer sent nothing for 10 s"
        } catch {
          return nil  // cancelled
        }
      }
      group.addTask { await read(receive) }
      group.addTask { await watch() }
      group.addTask {
        do {
          for await _ in wake.signals {
            while let frame = await next() { try await send(frame, within: time) }
          }
          return "cancelled"
        } catch {
          return "\(error)"
        }
      }
      defer { group.cancelAll() }
      while let reason = await group.next() {
        if let reason { return reason }
      }
      return "cancelled"
    }
    // Also in a task that is cancelled.
    await Task { await close() }.value
    return reason
  }

  /// Sends a frame, and fails if the peer takes it more slowly than any radio.
  private func send(_ frame: [UInt8], within time: TimeSource) async throws {
    // 1 kB/s, and the time after which ATT gives a connection up.
    let limit = Duration.seconds(30) + .milliseconds(frame.count)
    let slow = MalformedFrame(description: "the peer took no frame of \(frame.count) bytes within \(limit)")
    try await time.withLimit(limit, orThrow: slow) { try await send(frame) }
  }

  private func read(_ handle: (MuxFrame) async throws -> Void) async -> String {
    do {
      while let bytes = try await receive() {
        if let frame = try MuxFrame.decode(bytes) { try await handle(frame) }
      }
      return "the peer closed the channel"
    } catch let error as MalformedFrame {
      // Sent if possible, so that the log of the peer has the reason, too; the channel closes in any case.
      try? await send(MuxFrame.fail(reason: error.description).encoded())
      return error.description
    } catch {
      return "\(error)"
    }
  }
}
