import BlueZ
import Streams

/// The options of a connection that have an effect on Linux.
struct LinkOptions: Sendable {
  /// The time before the first attempt, in seconds.
  var delay: Double
  /// A Boolean value that indicates whether a lost connection is made again.
  var isRenewed: Bool
}

/// One connection that an app asked for: the attempts to make it, its life, and its end.
final class Link: Sendable {
  /// An event of a link, in the order in which the app is told.
  enum Event: Sendable {
    case connected(Device)
    case renamed
    case servicesChanged
    /// No connection was made, and no further attempt is.
    case failed(CBError)
    /// The connection, or the attempt to make it, has ended; without an error because the app ended it.
    case ended(CBError?, isReconnecting: Bool)
  }

  private struct Shared {
    var work: Task<Void, Never>?
    var isCancelled = false
    var failure: CBError?
  }

  private let shared = Lock(Shared())

  /// Connects, and reports until the link has ended for good.
  /// - Parameter previous: The link to the same device that is still ending.
  func start(
    to address: BluetoothAddress, over adapter: Adapter, _ options: LinkOptions, after previous: Link?,
    _ report: @escaping @Sendable (Event, Link) async -> Void
  ) {
    let work = Task {
      await previous?.shared.withLock { $0.work }?.value
      do {
        try await Task.sleep(for: .seconds(options.delay), clock: .continuous)
        repeat {
          let connection = try await Self.dial(address, over: adapter)
          let error = await self.follow(connection) { await report($0, self) }
          await connection.end()
          try Task.checkCancellation()
          await report(.ended(error, isReconnecting: options.isRenewed), self)
        } while options.isRenewed
      } catch {
        await report(self.outcome(of: error), self)
      }
    }
    let isCancelled = shared.withLock { shared in
      shared.work = work
      return shared.isCancelled
    }
    if isCancelled { work.cancel() }
  }

  /// Ends the link; the report follows.
  /// - Parameter failure: The reason to report; `nil` when the app wished it.
  func cancel(_ failure: CBError?) {
    let work = shared.withLock { shared in
      if !shared.isCancelled { shared.failure = failure }
      shared.isCancelled = true
      return shared.work
    }
    work?.cancel()
  }

  private func outcome(of error: any Error) -> Event {
    let (isCancelled, failure) = shared.withLock { ($0.isCancelled, $0.failure) }
    if isCancelled { return .ended(failure, isReconnecting: false) }
    return .failed((error as? BlueZError).map { CBError($0) } ?? CBError(.unknown, "\(error)"))
  }

  /// Attempts until the device is connected, as CoreBluetooth does, without a limit of time.
  private static func dial(_ address: BluetoothAddress, over adapter: Adapter) async throws -> DeviceConnection {
    while true {
      try Task.checkCancellation()
      do {
        return try await adapter.connect(to: address, .direct(attempts: 1))
      } catch let error as BlueZError where transient.contains(error.code) {
        Radio.logger.debug("not connected yet", metadata: ["error": "\(error)"])
      }
      try await Task.sleep(for: .milliseconds(500), clock: .continuous)
    }
  }

  /// The errors after which another attempt may succeed.
  private static let transient: Set<BlueZError.Code> = [
    .timedOut, .deviceNotFound, .connectFailed, .notConnected, .staleHandle, .inProgress, .notPowered, .noAdapter,
    .serviceUnavailable, .failed,
  ]

  /// Reports the events of a connection until it ends, or the task is cancelled.
  /// - Returns: The reason of the end.
  private func follow(_ connection: DeviceConnection, _ report: (Event) async -> Void) async -> CBError? {
    guard case .connected(let device) = connection.state else {
      return CBError(.peripheralDisconnected, "the connection ended at once")
    }
    let events = device.events(limit: 256)
    // It may have ended before there was anybody to hear of it. Not to be asked after the report: an end that comes while
    // that lasts is among the events, with its reason.
    let hasEnded = !device.isConnected
    await report(.connected(device))
    if hasEnded { return CBError(.peripheralDisconnected, "the connection ended") }
    for await event in events {
      switch event {
      case .disconnected(let reason): return Self.error(of: reason)
      case .gone: return CBError(.peripheralDisconnected, "bluetoothd stopped, or has forgotten the device")
      case .servicesChanged: await report(.servicesChanged)
      case .property("Name"): await report(.renamed)
      default: continue
      }
    }
    return nil
  }

  private static func error(of reason: DisconnectReason?) -> CBError {
    let text = reason?.description ?? "the connection ended"
    return CBError(reason == .timeout ? .connectionTimeout : .peripheralDisconnected, text)
  }
}
