internal import Glibc
internal import Streams
package import Timing

/// A UDP socket that is connected to a server of pings, so that the kernel drops replies from other addresses.
///
/// A thread resolves the name and receives, because the calls may block; sending does not.
package final class PingSocket: Sendable {
  /// A datagram, or an error of the socket, with the instant at which the kernel received it.
  package enum Arrival: Sendable {
    case datagram([UInt8], at: Duration)
    case failure
  }

  private let socket: FileDescriptor
  private let wake: WakeUp
  private let clock: TimeSource
  private let isClosed = Lock(false)

  /// `SO_TIMESTAMPNS` and `SCM_TIMESTAMPNS` of machines whose `time_t` has 64 bits.
  private static let timestampOption: Int32 = 35

  private init(_ socket: FileDescriptor, _ wake: WakeUp, _ clock: TimeSource) {
    self.socket = socket
    self.wake = wake
    self.clock = clock
  }

  deinit { close() }

  /// Connects a socket, without sending anything, and receives until it is closed.
  /// - Parameters:
  ///   - target: The server.
  ///   - interface: The name of the interface that packets must take; `nil` for the one of the route.
  ///   - clock: The clock of the stamps.
  ///   - onArrival: A closure that runs for each arrival, on a thread.
  /// - Throws: ``CoverageError`` with code `.unreachable`.
  package static func connect(
    to target: PingTarget, interface: String?, clock: TimeSource, onArrival: @escaping @Sendable (Arrival) -> Void
  ) async throws -> PingSocket {
    try await withCheckedThrowingContinuation { continuation in
      do {
        let wake = try WakeUp()
        try startThread(named: "pings") {
          let result = Result { PingSocket(try connected(target, interface), wake, clock) }
          let receiver = receiver(of: result)
          // The thread must not keep the socket open that its owner has released.
          continuation.resume(with: consume result)
          receiver?.run(onArrival)
        }
      } catch {
        continuation.resume(throwing: CoverageError(.unreachable, "open a socket for pings: \(error)"))
      }
    }
  }

  private static func receiver(of result: Result<PingSocket, any Error>) -> Receiver? {
    guard case .success(let socket) = result else { return nil }
    return Receiver(socket: socket.socket, wake: socket.wake, clock: socket.clock)
  }

  /// Sends a datagram.
  /// - Returns: The instant just before the call; `nil` if the kernel did not take the datagram.
  package func send(_ bytes: [UInt8]) -> Duration? {
    socket.withNumber { number in
      let instant = clock.now
      return Glibc.send(number, bytes, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT)) == bytes.count ? instant : nil
    } ?? nil
  }

  /// Ends the thread and closes the socket; nothing arrives any more.
  package func close() {
    guard
      isClosed.withLock({ closed in
        defer { closed = true }
        return !closed
      })
    else { return }
    wake.signal()
  }

  // MARK: Connecting

  private static func connected(_ target: PingTarget, _ interface: String?) throws -> FileDescriptor {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_DGRAM.rawValue)
    hints.ai_family = target.version.map { $0 == 4 ? AF_INET : AF_INET6 } ?? AF_UNSPEC
    var list: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(target.host, String(target.port), &hints, &list)
    guard code == 0 else {
      throw CoverageError(.unreachable, "ping server \(target.host): \(String(cString: gai_strerror(code)))")
    }
    defer { freeaddrinfo(list) }
    var failure = SystemCallError("getaddrinfo", errno: EADDRNOTAVAIL)
    var next = list
    while let address = next?.pointee {
      do throws(SystemCallError) {
        return try connected(address, interface)
      } catch {
        failure = error
      }
      next = address.ai_next
    }
    throw CoverageError(
      .unreachable, "ping server \(target.host), port \(target.port): \(failure)", errno: failure.errno)
  }

  private static func connected(_ address: addrinfo, _ interface: String?) throws(SystemCallError) -> FileDescriptor {
    let type = address.ai_socktype | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    let number = Glibc.socket(address.ai_family, type, address.ai_protocol)
    guard number >= 0 else { throw SystemCallError("socket") }
    let socket = FileDescriptor(owning: number)
    if let interface {
      guard setsockopt(number, SOL_SOCKET, SO_BINDTODEVICE, interface, socklen_t(interface.utf8.count)) == 0 else {
        throw SystemCallError("setsockopt SO_BINDTODEVICE \(interface)")
      }
    }
    var on: Int32 = 1
    // Without it the stamps are taken after the wake-up, which costs some microseconds.
    setsockopt(number, SOL_SOCKET, timestampOption, &on, socklen_t(MemoryLayout<Int32>.size))
    guard Glibc.connect(number, address.ai_addr, address.ai_addrlen) == 0 else { throw SystemCallError("connect") }
    return socket
  }

  // MARK: Receiving

  private struct Receiver {
    let socket: FileDescriptor
    let wake: WakeUp
    let clock: TimeSource

    func run(_ onArrival: (Arrival) -> Void) {
      defer { socket.close() }
      guard let number = socket.withNumber({ $0 }) else { return }
      var files = [
        pollfd(fd: wake.descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: number, events: Int16(POLLIN), revents: 0),
      ]
      while true {
        let count = poll(&files, nfds_t(files.count), -1)
        if count < 0, errno == EINTR { continue }
        guard count > 0, files[0].revents == 0 else { return }
        receive(number, onArrival)
      }
    }

    private func receive(_ number: Int32, _ onArrival: (Arrival) -> Void) {
      var buffer = DatagramBuffer(size: 64)
      while true {
        do throws(SystemCallError) {
          let bytes = try buffer.receive(from: number)
          onArrival(.datagram(Array(bytes), at: instant(of: buffer.control(timestampOption, as: timespec.self))))
        } catch {
          if error.errno == EAGAIN { return }
          guard error.errno == EINTR else {
            // The answer of a router or of the host, that nobody receives the pings.
            return onArrival(.failure)
          }
        }
      }
    }

    /// The instant at which the kernel stamped a datagram; the present one for a stamp that cannot be.
    ///
    /// The stamp is by the wall clock. Both clocks are read once more if the thread has lost the processor in between,
    /// which would count as a part of the round trip.
    private func instant(of stamp: timespec?) -> Duration {
      var now = clock.now
      guard let stamp else { return now }
      var wall = timespec()
      for _ in 0..<Self.readings {
        now = clock.now
        clock_gettime(CLOCK_REALTIME, &wall)
        if clock.now - now <= Self.closeness { break }
      }
      let age = Duration.seconds(wall.tv_sec - stamp.tv_sec) + .nanoseconds(wall.tv_nsec - stamp.tv_nsec)
      // A clock that was set in between.
      return (.zero ... .milliseconds(500)).contains(age) ? now - age : now
    }

    /// The time within which both clocks are read, and the number of attempts.
    private static let closeness = Duration.microseconds(10)
    private static let readings = 4
  }
}
