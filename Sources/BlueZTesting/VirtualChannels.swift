import BlueZ
import Glibc
import Streams

/// The part of the fake that stands in for the kernel: the L2CAP sockets of its sessions.
final class VirtualChannels: Sendable {
  typealias Waiter = CheckedContinuation<Bool, Never>

  /// An attempt to open a channel.
  struct Request: Sendable {
    var socket: Int
    var adapter: Int
    /// The peer, by the address that the program knows.
    var peer: BluetoothAddress
    var psm: UInt16
    var security: SecurityLevel
  }

  private struct State {
    var table = ChannelTable()
    var waiters: [Int: [Waiter]] = [:]
    var connect: (@Sendable (Request) async -> Void)?
  }

  private let addresses: [BluetoothAddress: Int]
  private let state = Lock(State())

  /// - Parameter adapters: The adapters of this host, and their addresses. Of several with one address the first is used.
  init(_ adapters: [(address: BluetoothAddress, faults: Faults)]) {
    addresses = Dictionary(adapters.enumerated().map { ($1.address, $0) }, uniquingKeysWith: { first, _ in first })
    for (index, adapter) in adapters.enumerated() {
      adapter.faults.onChannelsStall { [weak self] isStalled in
        self?.change { table in
          if isStalled { table.stalled.insert(index) } else { table.stalled.remove(index) }
          table.deliverAll()
        }
      }
    }
  }

  /// Sets the closure that makes connections for channels.
  func onConnect(_ body: @escaping @Sendable (Request) async -> Void) { state.withLock { $0.connect = body } }

  func connect(_ request: Request) async { await state.withLock { $0.connect }?(request) }

  /// Returns the index of the adapter that a socket is bound to.
  func adapter(at address: BluetoothAddress, _ doing: String) throws -> Int {
    guard let adapter = addresses[address] else { throw BlueZError(errno: EADDRNOTAVAIL, while: doing) }
    return adapter
  }

  /// Changes the table, and wakes the tasks that wait for what has changed.
  @discardableResult
  func change<R>(_ body: (inout ChannelTable) -> R) -> R {
    let (result, waiters) = state.withLock { state -> (R, [(Waiter, Bool)]) in
      let result = body(&state.table)
      let waiters = state.table.takeChanged().flatMap { id -> [(Waiter, Bool)] in
        let isOpen = state.table[id] != nil
        return (state.waiters.removeValue(forKey: id) ?? []).map { ($0, isOpen) }
      }
      return (result, waiters)
    }
    for (waiter, isOpen) in waiters { waiter.resume(returning: isOpen) }
    return result
  }

  /// Waits until a socket is ready, see `ChannelSocket`.
  func wait(_ id: Int, for direction: PacketDirection) async -> Bool {
    await withTaskCancellationHandler {
      await withCheckedContinuation { (waiter: Waiter) in
        let isOpen = state.withLock { state -> Bool? in
          guard let socket = state.table[id] else { return false }
          guard !socket.isReady(for: direction), !Task.isCancelled else { return true }
          state.waiters[id, default: []].append(waiter)
          return nil
        }
        if let isOpen { waiter.resume(returning: isOpen) }
      }
    } onCancel: {
      // They look again.
      let waiters = state.withLock { $0.waiters.removeValue(forKey: id) ?? [] }
      for waiter in waiters { waiter.resume(returning: true) }
    }
  }
}

extension ChannelTable.Socket {
  fileprivate func isReady(for direction: PacketDirection) -> Bool {
    switch self {
    case .idle, .connecting: false
    case .failed: true
    case .listening(let listener): !listener.waiting.isEmpty
    case .open(let channel):
      channel.ending != nil
        || (direction == .reading
          ? !channel.received.isEmpty : ChannelTable.Channel.hasRoom(beside: channel.unsent))
    }
  }
}
