import Glibc
import Logging
import Streams
import Testing

@testable import SystemState

@Suite("The notifications to systemd", .timeLimit(.minutes(5))) struct ServiceManagerTests {
  private func manager(
    _ address: String?, watchdog: String? = nil, process: String? = nil
  ) -> ServiceManager? {
    ServiceManager(
      address: address, watchdogMicroseconds: watchdog, watchdogProcess: process, logger: Logger(label: "test"))
  }

  @Test("Notifications arrive at the socket", arguments: [false, true]) func whatIsToldArrives(isAbstract: Bool)
    async throws
  {
    let folder = try Folder()
    let socket = try NotifySocket(isAbstract ? "@edgeblue-test-\(getpid())" : folder.path + "/notify")
    let service = manager(socket.address)
    let manager = try #require(service)
    manager.notifyReady("mode on")
    #expect(await socket.next() == "READY=1\nSTATUS=mode on")
    manager.report("two\nlines=1")
    #expect(await socket.next() == "STATUS=two lines=1")
    manager.notifyStopping()
    #expect(await socket.next() == "STOPPING=1")
  }

  @Test("Without a socket there is no service manager") func withoutOneThatListensThereIsNone() {
    #expect(manager(nil) == nil)
    #expect(manager("") == nil)
    // What cannot be told is logged; it is no reason to end.
    for address in ["/nowhere/notify", "vsock:2:1", "@" + String(repeating: "x", count: 200)] {
      manager(address)?.notifyReady("")
    }
  }

  @Test(
    "A watchdog of another process is ignored",
    arguments: [
      ("1000000", nil, Duration.seconds(1)), ("1000000", "1", nil), ("0", nil, nil), ("-5", nil, nil), ("x", nil, nil),
      (nil, nil, nil),
    ] as [(String?, String?, Duration?)])
  func theWatchdogIsOursOnly(microseconds: String?, process: String?, expected: Duration?) {
    #expect(manager("/run/notify", watchdog: microseconds, process: process)?.watchdog == expected)
    guard expected != nil else { return }
    #expect(manager("/run/notify", watchdog: microseconds, process: "\(getpid())")?.watchdog == expected)
  }

  @Test("A program that hangs sends no keep-alive") func aProgramThatDoesNotAnswerItselfIsNotCalledAlive() async throws
  {
    let folder = try Folder()
    let socket = try NotifySocket(folder.path + "/notify")
    let service = manager(socket.address, watchdog: "20000")
    let manager = try #require(service)
    let (hangs, hang) = BoundedStream.make(of: Void.self, limit: 1)
    let rounds = Lock(0)
    let work = Task {
      await manager.keepAlive {
        let round = rounds.withLock { count in
          count += 1
          return count
        }
        guard round == 3 else { return }
        // What is said next would come after this.
        manager.report("ours")
        for await _ in hangs {}
      }
    }
    #expect(await socket.next() == "WATCHDOG=1")
    #expect(await socket.next() == "WATCHDOG=1")
    #expect(await socket.next() == "STATUS=ours")
    hang.finish()
    #expect(await socket.next() == "WATCHDOG=1")
    work.cancel()
    await work.value
  }
}

/// What a service manager listens at. It reads on a thread of its own, because tests share those of Swift.
private final class NotifySocket: Sendable {
  struct Failure: Error { let reason: String }

  let address: String
  private let descriptor: Int32
  private let messages: BoundedStream<String>

  init(_ address: String) throws {
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var name = Array(address.utf8)
    if name[0] == UInt8(ascii: "@") { name[0] = 0 }
    var socketAddress = sockaddr_un()
    socketAddress.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &socketAddress.sun_path) { $0.copyBytes(from: name) }
    let length = socklen_t(MemoryLayout<sa_family_t>.size + name.count + (name[0] == 0 ? 0 : 1))
    let bound = withUnsafePointer(to: socketAddress) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
    }
    guard bound == 0 else { throw Failure(reason: String(cString: strerror(errno))) }
    let (messages, source) = BoundedStream.make(of: String.self, limit: 64)
    self.address = address
    self.descriptor = descriptor
    self.messages = messages
    try startThread(named: "notify-socket") {
      var buffer = [UInt8](repeating: 0, count: 1000)
      while true {
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { break }
        source.yield(String(decoding: buffer[..<count], as: UTF8.self))
      }
      close(descriptor)
    }
  }

  // Wakes the thread, which then closes it.
  deinit { shutdown(descriptor, Int32(SHUT_RDWR)) }

  /// The next message; the test's time limit bounds the wait.
  func next() async -> String? { await messages.first { _ in true } }
}
