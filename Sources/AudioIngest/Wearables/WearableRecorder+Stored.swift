internal import BlueZ
internal import Streams
internal import Timing

extension WearableRecorder {
  /// When what is stored is fetched.
  struct StoredTiming: Sendable {
    /// How long a stream runs before the radio is shared with it.
    var delay = Duration.seconds(2)
    /// How often a device is asked for more, while the link lasts.
    var interval = Duration.seconds(600)
    /// How soon after a failure.
    var retry = Duration.seconds(60)
  }

  /// Where a device stores audio, and what is to be done with it.
  struct Store: Sendable {
    var device: AudioDevice
    var codec: AudioCodec
    var format: StoredFormat
    /// When it was come to, in Unix milliseconds.
    var linkedAtMs: Int64
  }

  private enum Arrival: Sendable {
    case value([UInt8])
    case second
  }

  /// After so many seconds without a notification a device does not answer.
  private static let patience = 10
  /// The longest rest between two pieces.
  private static let longestRest = Duration.seconds(5)

  /// Fetches what the device has stored, beside the stream, for as long as the link lasts.
  func fetchStored(_ store: Store, of device: Device) async {
    var pause = storedTiming.delay
    while true {
      do {
        try await Task.sleep(for: pause, clock: .steady)
        let end = try await fetch(store, device)
        memory.withLock { $0.stored?.isFetching = false }
        if let problem = end.problem { tell(.problem(problem)) }
        guard !end.isFinal else { return }
        pause = end == .complete ? storedTiming.interval : storedTiming.retry
      } catch {
        memory.withLock { $0.stored?.isFetching = false }
        guard !Task.isCancelled else { return }
        tell(.problem("what the device has stored is not fetched for now: \(error)"))
        pause = storedTiming.retry
      }
    }
  }

  /// Makes segments of what has come, once the link is gone.
  func settleStored() async {
    do {
      try await stored.close()
    } catch {
      tell(.problem("what the device had stored is no segment yet: \(error)"))
    }
  }

  private func fetch(_ store: Store, _ device: Device) async throws -> TransferEnd {
    let control = try device.characteristic(OmiWearable.Storage.control, in: OmiWearable.Storage.service)
    let values = try await control.notifications(limit: 2048, overflow: .fail)
    let position = try await stored.open(store.device, store.codec, store.format, linkedAtMs: store.linkedAtMs)
    let (arrivals, source) = BoundedStream.make(of: Arrival.self, limit: 2048, policy: .dropNewest)
    let end = try await withThrowingTaskGroup(of: Void.self) { group -> TransferEnd in
      defer { group.cancelAll() }
      group.addTask {
        defer { source.finish() }
        for try await value in values { source.yield(.value(value)) }
      }
      group.addTask {
        while true {
          try await Task.sleep(for: .seconds(1), clock: .steady)
          source.yield(.second)
        }
      }
      return try await self.converse(store.format.transfer(from: position), control, device, arrivals)
    }
    if end == .complete { try await stored.seal() }
    return end
  }

  /// Does what a transfer says, until it ends.
  private func converse(
    _ begun: any StoreTransfer, _ control: RemoteCharacteristic, _ device: Device, _ arrivals: BoundedStream<Arrival>
  ) async throws -> TransferEnd {
    var (transfer, iterator) = (begun, arrivals.makeAsyncIterator())
    let before = memory.withLock { $0.stored?.counters } ?? StoredCounters()
    var actions = transfer.begin()[...]
    var (silence, pieceBegan, isFirstSize, isTold) = (0, TimeSource.continuous.now, true, false)
    while true {
      while let action = actions.popFirst() {
        switch action {
        case .write(let bytes): try await control.write(bytes, timeout: .seconds(10))
        case .readSize:
          let status = try device.characteristic(OmiWearable.Storage.status, in: OmiWearable.Storage.service)
          actions += transfer.take(size: try await status.read(timeout: .seconds(5)))
        case .keep(let records):
          if !isTold { tell(.stored(await note(transfer, before, isFetching: true))) }
          isTold = true
          try await stored.keep(records)
          actions += transfer.kept()
        case .restart(let next, let ring): try await stored.restart(at: next, ring: ring)
        case .filled(let next):
          try await stored.note(filledTo: next, atMs: isFirstSize ? nil : now().wallMs)
          isFirstSize = false
        case .discard(let next): try await stored.discard(from: next)
        case .cleared: try await stored.clear()
        case .rest:
          let took = TimeSource.continuous.now - pieceBegan
          try await Task.sleep(for: min(took, Self.longestRest), clock: .steady)
          pieceBegan = TimeSource.continuous.now
        case .end(let end):
          let status = await note(transfer, before, isFetching: false)
          if isTold { tell(.stored(status)) }
          return end
        }
      }
      _ = await note(transfer, before, isFetching: true)
      switch await iterator.next() {
      case .value(let value)?:
        silence = 0
        actions += transfer.take(value)
      case .second?:
        silence += 1
        if silence.isMultiple(of: Self.patience) { actions += transfer.timedOut() }
      case nil: throw BlueZError(.notConnected, "the link ended")
      }
    }
  }

  /// Remembers how it stands.
  /// - Parameter before: what was counted before this transfer.
  private func note(
    _ transfer: any StoreTransfer, _ before: StoredCounters, isFetching: Bool
  ) async -> StoredStatus {
    var counters = before + transfer.counters
    counters.empty = await stored.emptyRecords
    let status = StoredStatus(isFetching: isFetching, remaining: transfer.remaining, counters: counters)
    memory.withLock { $0.stored = status }
    return status
  }
}

extension TransferEnd {
  /// Whether it is of no use to ask this device again.
  fileprivate var isFinal: Bool { if case .unknown = self { true } else { false } }

  /// What a person should know of it.
  fileprivate var problem: String? {
    switch self {
    case .complete: nil
    case .refused(let status): "the device does not give what it has stored, with status \(status)"
    case .unanswered: "the device does not answer when it is asked for what it has stored"
    case .unreliable: "what the device has stored does not come whole; it stays there, and is asked for again"
    case .unknown(let length): "the device stores audio in a way that nobody here knows, in records of \(length) bytes"
    }
  }
}
