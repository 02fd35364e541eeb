import DBus
import Logging
import Streams
import Timing

/// The question that is open at an agent. bluetoothd asks one at a time and takes it back with `Cancel`.
final class PairingQuestions: Sendable {
  private struct Question: Sendable {
    let id: Int
    let device: ObjectPath
    /// What is being displayed; `nil` when a decision is waited for.
    let displayed: Passkey?
    let reply: Reply
    let decision: Task<Void, Never>
    let alarm: Task<Void, any Error>

    /// Leaves bluetoothd with a refusal, unless it has its answer.
    func end() {
      reply.finish(.failure(Self.cancelled))
      decision.cancel()
      alarm.cancel()
    }

    static let cancelled = DBusError(name: "org.bluez.Error.Canceled", message: "the question was taken back")
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

  /// Says no at once.
  func refuse(_ device: Device, _ reply: Reply, _ why: String) {
    logger.info("pairing refused", metadata: ["peer": "\(device.peer)", "error": "\(why)"])
    reply.finish(.failure(DBusError(name: "org.bluez.Error.Rejected", message: why)))
  }

  /// Puts a question; one that is still open is over.
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
          // Taken back, and answered, before it was decided.
        }
        self?.end { $0.id == id }
      }
      let alarm = Task { [weak self] in
        try await Task.sleep(for: limit, clock: .steady)
        logger.info("no decision about pairing in \(limit)", metadata: ["peer": "\(device.peer)"])
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

  /// Shows a passkey; bluetoothd repeats it for each digit that is entered at the peer.
  func display(_ passkey: Passkey, on device: Device, _ reply: Reply, _ show: @escaping @Sendable () async -> Void) {
    reply.finish(.success([]))
    let isShown = state.withLock { $0.open?.device == device.path && $0.open?.displayed == passkey }
    guard !isShown else { return }
    ask(about: device, displaying: passkey, reply) {
      await show()
      return []
    }
  }

  /// Takes the open question back.
  func cancel() { end { _ in true } }

  /// Nothing but the device itself tells that a displayed passkey is no longer wanted.
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
