import DBus
import Glibc

/// The one thread that reads all packet sockets of the process.
final class PacketLoop: Sendable {
  struct Entry: Sendable {
    let number: Int32
    /// Held so that the number cannot be reused while the thread polls it.
    let descriptor: FileDescriptor
    let onPacket: @Sendable ([UInt8]) -> Void
    let onClose: @Sendable () -> Void
    var writers: [CheckedContinuation<Void, any Error>] = []
  }

  private struct State {
    var entries: [Int: Entry] = [:]
    var nextID = 0
  }

  private static let made = Lock<PacketLoop?>(nil)
  /// How many packets of one socket are read before the others get their turn.
  private static let burst = 64

  private let state = Lock(State())
  private let wakeUp: WakeUp

  static func shared() throws -> PacketLoop {
    try made.withLock { made in
      if let made { return made }
      let loop = PacketLoop(wakeUp: try WakeUp())
      try startThread(named: "ble-packets") { loop.run() }
      made = loop
      return loop
    }
  }

  private init(wakeUp: WakeUp) { self.wakeUp = wakeUp }

  func add(_ entry: Entry) -> Int {
    defer { wakeUp.signal() }
    return state.withLock { state in
      state.nextID += 1
      state.entries[state.nextID] = entry
      return state.nextID
    }
  }

  func remove(_ id: Int) {
    let entry = state.withLock { $0.entries.removeValue(forKey: id) }
    entry?.failWriters()
    wakeUp.signal()
  }

  func waitUntilWritable(_ id: Int) async throws {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let known = state.withLock { state in
          guard state.entries[id] != nil else { return false }
          state.entries[id]?.writers.append(continuation)
          return true
        }
        if known {
          wakeUp.signal()
        } else {
          continuation.resume(throwing: BlueZError(.notConnected, "the socket is closed"))
        }
      }
    } onCancel: {
      // All waiting writers of this socket look again; the cancelled one finds that it is.
      let writers = state.withLock { state -> [CheckedContinuation<Void, any Error>] in
        defer { state.entries[id]?.writers = [] }
        return state.entries[id]?.writers ?? []
      }
      for writer in writers { writer.resume() }
    }
  }

  private func run() {
    var buffer = [UInt8](repeating: 0, count: 2048)
    while true {
      let entries = state.withLock { Array($0.entries) }
      var polled = [pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0)]
      for (_, entry) in entries {
        let events = entry.writers.isEmpty ? POLLIN : POLLIN | POLLOUT
        polled.append(pollfd(fd: entry.number, events: Int16(events), revents: 0))
      }
      guard poll(&polled, nfds_t(polled.count), -1) > 0 else { continue }
      if polled[0].revents != 0 { wakeUp.clear() }
      for ((id, entry), polled) in zip(entries, polled.dropFirst()) where polled.revents != 0 {
        serve(id, entry, Int32(polled.revents), &buffer)
      }
    }
  }

  private func serve(_ id: Int, _ entry: Entry, _ events: Int32, _ buffer: inout [UInt8]) {
    if events & POLLOUT != 0 {
      let writers = state.withLock { state -> [CheckedContinuation<Void, any Error>] in
        defer { state.entries[id]?.writers = [] }
        return state.entries[id]?.writers ?? []
      }
      for writer in writers { writer.resume() }
    }
    var ended = events & (POLLERR | POLLNVAL) != 0
    if events & (POLLIN | POLLHUP) != 0 { ended = drain(entry, hungUp: events & POLLHUP != 0, &buffer) || ended }
    guard ended else { return }
    let known = state.withLock { $0.entries.removeValue(forKey: id) }
    guard let known else { return }
    known.failWriters()
    known.onClose()
  }

  /// - Returns: whether the other end is gone and everything it had sent is read.
  private func drain(_ entry: Entry, hungUp: Bool, _ buffer: inout [UInt8]) -> Bool {
    for _ in 0..<Self.burst {
      // Through the owning object: after a close the number may already be somebody else's.
      let result = entry.descriptor.withNumber { number in recv(number, &buffer, buffer.count, Int32(MSG_DONTWAIT)) }
      guard let count = result else { return true }
      if count > 0 {
        entry.onPacket(Array(buffer[..<count]))
      } else if count == 0 {
        // An empty packet is an empty value; end of file comes with POLLHUP only.
        if hungUp { return true }
        entry.onPacket([])
        return false
      } else if errno == EINTR {
        continue
      } else {
        return errno != EAGAIN
      }
    }
    return false
  }
}

extension PacketLoop.Entry {
  fileprivate func failWriters() {
    for writer in writers { writer.resume(throwing: BlueZError(.notConnected, "the link behind the socket has ended")) }
  }
}
