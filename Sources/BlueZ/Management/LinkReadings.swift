import Streams

/// The readings of a connection at an interval, see ``Device/linkReadings(every:limit:)``.
///
/// The sequence finishes with the connection and with the session. Releasing it and its iterators, or cancelling the
/// consumer's task, ends the readings. Only one consumer may iterate at a time.
public struct LinkReadings: AsyncSequence, Sendable {
  private let readings: BoundedStream<LinkReading>
  private let failure: Lock<(any Error)?>

  /// Starts the readings.
  init(of device: Device, every interval: Duration, limit: Int) {
    let watch = LinkWatch(device)
    let failure = Lock<(any Error)?>(nil)
    let (stream, source) = BoundedStream.make(of: LinkReading.self, limit: limit, onTermination: { watch.end() })
    readings = stream
    self.failure = failure
    watch.begin(onEnd: { source.finish() }, when: { _ in true }) {
      // The work must not refer to the stream, whose release ends it.
      var hasRead = false
      do {
        while true {
          source.yield(try await device.linkReading())
          hasRead = true
          try await Task.sleep(for: interval, clock: .steady)
        }
      } catch is CancellationError {
        // The connection or the session has ended, or nobody reads any more.
      } catch {
        // The kernel may know of the end before bluetoothd does, and this work of that of the session before its stream.
        let isEnd = hasRead && (error as? BlueZError).map { Self.ends.contains($0.code) } ?? false
        if !isEnd, !device.core.state.withLock(\.isClosed) { failure.withLock { $0 = error } }
        source.finish()
      }
    }
  }

  /// The errors of a reading after the connection has ended.
  private static let ends: Set<BlueZError.Code> = [.notConnected, .notPowered, .noAdapter, .staleHandle]

  /// The number of readings that were dropped so far because they were consumed too slowly.
  public var dropped: Int { readings.dropped }

  /// Returns the iterator; only one consumer may iterate at a time.
  public func makeAsyncIterator() -> Iterator {
    Iterator(readings: readings.makeAsyncIterator(), failure: failure)
  }

  /// An iterator over the readings of a connection.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate var readings: BoundedStream<LinkReading>.Iterator
    fileprivate let failure: Lock<(any Error)?>

    /// Returns the next reading; `nil` when the connection has ended, or the task is cancelled.
    /// - Throws: The errors of ``Device/linkReading()``, once.
    public mutating func next() async throws -> LinkReading? { try await next(isolation: #isolation) }

    /// Returns the next reading without leaving the actor of the consumer.
    /// - Throws: The errors of ``next()``.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> LinkReading? {
      if let reading = await readings.next(isolation: actor) { return reading }
      guard !Task.isCancelled else { return nil }
      let error = failure.withLock { failure in
        defer { failure = nil }
        return failure
      }
      if let error { throw error }
      return nil
    }
  }
}
