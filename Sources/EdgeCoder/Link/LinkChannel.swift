import Timing

/// What carries the frames of a v2 link, whole and in order: an L2CAP channel, GATT, or memory in tests.
public protocol LinkChannel: Sendable {
  /// The other side; a phone's connections from one central share it.
  var peer: PeerID { get }
  /// The longest frame that can be sent, in bytes.
  var sendLimit: Int { get }
  /// The longest frame that can be received, in bytes; at most 65535.
  var receiveLimit: Int { get }

  /// Sends a frame; waits while the bearer has no room.
  /// - Throws: when the channel has ended, or the other side takes nothing for too long.
  func send(_ frame: [UInt8]) async throws
  /// The next frame, for one reader; `nil` when the channel was closed.
  /// - Throws: when it broke; `CancellationError`.
  func receive() async throws -> [UInt8]?
  /// Ends the channel; what was sent before still arrives if the bearer lives. Bounded.
  func close() async
}

extension LinkChannel {
  /// What this side is ready for on this channel.
  ///
  /// The window covers what is on its way on a radio of 500 kB/s and 100 ms; more would only wait in the middle.
  func terms(inflates: Bool) -> LinkTerms {
    LinkTerms(window: 65536, frameLimit: UInt16(clamping: receiveLimit), inflates: inflates)
  }

  /// Moves frames both ways until the channel ends, one side does not keep to the protocol, or the other side says
  /// nothing for ten seconds at the start.
  /// - Parameters:
  ///   - wake: called when `next` may have a frame.
  ///   - time: the monotonic clock.
  ///   - hasGreeted: whether the other side has said something that makes sense.
  ///   - next: the next frame to send; `nil` when there is none.
  ///   - take: gets each frame; throws ``MalformedFrame`` to end the link.
  /// - Returns: why it ended, for a person.
  func pump(
    _ wake: Wake, _ time: TimeSource, hasGreeted: @Sendable @escaping () async -> Bool,
    next: @Sendable @escaping () async -> [UInt8]?,
    take: @Sendable @escaping (LinkFrame) async throws -> Void
  ) async -> String {
    let reason = await withTaskGroup(of: String?.self) { group in
      group.addTask {
        do {
          try await time.sleep(for: .seconds(10))
          return await hasGreeted() ? nil : "the other side said nothing for ten seconds"
        } catch {
          return nil  // cancelled
        }
      }
      group.addTask { await read(take) }
      group.addTask {
        do {
          for await _ in wake.calls {
            while let frame = await next() { try await send(frame) }
          }
          return "cancelled"
        } catch {
          return "\(error)"
        }
      }
      defer { group.cancelAll() }
      while let ended = await group.next() {
        if let ended { return ended }
      }
      return "cancelled"
    }
    // Also in a task that is cancelled.
    await Task { await close() }.value
    return reason
  }

  private func read(_ take: (LinkFrame) async throws -> Void) async -> String {
    do {
      while let bytes = try await receive() {
        if let frame = try LinkFrame.decode(bytes) { try await take(frame) }
      }
      return "the other side closed it"
    } catch let error as MalformedFrame {
      // Told, if it can be, so that the other side's log has the reason too.
      try? await send(LinkFrame.fail(reason: error.description).encoded())
      return error.description
    } catch {
      return "\(error)"
    }
  }
}
