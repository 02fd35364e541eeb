import DBus
import Glibc

/// The one thread that waits for all sockets of the process.
///
/// What bluetoothd sends is read here, at once. A socket whose sender can be held up is read by who uses it, and only
/// waited for here.
final class PacketLoop: Sendable {
  struct Entry: Sendable {
    let number: Int32
    /// Held so that the number cannot be reused while the thread polls it.
    let descriptor: FileDescriptor
    /// Who gets what is read here; `nil` when whoever uses the socket reads it.
    var receiver: Receiver?
    var readers: [Waiter] = []
    var writers: [Waiter] = []

    var hasWaiters: Bool { !readers.isEmpty || !writers.isEmpty }
  }

  struct Receiver: Sendable {
    let onPacket: @Sendable ([UInt8]) -> Void
    let onClose: @Sendable () -> Void
  }

  struct State {
    var entries: [Int: Entry] = [:] { didSet { haveChanged = true } }
    /// Whether the thread must look at the entries again; mostly a packet comes and nothing else has happened.
    var haveChanged = true
    var nextID = 0
  }

  private static let made = Lock<PacketLoop?>(nil)
  /// How many packets of one socket are read before the others get their turn.
  private static let burst = 64

  let state = Lock(State())
  let wakeUp: WakeUp

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
    entry?.dismissWaiters()
    wakeUp.signal()
  }

  private func run() {
    var buffer = [UInt8](repeating: 0, count: 2048)
    var watched: [(id: Int, entry: Entry)] = []
    var polled: [pollfd] = []
    while true {
      if let entries = changedEntries() {
        watched = entries
        polled = [pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0)]
        polled += watched.map { pollfd(fd: $0.entry.number, events: Int16($0.entry.events), revents: 0) }
      }
      guard poll(&polled, nfds_t(polled.count), -1) > 0 else { continue }
      if polled[0].revents != 0 { wakeUp.clear() }
      for (index, (id, entry)) in watched.enumerated() where polled[index + 1].revents != 0 {
        serve(id, entry, Int32(polled[index + 1].revents), &buffer)
      }
    }
  }

  /// What to wait for; `nil` when it is the same as before.
  private func changedEntries() -> [(id: Int, entry: Entry)]? {
    state.withLock { state in
      guard state.haveChanged else { return nil }
      state.haveChanged = false
      return state.entries.filter { $0.value.events != 0 }.map { (id: $0.key, entry: $0.value) }
    }
  }

  private func serve(_ id: Int, _ entry: Entry, _ events: Int32, _ buffer: inout [UInt8]) {
    let failed = events & (POLLERR | POLLNVAL) != 0
    if entry.hasWaiters { wakeWaiters(id, events) }
    guard let receiver = entry.receiver else { return }
    var ended = failed
    if events & (POLLIN | POLLHUP) != 0 {
      ended = drain(entry, to: receiver, hungUp: events & POLLHUP != 0, &buffer) || ended
    }
    guard ended else { return }
    let known = state.withLock { $0.entries.removeValue(forKey: id) }
    guard let known else { return }
    known.dismissWaiters()
    receiver.onClose()
  }

  /// - Returns: whether the other end is gone and everything it had sent is read.
  private func drain(_ entry: Entry, to receiver: Receiver, hungUp: Bool, _ buffer: inout [UInt8]) -> Bool {
    for turn in 0..<Self.burst {
      // Through the owning object: after a close the number may already be somebody else's.
      let result = entry.descriptor.withNumber { number in recv(number, &buffer, buffer.count, Int32(MSG_DONTWAIT)) }
      guard let count = result else { return true }
      if count > 0 {
        receiver.onPacket(Array(buffer[..<count]))
      } else if count == 0 {
        // An empty packet is an empty value; end of file comes with POLLHUP only, which may have come since the poll
        // before this burst.
        if hungUp || turn > 0 && hasHungUp(entry) { return true }
        receiver.onPacket([])
        return false
      } else if errno == EINTR {
        continue
      } else {
        return errno != EAGAIN
      }
    }
    return false
  }

  private func hasHungUp(_ entry: Entry) -> Bool {
    entry.descriptor.withNumber { number in
      var polled = pollfd(fd: number, events: 0, revents: 0)
      return poll(&polled, 1, 0) > 0 && Int32(polled.revents) & POLLHUP != 0
    } ?? true
  }
}
