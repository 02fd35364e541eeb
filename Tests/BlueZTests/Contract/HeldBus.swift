import DBus
import Foundation
import Streams
import SystemTesting

/// A way to a message bus on which what the bus sends to one connection may be held back, as on a busy machine that
/// wakes another thread first.
final class HeldBus: Sendable {
  private struct State {
    var held: Int?
    var isHolding = false
  }

  /// The bus, by this way.
  let bus: Connection.Bus
  private let path: String
  private let listening: Int32
  private let state: Lock<State>

  init(to bus: Connection.Bus) throws {
    guard case .address(let address) = bus else { throw TestTimeout("\(bus) has no address") }
    path = NSTemporaryDirectory() + "/edgeblue-held-\(UUID().uuidString.prefix(8))"
    self.bus = .address("unix:path=\(path)")
    let state = Lock(State())
    self.state = state
    let listening = try Self.socket(at: path, bind)
    self.listening = listening
    guard listen(listening, 4) == 0 else { throw TestTimeout("listen: \(errno)") }
    let target = String(address.dropFirst("unix:path=".count))
    Thread.detachNewThread {
      for number in 0... {
        let client = accept(listening, nil, nil)
        guard client >= 0 else { return }
        let near = FileDescriptor(owning: client)
        guard let server = try? Self.socket(at: target, connect) else { return }
        let ends = [near, FileDescriptor(owning: server)]
        Thread.detachNewThread { withExtendedLifetime(ends) { Self.pass(from: client, to: server) {} } }
        Thread.detachNewThread {
          withExtendedLifetime(ends) { Self.pass(from: server, to: client) { Self.wait(for: number, state) } }
        }
      }
    }
  }

  deinit {
    release()
    shutdown(listening, Int32(SHUT_RDWR))
    close(listening)
    unlink(path)
  }

  /// Holds back what the bus sends to a connection from now on.
  /// - Parameter connection: The number of connections that were made before it.
  func hold(_ connection: Int) { state.withLock { $0.held = connection } }

  /// Whether something is held back.
  var isHolding: Bool { state.withLock { $0.isHolding } }

  /// Passes on what is held back, and all that follows.
  func release() { state.withLock { $0 = State() } }

  private static func wait(for number: Int, _ state: Lock<State>) {
    while state.withLock({ state in
      if state.held == number { state.isHolding = true }
      return state.held == number
    }) { usleep(1000) }
  }

  private static func pass(from source: Int32, to target: Int32, _ wait: () -> Void) {
    var buffer = [UInt8](repeating: 0, count: 65536)
    while true {
      let count = recv(source, &buffer, buffer.count, 0)
      guard count > 0 else { break }
      wait()
      var sent = 0
      while sent < count {
        let part = buffer.withUnsafeBytes { send(target, $0.baseAddress! + sent, count - sent, Int32(MSG_NOSIGNAL)) }
        guard part > 0 else { break }
        sent += part
      }
      guard sent == count else { break }
    }
    shutdown(source, Int32(SHUT_RDWR))
    shutdown(target, Int32(SHUT_RDWR))
  }

  private static func socket(
    at path: String, _ join: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) throws -> Int32 {
    let descriptor = Foundation.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var name = sockaddr_un()
    name.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: path.utf8) }
    let result = withUnsafePointer(to: &name) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        join(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard result == 0 else {
      close(descriptor)
      throw TestTimeout("\(path): \(errno)")
    }
    return descriptor
  }
}
