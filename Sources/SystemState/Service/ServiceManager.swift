import Glibc
public import Logging
import Timing

/// The service manager that started this program: systemd, or another one with the protocol of `sd_notify(3)`.
///
/// A unit with `Type=notify` is started once ``notifyReady(_:)`` was called. A unit with `WatchdogSec=` is restarted when
/// it sends no keep-alive for that long; ``keepAlive(while:)`` sends them in time.
///
/// ```swift
/// if let manager = ServiceManager() {
///   manager.notifyReady("serving")
///   await manager.keepAlive { /* returns when all parts of the program respond */ }
///   manager.notifyStopping()
/// }
/// ```
public struct ServiceManager: Sendable {
  /// The longest time between two keep-alives; `nil` if the service manager has no watchdog for this program.
  public let watchdog: Duration?
  private let address: String
  private let logger: Logger

  /// Creates a service manager from the environment.
  /// - Parameter logger: The logger for notifications that could not be sent.
  /// - Returns: `nil` if no service manager that accepts notifications started the program.
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
    // The watchdog may be that of the parent process.
    let isOurs = watchdogProcess.map { $0 == "\(getpid())" } ?? true
    let microseconds = isOurs ? watchdogMicroseconds.flatMap(Int64.init) ?? 0 : 0
    watchdog = microseconds > 0 ? .microseconds(microseconds) : nil
  }

  /// Notifies the service manager that the program has started.
  /// - Parameter status: The current activity in a few words, which `systemctl status` shows.
  public func notifyReady(_ status: String) { notify(["READY=1", Self.line(status)]) }

  /// Notifies the service manager of the program's current activity.
  /// - Parameter status: The current activity in a few words, which `systemctl status` shows.
  public func report(_ status: String) { notify([Self.line(status)]) }

  /// Notifies the service manager that the program is about to stop.
  public func notifyStopping() { notify(["STOPPING=1"]) }

  /// Sends keep-alives in time until the task is cancelled; returns at once without a watchdog.
  /// - Parameter check: A closure that returns when all parts of the program respond. While it waits, no keep-alive is
  ///   sent, so that the service manager restarts a program that hangs.
  public func keepAlive(while check: @Sendable () async -> Void) async {
    guard let watchdog else { return }
    while !Task.isCancelled {
      await check()
      notify(["WATCHDOG=1"])
      // Half of the time is what sd_watchdog_enabled(3) advises.
      do { try await Task.sleep(for: watchdog / 2, clock: .steady) } catch { return }
    }
  }

  /// Returns the status in one line: a line break would begin another message.
  private static func line(_ status: String) -> String {
    "STATUS=" + String(status.map { $0.isNewline ? " " : $0 }.prefix(200))
  }

  private func notify(_ lines: [String]) {
    do throws(Refusal) {
      try send(Array(lines.joined(separator: "\n").utf8))
    } catch {
      logger.error(
        "notification of the service manager failed",
        metadata: ["message": "\(lines[0])", "socket": "\(address)", "reason": "\(error.reason)"])
    }
  }

  private struct Refusal: Error {
    let reason: String
    static var system: Refusal { Refusal(reason: String(cString: strerror(errno))) }
  }

  private func send(_ bytes: [UInt8]) throws(Refusal) {
    var name = Array(address.utf8)
    // An abstract socket has a NUL in place of the @.
    if name.first == UInt8(ascii: "@") { name[0] = 0 }
    var socketAddress = sockaddr_un()
    guard name[0] == 0 || name[0] == UInt8(ascii: "/"), name.count < MemoryLayout.size(ofValue: socketAddress.sun_path)
    else { throw Refusal(reason: "not the address of a Unix socket") }
    socketAddress.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &socketAddress.sun_path) { $0.copyBytes(from: name) }
    // The length of the address delimits an abstract name.
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
