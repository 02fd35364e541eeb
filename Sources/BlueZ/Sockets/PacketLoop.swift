import Glibc
import Streams
import Timing

/// The one thread that waits for all sockets of the process.
///
/// Packets of bluetoothd are read here at once. A socket whose sender has flow control is read by its user, and only
/// waited for here.
final class PacketLoop: Sendable {
  struct Entry: Sendable {
    let number: Int32
    /// A reference that keeps the number from being reused while the thread polls it.
    let descriptor: FileDescriptor
    /// The receiver of packets that are read here; `nil` when the user of the socket reads them.
    var receiver: Receiver?
    var readers: [Waiter] = []
    var writers: [Waiter] = []

    var hasWaiters: Bool { !readers.isEmpty || !writers.isEmpty }
  }

  /// The handlers of a socket: one object, because each packet passes it on.
  final class Receiver: Sendable {
    let onPacket: @Sendable ([UInt8]) -> Void
    /// Called after each burst of packets, to wake their reader.
    let onBurst: @Sendable () -> Void
    let onClose: @Sendable () -> Void

    init(
      onPacket: @escaping @Sendable ([UInt8]) -> Void, onBurst: @escaping @Sendable () -> Void,
      onClose: @escaping @Sendable () -> Void
    ) {
      self.onPacket = onPacket
      self.onBurst = onBurst
      self.onClose = onClose
    }
  }

  struct State {
    var entries: [Int: Entry] = [:] { didSet { haveChanged = true } }
    /// A Boolean value that indicates whether the thread must look at the entries again; usually only a packet has
    /// arrived.
    var haveChanged = true
    var nextID = 0
  }

  private static let made = Lock<PacketLoop?>(nil)
  /// The number of packets that are read from one socket before the others get their turn.
  private static let burst = 64

  let state = Lock(State())
  let wakeUp: WakeUp

  /// Returns the loop of this process, and starts it first where there is none.
  /// - Throws: ``BlueZError`` with the kernel's error number when the process has no descriptor or thread left.
  static func shared() throws(BlueZError) -> PacketLoop {
    try made.withLock { made throws(BlueZError) in
      if let made { return made }
      do throws(SystemCallError) {
        let loop = PacketLoop(wakeUp: try WakeUp(), timer: try KernelTimer())
        try startThread(named: "ble-packets") { loop.run() }
        made = loop
        return loop
      } catch {
        throw BlueZError(errno: error.errno, while: "starting the thread that reads the sockets (\(error.call))")
      }
    }
  }

  /// The timer that ends the rest of resting sockets.
  private let timer: KernelTimer

  private init(wakeUp: WakeUp, timer: KernelTimer) {
    self.wakeUp = wakeUp
    self.timer = timer
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
    // Where it is permitted: a reader that is scheduled too late loses packets. On Linux this priority is the thread's.
    _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, -10)
    var buffer = [UInt8](repeating: 0, count: 2048)
    var watched: [(id: Int, entry: Entry)] = []
    var polled: [pollfd] = []
    var bursts: [Int: PacketBursts] = [:]
    var isResting = false
    var mayHaveChanged = true
    while true {
      if mayHaveChanged, let entries = changedEntries() {
        watched = entries
        polled = [wakeUp.descriptor, timer.descriptor].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        polled += watched.map { pollfd(fd: $0.entry.number, events: Int16($0.entry.events), revents: 0) }
        let known = Set(watched.map(\.id))
        bursts = bursts.filter { known.contains($0.key) }
      }
      guard poll(&polled, nfds_t(polled.count), -1) > 0 else { continue }
      // A change of the entries wakes the thread; serving waiting tasks changes them, too.
      mayHaveChanged = polled[0].revents != 0
      if mayHaveChanged { wakeUp.clear() }
      if polled[1].revents != 0 {
        timer.stop()
        isResting = false
        for index in watched.indices { polled[index + 2].fd = watched[index].entry.number }
      }
      for index in watched.indices where polled[index + 2].revents != 0 {
        let (id, entry) = watched[index]
        let count = serve(id, entry, Int32(polled[index + 2].revents), &buffer)
        mayHaveChanged = mayHaveChanged || count == 0 || entry.hasWaiters
        guard count > 0, let receiver = entry.receiver else { continue }
        receiver.onBurst()
        bursts[id, default: PacketBursts()].read(count, at: Self.nanoseconds)
        guard bursts[id]?.rests == true, !entry.hasWaiters else { continue }
        // `poll` ignores a negative number.
        polled[index + 2].fd = -1
        if !isResting { timer.start(PacketBursts.rest) }
        isResting = true
      }
    }
  }

  private static var nanoseconds: Int64 {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
  }

  /// Returns the entries to wait for; `nil` when they have not changed.
  private func changedEntries() -> [(id: Int, entry: Entry)]? {
    state.withLock { state in
      guard state.haveChanged else { return nil }
      state.haveChanged = false
      return state.entries.filter { $0.value.events != 0 }.map { (id: $0.key, entry: $0.value) }
    }
  }

  /// - Returns: The number of packets.
  private func serve(_ id: Int, _ entry: Entry, _ events: Int32, _ buffer: inout [UInt8]) -> Int {
    let failed = events & (POLLERR | POLLNVAL) != 0
    if entry.hasWaiters { wakeWaiters(id, events) }
    guard let receiver = entry.receiver else { return 0 }
    var count = 0
    var ended = failed
    if events & (POLLIN | POLLHUP) != 0 {
      let drained = drain(entry, to: receiver, hungUp: events & POLLHUP != 0, &buffer)
      count = drained.count
      ended = drained.hasEnded || failed
    }
    guard ended, let known = state.withLock({ $0.entries.removeValue(forKey: id) }) else { return count }
    known.dismissWaiters()
    receiver.onClose()
    return count
  }

  /// - Returns: The number of packets, and whether the peer has closed the socket and everything it had sent is read.
  private func drain(
    _ entry: Entry, to receiver: Receiver, hungUp: Bool, _ buffer: inout [UInt8]
  ) -> (count: Int, hasEnded: Bool) {
    for count in 0..<Self.burst {
      // Through the owning object: after a close the number may already be in use for another file.
      let result = entry.descriptor.withNumber { number in
        while true {
          let count = recv(number, &buffer, buffer.count, Int32(MSG_DONTWAIT))
          if count >= 0 || errno != EINTR { return count }
        }
      }
      guard let size = result else { return (count, true) }
      if size > 0 {
        receiver.onPacket(Array(buffer[..<size]))
      } else if size == 0 {
        // An empty packet is an empty value; end of file comes with POLLHUP only, which may have come since the poll
        // before this burst.
        if hungUp || count > 0 && hasHungUp(entry) { return (count, true) }
        receiver.onPacket([])
        return (count + 1, false)
      } else {
        return (count, errno != EAGAIN)
      }
    }
    return (Self.burst, false)
  }

  private func hasHungUp(_ entry: Entry) -> Bool {
    entry.descriptor.withNumber { number in
      var polled = pollfd(fd: number, events: 0, revents: 0)
      return poll(&polled, 1, 0) > 0 && Int32(polled.revents) & POLLHUP != 0
    } ?? true
  }
}
