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

  /// One object, because each packet passes it on.
  final class Receiver: Sendable {
    let onPacket: @Sendable ([UInt8]) -> Void
    /// Called some time after packets, when it is time to wake who reads them.
    let onPause: @Sendable () -> Void
    let onClose: @Sendable () -> Void

    init(
      onPacket: @escaping @Sendable ([UInt8]) -> Void, onPause: @escaping @Sendable () -> Void,
      onClose: @escaping @Sendable () -> Void
    ) {
      self.onPacket = onPacket
      self.onPause = onPause
      self.onClose = onClose
    }
  }

  struct State {
    var entries: [Int: Entry] = [:] { didSet { haveChanged = true } }
    /// Whether the thread must look at the entries again; mostly a packet comes and nothing else has happened.
    var haveChanged = true
    var nextID = 0
  }

  private static let made = Lock<PacketLoop?>(nil)
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

  private init(wakeUp: WakeUp) {
    self.wakeUp = wakeUp
  }

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
    // Where it is allowed: a reader that waits behind what it reads for loses packets. On Linux this is the thread's.
    _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, -10)
    let batch = PacketBatch()
    var watched: [(id: Int, entry: Entry)] = []
    var polled: [pollfd] = []
    var bursts = PacketBursts()
    /// Until when packets are left in their sockets, and who reads them is left asleep.
    var (rest, sleep) = (Int64?.none, Int64?.none)
    var untold: [Receiver] = []
    var mayHaveChanged = true
    while true {
      if mayHaveChanged, let entries = changedEntries() {
        watched = entries
        polled = [pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0)]
        polled += watched.map { pollfd(fd: $0.entry.number, events: 0, revents: 0) }
      }
      for index in watched.indices {
        polled[index + 1].events = Int16(watched[index].entry.events(atRest: rest != nil))
      }
      let end = min(rest ?? .max, sleep ?? .max)
      let timeout = end == .max ? -1 : max(end - Self.nanoseconds, 0) / 1_000_000 + 1
      let ready = poll(&polled, nfds_t(polled.count), Int32(timeout))
      let now = Self.nanoseconds
      if let end = rest, now >= end { rest = nil }
      // Who changes the entries wakes the thread; and serving who waits changes them.
      mayHaveChanged = ready > 0 && polled[0].revents != 0
      if mayHaveChanged { wakeUp.clear() }
      var (count, isFull) = (0, false)
      for index in watched.indices where ready > 0 && polled[index + 1].revents != 0 {
        let (id, entry) = watched[index]
        let served = serve(id, entry, Int32(polled[index + 1].revents), batch)
        mayHaveChanged = mayHaveChanged || served == 0 || entry.hasWaiters
        guard served > 0, let receiver = entry.receiver else { continue }
        count += served
        isFull = isFull || served == PacketBatch.limit
        if !untold.contains(where: { $0 === receiver }) { untold.append(receiver) }
      }
      if count > 0 {
        bursts.read(count, at: now)
        // A socket that was not emptied must not wait.
        rest = bursts.isGathering && !isFull ? now + PacketBursts.rest : nil
      }
      guard !untold.isEmpty else { continue }
      if bursts.isGathering, now < sleep ?? .max {
        sleep = sleep ?? now + PacketBursts.patience
      } else {
        for receiver in untold { receiver.onPause() }
        untold.removeAll(keepingCapacity: true)
        sleep = nil
      }
    }
  }

  private static var nanoseconds: Int64 {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
  }

  /// What to wait for; `nil` when it is the same as before.
  private func changedEntries() -> [(id: Int, entry: Entry)]? {
    state.withLock { state in
      guard state.haveChanged else { return nil }
      state.haveChanged = false
      return state.entries.filter { $0.value.events(atRest: false) != 0 }.map { (id: $0.key, entry: $0.value) }
    }
  }

  /// - Returns: how many packets there were.
  private func serve(_ id: Int, _ entry: Entry, _ events: Int32, _ batch: PacketBatch) -> Int {
    if entry.hasWaiters { wakeWaiters(id, events) }
    guard let receiver = entry.receiver else { return 0 }
    batch.clear()
    // Through the owning object: after a close the number may already be somebody else's.
    let hasEnded = entry.descriptor.withNumber(batch.read) ?? true
    for index in 0..<batch.count { receiver.onPacket(batch[index]) }
    guard hasEnded, let known = state.withLock({ $0.entries.removeValue(forKey: id) }) else { return batch.count }
    known.dismissWaiters()
    receiver.onClose()
    return batch.count
  }
}
