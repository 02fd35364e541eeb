import DBus
import Logging
import Streams
import Timing

/// The pending request of bluetoothd to an agent. bluetoothd sends one at a time and withdraws it with `Cancel`.
final class PairingQuestions: Sendable {
  private struct Question: Sendable {
    let id: Int
    let device: ObjectPath
    /// The passkey that is being displayed; `nil` while a decision is pending.
    let displayed: Passkey?
    let reply: Reply
    let decision: Task<Void, Never>
    let alarm: Task<Void, any Error>

    /// Refuses the request unless it was answered.
    func end() {
      reply.finish(.failure(Self.cancelled))
      decision.cancel()
      alarm.cancel()
    }

    static let cancelled = DBusError(name: "org.bluez.Error.Canceled", message: "the request was withdrawn")
  }

  private struct State {
    var count = 0
    var open: Question?
  }

  private let state = Lock(State())
  private let limit: Duration
  private let logger: Logger

  init(limit: Duration, logger: Logger) {
    self.limit = limit
    self.logger = logger
  }

  deinit { state.withLock { $0.open }?.end() }

  /// Refuses at once.
  func refuse(_ device: Device, _ reply: Reply, _ why: String) {
    logger.info("pairing refused", metadata: ["peer": "\(device.peer)", "error": "\(why)"])
    reply.finish(.failure(DBusError(name: "org.bluez.Error.Rejected", message: why)))
  }

  /// Starts a decision; a pending one is refused.
  func ask(
    about device: Device, displaying displayed: Passkey? = nil, _ reply: Reply,
    _ decide: @escaping @Sendable () async throws -> [Value]
  ) {
    let limit = limit
    let logger = logger
    let old = state.withLock { state in
      state.count += 1
      let id = state.count
      let decision = Task { [weak self] in
        do {
          reply.finish(.success(try await decide()))
        } catch  where !Task.isCancelled {
          self?.refuse(device, reply, "\(error)")
        } catch {
          // Withdrawn, and answered, before there was a decision.
        }
        self?.end { $0.id == id }
      }
      let alarm = Task { [weak self] in
        try await Task.sleep(for: limit, clock: .steady)
        logger.info("no decision about pairing within \(limit)", metadata: ["peer": "\(device.peer)"])
        self?.end { $0.id == id }
      }
      defer {
        state.open = Question(
          id: id, device: device.path, displayed: displayed, reply: reply, decision: decision, alarm: alarm)
      }
      return state.open
    }
    old?.end()
  }

  /// Displays a passkey; bluetoothd repeats the call for each digit that is entered at the peer.
  func display(_ passkey: Passkey, on device: Device, _ reply: Reply, _ show: @escaping @Sendable () async -> Void) {
    reply.finish(.success([]))
    let isShown = state.withLock { $0.open?.device == device.path && $0.open?.displayed == passkey }
    guard !isShown else { return }
    ask(about: device, displaying: passkey, reply) {
      await show()
      return []
    }
  }

  /// Refuses the pending request.
  func cancel() { end { _ in true } }

  /// Handles a change of the cache. Only the device itself shows that a displayed passkey is no longer needed.
  func note(_ change: ObjectCache.Change) {
    switch change {
    case .serviceDown:
      cancel()
    case .removed(let path, let interfaces) where interfaces.contains(Device.interface):
      end { $0.device == path }
    case .changed(let path, Device.interface, let changed, _)
    where changed["Connected"]?.bool == false || changed["Paired"]?.bool == true || changed["Bonded"]?.bool == true:
      end { $0.device == path && $0.displayed != nil }
    default: break
    }
  }

  private func end(where isMeant: (Question) -> Bool) {
    let ended = state.withLock { state -> Question? in
      guard let open = state.open, isMeant(open) else { return nil }
      state.open = nil
      return open
    }
    ended?.end()
  }
}
