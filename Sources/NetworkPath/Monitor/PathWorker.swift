internal import CNetlink
import Glibc
internal import Timing

/// The loop of the monitor's thread, which connects sockets and files to the state machine.
struct PathWorker: ~Copyable {
  /// The number of datagrams that are read before they are handled, so that a flood of them delays nothing else.
  private static let batch = 256

  private let core: MonitorCore
  private let buffer: UnsafeMutableRawBufferPointer
  private var dump: RouteDump
  private var devices: DeviceFiles
  private var machine: PathMachine

  init(_ core: MonitorCore) {
    self.core = core
    buffer = .allocate(byteCount: NetlinkSocket.bufferSize, alignment: 16)
    dump = RouteDump(socket: core.requests, buffer: buffer)
    devices = DeviceFiles(root: core.options.deviceFolder)
    machine = PathMachine(
      settleDown: core.options.settleDown, settleUp: core.options.settleUp,
      awaitsMetered: core.options.meteredSource != nil)
  }

  deinit {
    buffer.deallocate()
  }

  /// Runs until the monitor is closed.
  /// - Throws: ``NetworkPathError`` when the kernel delivers no more events.
  mutating func run() throws(NetworkPathError) {
    handle([.nameServers(core.resolver.read())])
    while true {
      let ready = wait()
      // Handled together, so that changes that come together are one update, also without a settle time.
      var events: [PathMachine.Event] = [.timer]
      if ready.inputs {
        guard let inputs = readInputs() else { return }
        events += inputs
      }
      // What the kernel chooses is asked for with what has changed: one alone could be a path that never was.
      if ready.events, let event = try readEvents() { events += [event, .choices(dump.choices())] }
      if ready.resolver { events.append(.nameServers(core.resolver.read())) }
      handle(events)
      // Subscribers on this thread, before anything else.
      core.executor.runJobs()
    }
  }

  private mutating func handle(_ events: [PathMachine.Event]) {
    for action in machine.handle(events, at: .now) {
      switch action {
      case .publish(let update): core.publish(update)
      case .probe(let route): core.probe(route)
      case .dump:
        // Subscribers on this thread first: a dump of a large table takes a while.
        core.executor.runJobs()
        let tables = readTables()
        handle([tables, .choices(dump.choices())])
      }
    }
  }

  private mutating func readTables() -> PathMachine.Event {
    do throws(NetworkPathError) {
      let messages = try dump.read().map { described($0) }
      devices.keep(messages.compactMap { if case .link(let link) = $0 { link.index } else { nil } })
      core.count { $0.dumps += 1 }
      return .dump(messages)
    } catch {
      core.dumpFailed(error)
      return .dumpFailed
    }
  }

  private mutating func readEvents() throws(NetworkPathError) -> PathMachine.Event? {
    var messages: [RouteMessage] = []
    var hasLost = false
    loop: for _ in 0..<Self.batch {
      switch try core.events.receive(into: buffer) {
      case .nothing: break loop
      case .overrun: hasLost = true
      case .bytes(let count):
        core.count { $0.events += 1 }
        let datagram = Bytes(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        for message in NetlinkMessage.all(in: datagram) {
          let message = described(RouteMessage(message))
          if message != .unrelated { messages.append(message) }
        }
      }
    }
    if hasLost { core.count { $0.overruns += 1 } }
    return hasLost || !messages.isEmpty ? .messages(messages, areLost: hasLost) : nil
  }

  /// Returns a message about a link with the facts that only its driver has.
  private mutating func described(_ message: RouteMessage) -> RouteMessage {
    switch message {
    case .link(var link):
      link.device = devices.facts(of: link)
      return .link(link)
    case .linkGone(let index): devices.forget(index)
    default: break
    }
    return message
  }

  /// - Returns: The inputs as events; `nil` when the monitor is closed.
  private func readInputs() -> [PathMachine.Event]? {
    core.wakeUp.clear()
    var events: [PathMachine.Event] = []
    for input in core.takeInputs() {
      switch input {
      case .metered(let metered): events.append(.metered(metered))
      case .probed(let result, let route): events.append(.probed(result, route: route))
      case .meteredIsLate: events.append(.meteredIsLate)
      case .close: return nil
      }
    }
    return events
  }

  private func wait() -> (inputs: Bool, events: Bool, resolver: Bool) {
    let events = Int16(POLLIN)
    var polled = [core.wakeUp.descriptor, core.events.descriptor, core.resolver.descriptor]
      .map { pollfd(fd: $0, events: events, revents: 0) }
    var timeout: Int32 = -1
    if core.executor.hasJobs {
      timeout = 0
    } else if let deadline = machine.deadline {
      let left = max(.zero, ContinuousClock.now.duration(to: deadline))
      // Rounded up, so that the deadline has passed then.
      timeout = Int32(clamping: left.milliseconds(rounded: .up))
    }
    guard poll(&polled, nfds_t(polled.count), timeout) > 0 else { return (false, false, false) }
    return (polled[0].revents != 0, polled[1].revents != 0, polled[2].revents != 0)
  }
}
