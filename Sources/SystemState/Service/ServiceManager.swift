import Glibc
public import Logging
import Timing

/// What started this program and wants to hear how it is: systemd, or another that speaks the protocol of
/// `sd_notify(3)`.
///
/// A unit with `Type=notify` counts as started once ``isReady(_:)`` was called. One with `WatchdogSec=` is ended and
/// started again when nothing was heard of it for so long; ``keepAlive(while:)`` says it in time.
public struct ServiceManager: Sendable {
  /// How long it waits for a sign of life; `nil` when it does not watch.
  public let watchdog: Duration?
  private let address: String
  private let logger: Logger

  /// Takes what the environment says.
  /// - Parameter logger: gets what cannot be told, with the reason.
  /// - Returns: `nil` when the program was not started by one that wants to hear.
  public init?(logger: Logger = Logger(label: "edgeblue.service")) {
    func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
    self.init(
      address: variable("NOTIFY_SOCKET"), watchdogMicroseconds: variable("WATCHDOG_USEC"),
      watchdogProcess: variable("WATCHDOG_PID"), logger: logger)
  }

  init?(address: String?, watchdogMicroseconds: String?, watchdogProcess: String?, logger: Logger) {
    guard let address, !address.isEmpty else { return nil }
    self.address = address
    self.logger = logger
    // The watchdog of the process that started this one is not ours.
    let isOurs = watchdogProcess.map { $0 == "\(getpid())" } ?? true
    let microseconds = isOurs ? watchdogMicroseconds.flatMap(Int64.init) ?? 0 : 0
    watchdog = microseconds > 0 ? .microseconds(microseconds) : nil
  }

  /// The program works now, and what it does, in a few words.
  public func isReady(_ status: String) { tell(["READY=1", Self.line(status)]) }

  /// What it does now, in a few words: `systemctl status` shows them.
  public func report(_ status: String) { tell([Self.line(status)]) }

  /// The program is about to end.
  public func isStopping() { tell(["STOPPING=1"]) }

  /// Says in time that the program is alive, until the task is cancelled; returns at once where nobody watches.
  /// - Parameter check: returns when the program's parts answer. As long as it does not, nothing is said.
  public func keepAlive(while check: @Sendable () async -> Void) async {
    guard let watchdog else { return }
    while !Task.isCancelled {
      await check()
      tell(["WATCHDOG=1"])
      // Half of the time is what sd_watchdog_enabled(3) advises.
      do { try await Task.sleep(for: watchdog / 2, clock: .steady) } catch { return }
    }
  }

  /// One line, whatever it is made of: a line break would begin another message.
  private static func line(_ status: String) -> String {
    "STATUS=" + String(status.map { $0.isNewline ? " " : $0 }.prefix(200))
  }

  private func tell(_ lines: [String]) {
    do throws(Refusal) {
      try send(Array(lines.joined(separator: "\n").utf8))
    } catch {
      logger.error(
        "the service manager cannot be told",
        metadata: ["message": "\(lines[0])", "socket": "\(address)", "reason": "\(error.reason)"])
    }
  }

  private struct Refusal: Error {
    let reason: String
    static var system: Refusal { Refusal(reason: String(cString: strerror(errno))) }
  }

  private func send(_ bytes: [UInt8]) throws(Refusal) {
    var name = Array(address.utf8)
    // An abstract socket has a zero in place of the @.
    if name.first == UInt8(ascii: "@") { name[0] = 0 }
    var socketAddress = sockaddr_un()
    guard name[0] == 0 || name[0] == UInt8(ascii: "/"), name.count < MemoryLayout.size(ofValue: socketAddress.sun_path)
    else { throw Refusal(reason: "no address of a Unix socket") }
    socketAddress.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &socketAddress.sun_path) { $0.copyBytes(from: name) }
    // The end of an abstract name is that of the address.
    let length = socklen_t(MemoryLayout<sa_family_t>.size + name.count + (name[0] == 0 ? 0 : 1))

    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw .system }
    defer { close(descriptor) }
    let sent = withUnsafePointer(to: socketAddress) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), $0, length)
      }
    }
    guard sent == bytes.count else { throw .system }
  }
}
