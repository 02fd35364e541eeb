import DBus
import Foundation
import Testing

@testable import NetworkPath

/// A network namespace of a test's own: that of one thread, which opens sockets and starts programs in it. With the
/// last of those the kernel removes it and all interfaces in it, so that nothing is left behind whatever happens.
final class Namespace: Sendable {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  private typealias Job = @Sendable () -> Void

  /// Whether namespaces may be made and there is an `ip` to furnish them with.
  static let isPermitted: Bool = {
    do {
      return try run("/usr/bin/env", ["unshare", "--net", "ip", "link"]).status == 0
    } catch {
      return false
    }
  }()

  private let jobs: BlockingQueue<Job>

  /// - Parameter isBare: whether it stays as the kernel makes it, with the loopback down and no tables of routes.
  init(isBare: Bool = false) throws {
    jobs = BlockingQueue()
    let started = BlockingQueue<Int32>()
    let jobs = jobs
    try startThread(named: "namespace") {
      // Swift's Glibc module has no unshare.
      let unshare = dlsym(nil, "unshare").map { unsafeBitCast($0, to: (@convention(c) (Int32) -> Int32).self) }
      let newNetwork: Int32 = 0x4000_0000
      started.put(unshare?(newNetwork) == 0 ? 0 : max(errno, 1))
      while let job = jobs.take() { job() }
    }
    let status = started.take()
    guard status == 0 else { throw Failure(description: "no namespace: \(String(cString: strerror(status ?? 0)))") }
    if !isBare { try ip("link set lo up") }
  }

  deinit { jobs.close() }

  /// Runs something in the namespace's thread.
  func inside<R: Sendable>(_ body: @escaping @Sendable () throws -> R) throws -> R {
    let result = BlockingQueue<Result<R, any Error>>()
    jobs.put { result.put(Result { try body() }) }
    guard let result = result.take() else { throw Failure(description: "the namespace is gone") }
    return try result.get()
  }

  /// Runs `ip` commands, one a line, in one process.
  func ip(_ commands: String) throws {
    let result = try inside { try run("/usr/bin/env", ["ip", "-batch", "-"], input: commands + "\n") }
    guard result.status == 0 else { throw Failure(description: "\(commands): \(result.output)") }
  }

  /// A virtual cable: `name`, which is ours, and `name-peer`, the other end; both up.
  func addCable(_ name: String) throws {
    try ip(
      """
      link add \(name) type veth peer name \(name)-peer
      link set \(name)-peer up
      link set \(name) up
      """)
  }

  /// A monitor of this namespace. Without name servers and NetworkManager, unless the options say otherwise.
  func monitor(_ change: (inout NetworkPathMonitor.Options) -> Void = { _ in }) async throws -> NetworkPathMonitor {
    var options = NetworkPathMonitor.Options()
    options.networkManagerBus = nil
    options.resolverFile = "/nonexistent/resolv.conf"
    change(&options)
    let chosen = options
    let monitor = try inside { try NetworkPathMonitor(opening: chosen) }
    try await monitor.waitForFirst()
    return monitor
  }
}

/// Elements from one thread to another, which waits for them.
final class BlockingQueue<Element: Sendable>: @unchecked Sendable {
  // Sound: the elements are touched under the condition's lock only.
  private let condition = NSCondition()
  private var elements: [Element] = []
  private var isClosed = false

  func put(_ element: Element) {
    condition.withLock {
      elements.append(element)
      condition.signal()
    }
  }

  func close() {
    condition.withLock {
      isClosed = true
      condition.signal()
    }
  }

  /// The next one; `nil` when the queue is closed and empty.
  func take() -> Element? {
    condition.withLock {
      while elements.isEmpty && !isClosed { condition.wait() }
      return elements.isEmpty ? nil : elements.removeFirst()
    }
  }
}
