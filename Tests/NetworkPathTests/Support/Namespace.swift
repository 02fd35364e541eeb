import Foundation
import Streams
import Testing
import Timing

@testable import NetworkPath

/// A network namespace of a test's own: that of one thread, which opens sockets and starts programs in it. With the
/// last of those the kernel removes it and all interfaces in it, so that nothing is left behind whatever happens.
///
/// That thread resumes no task. To resume one can start a thread for tasks, which would inherit the namespace, and there
/// run tasks of other tests.
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

  private let jobs = BlockingQueue<Job>()
  /// What a second thread does, which stays outside.
  private let answers = BlockingQueue<Job>()

  /// - Parameter isBare: whether it stays as the kernel makes it, with the loopback down and no tables of routes.
  init(isBare: Bool = false) async throws {
    for (name, queue) in [("namespace", jobs), ("answers", answers)] {
      try startThread(named: name) {
        while let job = queue.take() { job() }
      }
    }
    let status = try await inside { () -> Int32 in
      // Swift's Glibc module has no unshare.
      let unshare = dlsym(nil, "unshare").map { unsafeBitCast($0, to: (@convention(c) (Int32) -> Int32).self) }
      let newNetwork: Int32 = 0x4000_0000
      return unshare?(newNetwork) == 0 ? 0 : max(errno, 1)
    }
    guard status == 0 else { throw Failure(description: "no namespace: \(String(cString: strerror(status)))") }
    if !isBare { try await ip("link set lo up") }
  }

  deinit {
    jobs.close()
    answers.close()
  }

  /// Runs something in the namespace's thread. No thread of the tests' tasks waits for it: there are as few as there are
  /// processors, and the kernel changes one interface at a time, whatever namespace it is in.
  func inside<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await withCheckedThrowingContinuation { waiter in
      jobs.put { [answers] in
        let result = Result { try body() }
        answers.put { waiter.resume(with: result) }
      }
    }
  }

  /// Runs `ip` commands, one a line, in one process.
  func ip(_ commands: String) async throws {
    let result = try await inside { try run("/usr/bin/env", ["ip", "-batch", "-"], input: commands + "\n") }
    guard result.status == 0 else { throw Failure(description: "\(commands): \(result.output)") }
  }

  /// A virtual cable: `name`, which is ours, and `name-peer`, the other end; both up.
  func addCable(_ name: String) async throws {
    try await ip(
      """
      link add \(name) type veth peer name \(name)-peer
      link set \(name)-peer up
      link set \(name) up
      """)
  }

  /// A monitor of this namespace. Without name servers, unless the options have them.
  func monitor(_ change: (inout NetworkPathMonitor.Options) -> Void = { _ in }) async throws -> NetworkPathMonitor {
    var options = NetworkPathMonitor.Options()
    options.resolverFile = "/nonexistent/resolv.conf"
    change(&options)
    let chosen = options
    let core = try await inside { try MonitorCore(chosen) }
    let monitor = try NetworkPathMonitor(core)
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
