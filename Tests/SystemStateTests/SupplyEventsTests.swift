import CLinux
import Dispatch
import Foundation
import Streams
import SystemTesting
import Testing

@testable import SystemState

@Suite("The kernel's events of power supplies") struct SupplyEventsTests {
  @Test(
    "An event is recognised by its subsystem",
    arguments: [
      (["change@/devices/AC", "ACTION=change", "SUBSYSTEM=power_supply", "SEQNUM=5"], true),
      (["change@/devices/AC", "ACTION=change", "SUBSYSTEM=power_supply"], true),
      (["add@/devices/hci0", "ACTION=add", "SUBSYSTEM=bluetooth"], false),
      (["SUBSYSTEM=power_supply", "ACTION=change"], false),
      (["change@/x", "SUBSYSTEM=power_supply_like", "DEVPATH=SUBSYSTEM=power_supply"], false),
      ([], false), ([""], false),
    ]) func subsystem(_ parts: [String], _ expected: Bool)
  {
    let bytes = Array(parts.joined(separator: "\0").utf8)
    #expect(SupplyEvents.isOfSupply(bytes[...]) == expected)
    #expect(SupplyEvents.isOfSupply((bytes + [0])[...]) == expected)
  }

  @Test(
    "A plug that the kernel reports is read at once",
    .enabled(if: EventNamespace.isPermitted, "needs root and network namespaces")
  ) func plugIsReadAtOnce() async throws {
    let kernel = try EventNamespace()
    let folder = try Folder()
    try folder.write("AC", ["type": "Mains", "online": "0"])
    try folder.write("BAT0", ["type": "Battery", "status": "Discharging", "capacity": "40"])
    var options = PowerMonitor.Options()
    options.bus = nil
    options.supplyFolder = folder.path
    options.interval = .seconds(3600)
    options.openEvents = { kernel.events }
    let monitor = try await PowerMonitor.start(options)
    #expect(monitor.snapshot.externalPower == .battery)
    let seen = Watcher(monitor.updates(limit: 1000))

    try folder.write("AC", ["type": "Mains", "online": "1"])
    try kernel.report(["change@/devices/AC", "ACTION=change", "SUBSYSTEM=power_supply"])
    try await seen.until("plugged") { $0.snapshot.externalPower == .supply }
    try folder.write("AC", ["type": "Mains", "online": "0"])
    try kernel.report(["change@/devices/AC", "ACTION=change", "SUBSYSTEM=power_supply"])
    try await seen.until("unplugged") { $0.snapshot.externalPower == .battery }

    monitor.close()
    // The thread of the events ends, and with it the socket.
    try await eventually { kernel.events.withNumber { _ in true } == nil }
  }

  @Test("A monitor without events follows its interval") func withoutEvents() async throws {
    let folder = try Folder()
    try folder.write("AC", ["type": "Mains", "online": "1"])
    var options = PowerMonitor.Options()
    options.bus = nil
    options.supplyFolder = folder.path
    options.interval = .milliseconds(100)
    options.openEvents = { () throws(SystemCallError) in
      throw SystemCallError("socket(AF_NETLINK)", errno: EAFNOSUPPORT)
    }
    let monitor = try await PowerMonitor.start(options)
    let seen = Watcher(monitor.updates(limit: 1000))
    try folder.write("BAT0", ["type": "Battery", "status": "Discharging", "capacity": "40"])
    try folder.write("AC", ["type": "Mains", "online": "0"])
    try await seen.until("unplugged") { $0.snapshot.externalPower == .battery }
    monitor.close()
  }
}

/// A network namespace in which a test makes the kernel report events, so that no udev of this machine hears them.
private final class EventNamespace: Sendable {
  /// The socket of a monitor.
  let events: FileDescriptor
  private let kernel: FileDescriptor

  static let isPermitted: Bool = {
    do {
      _ = try EventNamespace()
      return true
    } catch {
      return false
    }
  }()

  init() throws {
    let opened = Lock(Result<(FileDescriptor, FileDescriptor), any Error>?.none)
    let hasOpened = DispatchSemaphore(value: 0)
    // Its own thread, which ends with its namespace. No task waits on it: a thread that it started would be in there, too.
    try startThread(named: "namespace") {
      let result = Result { try Self.open() }
      opened.withLock { $0 = result }
      hasOpened.signal()
    }
    hasOpened.wait()
    guard let result = opened.withLock({ $0 }) else { preconditionFailure("the thread has opened or failed") }
    (events, kernel) = try result.get()
  }

  private static func open() throws -> (FileDescriptor, FileDescriptor) {
    // Swift's Glibc module has no unshare.
    let unshare = dlsym(nil, "unshare").map { unsafeBitCast($0, to: (@convention(c) (Int32) -> Int32).self) }
    let newNetwork: Int32 = 0x4000_0000
    guard unshare?(newNetwork) == 0 else { throw SystemCallError("unshare") }
    let kernel = socket(AF_NETLINK, Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue), NETLINK_KOBJECT_UEVENT)
    guard kernel >= 0 else { throw SystemCallError("socket") }
    return (try SupplyEvents.open(), FileDescriptor(owning: kernel))
  }

  /// Has the kernel report an event.
  func report(_ parts: [String]) throws {
    let text = Array((parts.joined(separator: "\0") + "\0").utf8)
    var head = nlmsghdr()
    head.nlmsg_len = UInt32(MemoryLayout<nlmsghdr>.size + text.count)
    // Any type that is no control message.
    head.nlmsg_type = 0x10
    head.nlmsg_flags = UInt16(NLM_F_REQUEST)
    let message = withUnsafeBytes(of: head) { Array($0) } + text
    let sent = kernel.withNumber { send($0, message, message.count, 0) }
    guard sent == message.count else { throw SystemCallError("send") }
  }
}
