internal import CNetlink
import Glibc

/// What the monitor's thread works with: sockets and files on one side, the machine on the other.
struct PathWorker: ~Copyable {
  /// How many datagrams are read before what they say is acted on, so that a flood of them keeps nothing waiting.
  private static let batch = 256

  private let core: MonitorCore
  private let buffer: UnsafeMutableRawBufferPointer
  private var dump: RouteDump
  private var devices: DeviceFiles
  private var machine: PathMachine

  init(_ core: MonitorCore) {
    self.core = core
    buffer = .allocate(byteCount: NetlinkSocket.bufferSize, alignment: 16)
    dump = RouteDump(socket: core.questions, buffer: buffer)
    devices = DeviceFiles(root: core.options.deviceFolder)
    machine = PathMachine(settleDown: core.options.settleDown, settleUp: core.options.settleUp)
  }

  deinit {
    buffer.deallocate()
  }

  /// Works until the monitor is closed.
  /// - Throws: ``NetworkPathError`` when the kernel gives no more events.
  mutating func run() throws(NetworkPathError) {
    machine.update(at: .now) { $0.dnsServers = core.resolver.read() }
    while true {
      // What is known is told before more is asked for: a link that is down is news without a dump.
      tell()
      if machine.dumpIsDue(at: .now) {
        askForAll()
        tell()
      }
      let ready = wait()
      if ready.inputs, !takeInputs() { return }
      if ready.events { try readEvents() }
      if ready.resolver { machine.update(at: .now) { $0.dnsServers = core.resolver.read() } }
    }
  }

  private mutating func tell() {
    let wayOut = machine.wayOut
    if let update = machine.takeUpdate(at: .now) { core.tell(update) }
    core.tellProbe(machine.hasWayOut ? wayOut : nil)
    // Readers on this thread, before anything else.
    core.executor.runJobs()
  }

  private mutating func askForAll() {
    do throws(NetworkPathError) {
      let answer = try dump.read().map { described($0) }
      machine.handleDump(answer, at: .now)
      devices.keep(machine.links)
      core.count { $0.dumps += 1 }
    } catch {
      machine.handleFailedDump(at: .now)
      core.dumpFailed(error)
    }
  }

  private mutating func readEvents() throws(NetworkPathError) {
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
    if hasLost {
      core.count { $0.overruns += 1 }
      machine.handleOverrun(at: .now)
    }
    if !messages.isEmpty { machine.handle(messages, at: .now) }
  }

  /// A message about a link, with what only its driver knows.
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

  /// - Returns: `false` when the monitor is closed.
  private mutating func takeInputs() -> Bool {
    core.wakeUp.clear()
    for input in core.takeInputs() {
      switch input {
      case .metered(let metered): machine.update(at: .now) { $0.metered = metered }
      case .probed(let found, let wayOut): machine.handleProbe(found, about: wayOut, at: .now)
      case .close: return false
      }
    }
    return true
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
      // Rounded up, so that it is really over then.
      timeout = Int32(
        clamping: left.components.seconds * 1000 + (left.components.attoseconds + 999_999_999_999_999)
          / 1_000_000_000_000_000)
    }
    guard poll(&polled, nfds_t(polled.count), timeout) > 0 else { return (false, false, false) }
    return (polled[0].revents != 0, polled[1].revents != 0, polled[2].revents != 0)
  }
}
