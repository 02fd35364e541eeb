internal import AudioIngest
internal import BlueZ
internal import Streams
internal import Timing

extension WearableRecorder {
  /// The times at which stored audio is fetched.
  package struct StoredTiming: Sendable {
    /// The duration of a stream before the radio is shared with a transfer.
    var delay = Duration.seconds(2)
    /// The interval between two transfers while the connection lasts.
    var interval = Duration.seconds(600)
    /// The time between a failure and the next attempt.
    var retry = Duration.seconds(60)
  }

  /// A device's store, with what is known for its segments.
  struct Store: Sendable {
    var device: AudioDevice
    var codec: AudioCodec
    var service: StoredAudioService
    /// The time of the connection, in Unix milliseconds.
    var linkedAtMs: Int64
  }

  private enum Arrival: Sendable {
    case value([UInt8])
    case second
  }

  /// The progress of one transfer.
  private struct Progress {
    /// The counters before this transfer.
    let before: StoredCounters
    /// The number of seconds without a notification.
    var silence = 0
    /// The instant at which the present group of records was requested.
    var groupStart = TimeSource.continuous.now
    /// A Boolean value that indicates whether the size was read only once: it is that at the connection.
    var isFirstSize = true
    /// A Boolean value that indicates whether the start of the transfer was published.
    var isPublished = false
  }

  /// The number of seconds without a notification after which a request has timed out.
  private static let patience = 10
  /// The longest rest between two groups of records.
  private static let longestRest = Duration.seconds(5)

  /// Fetches the device's stored audio, beside the stream, for as long as the connection lasts.
  func fetchStored(_ store: Store, of device: Device) async {
    let timing = settings.storedTiming
    var delay = timing.delay
    while true {
      do {
        try await Task.sleep(for: delay, clock: .steady)
        let end = try await fetch(store, device)
        memory.withLock { $0.stored?.isFetching = false }
        if let problem = end.problem { publish(.problem(problem)) }
        guard !end.isFinal else { return }
        delay = end == .complete ? timing.interval : timing.retry
      } catch {
        memory.withLock { $0.stored?.isFetching = false }
        guard !Task.isCancelled else { return }
        publish(.problem("fetching the stored audio failed: \(error)"))
        delay = timing.retry
      }
    }
  }

  /// Makes segments of the records fetched so far, once the device is disconnected.
  func sealStored() async {
    do {
      try await stored.close()
    } catch {
      publish(.problem("making segments of the stored audio failed: \(error)"))
    }
  }

  private func fetch(_ store: Store, _ device: Device) async throws -> TransferEnd {
    let control = try device.characteristic(store.service.control, in: store.service.service)
    let values = try await control.notifications(limit: 2048, overflow: .fail)
    let position = try await stored.open(
      store.device, store.codec, store.service.format, linkedAtMs: store.linkedAtMs)
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
      let transfer = store.service.format.transfer(from: position)
      return try await self.run(transfer, control, store.service, device, arrivals)
    }
    if end == .complete { try await stored.seal() }
    return end
  }

  /// Performs the actions of a transfer until it ends.
  private func run(
    _ started: any StoreTransfer, _ control: RemoteCharacteristic, _ service: StoredAudioService, _ device: Device,
    _ arrivals: BoundedStream<Arrival>
  ) async throws -> TransferEnd {
    var transfer = started
    var iterator = arrivals.makeAsyncIterator()
    var progress = Progress(before: memory.withLock { $0.stored?.counters } ?? StoredCounters())
    var actions = transfer.handle(.start)[...]
    while true {
      while let action = actions.popFirst() {
        switch action {
        case .write(let bytes): try await control.write(bytes, timeout: .seconds(10))
        case .readSize:
          let status = try device.characteristic(service.status, in: service.service)
          actions += transfer.handle(.size(try await status.read(timeout: .seconds(5))))
        case .keep(let records):
          let status = await update(transfer, progress.before, isFetching: true)
          if !progress.isPublished { publish(.stored(status)) }
          progress.isPublished = true
          try await stored.keep(records)
          actions += transfer.handle(.kept)
        case .end(let end):
          let status = await update(transfer, progress.before, isFetching: false)
          if progress.isPublished { publish(.stored(status)) }
          return end
        default: try await perform(action, &progress)
        }
      }
      _ = await update(transfer, progress.before, isFetching: true)
      switch await iterator.next() {
      case .value(let value)?:
        progress.silence = 0
        actions += transfer.handle(.notification(value))
      case .second?:
        progress.silence += 1
        if progress.silence.isMultiple(of: Self.patience) { actions += transfer.handle(.timedOut) }
      case nil: throw BlueZError(.notConnected, "the connection was lost")
      }
    }
  }

  /// Performs an action that needs no response from the transfer.
  private func perform(_ action: TransferAction, _ progress: inout Progress) async throws {
    switch action {
    case .restart(let next, let ring): try await stored.restart(at: next, ring: ring)
    case .filled(let next):
      try await stored.setFilled(to: next, atMs: progress.isFirstSize ? nil : settings.now().wallMs)
      progress.isFirstSize = false
    case .discard(let next): try await stored.discard(from: next)
    case .cleared: try await stored.clear()
    case .rest:
      let took = TimeSource.continuous.now - progress.groupStart
      try await Task.sleep(for: min(took, Self.longestRest), clock: .steady)
      progress.groupStart = TimeSource.continuous.now
    case .write, .readSize, .keep, .end: break
    }
  }

  /// Updates the status of the transfer.
  /// - Parameter before: The counters before this transfer.
  private func update(
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
  /// A Boolean value that indicates whether further attempts with this device are useless.
  fileprivate var isFinal: Bool { if case .unknown = self { true } else { false } }

  /// The message about the end, for display; `nil` if the transfer is complete.
  fileprivate var problem: String? {
    switch self {
    case .complete: nil
    case .refused(let status): "the device refused to send its stored audio: status \(status)"
    case .unanswered: "the device did not respond to the request for its stored audio"
    case .unreliable: "the stored audio arrived incomplete; it stays on the device, and is requested again"
    case .unknown(let length): "the device stores audio in an unsupported format, with \(length) bytes per record"
    }
  }
}
