import Glibc
internal import Logging
internal import Streams
internal import Timing

/// A thread that reads a gpsd, and connects anew when it has gone.
///
/// A thread, because a name is resolved and a connection is made by calls that may block.
final class GPSDReader: Sendable {
  private let host: String
  private let port: Int
  private let options: LocationMonitor.Options
  private let feed: UpdateFeed<LocationUpdate>
  private let wake: WakeUp
  private let isStopped = Lock(false)

  /// The timeout of a connection attempt in milliseconds.
  private static let connectLimit: Int32 = 10_000

  init(
    host: String, port: Int, options: LocationMonitor.Options, feed: UpdateFeed<LocationUpdate>
  ) throws(LocationError) {
    self.host = host
    self.port = port
    self.options = options
    self.feed = feed
    do {
      wake = try WakeUp()
    } catch {
      throw LocationError(.storage, "start a thread for gpsd: \(error)")
    }
  }

  func start() throws(LocationError) {
    do {
      try startThread(named: "gpsd") { self.run() }
    } catch {
      throw LocationError(.storage, "start a thread for gpsd: \(error)")
    }
  }

  func stop() {
    isStopped.withLock { $0 = true }
    wake.signal()
  }

  /// The error of a connection, in words.
  private struct Lost: Error {
    var text: String
  }

  private func run() {
    var failures = SourceFailures(of: "gpsd at \(host):\(port)", options, feed)
    while !isStopped.withLock({ $0 }) {
      do throws(Lost) {
        let socket = try connect()
        defer { close(socket) }
        try read(socket) { failures.end() }
        return
      } catch {
        let delay = failures.add(LocationError(.unavailable, error.text))
        if waits(for: nil, milliseconds: Int32(clamping: delay.milliseconds(rounded: .up))) == .stopped { return }
      }
    }
  }

  // MARK: The connection

  private func connect() throws(Lost) -> Int32 {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(host, String(port), &hints, &list)
    guard code == 0 else { throw Lost(text: String(cString: gai_strerror(code))) }
    defer { freeaddrinfo(list) }
    var reason = "no address"
    var next = list
    while let address = next?.pointee {
      let socket = socket(
        address.ai_family, address.ai_socktype | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue),
        address.ai_protocol)
      guard socket >= 0 else { throw Lost(text: String(cString: strerror(errno))) }
      if Glibc.connect(socket, address.ai_addr, address.ai_addrlen) == 0 { return socket }
      if errno == EINPROGRESS, waits(for: socket, Int16(POLLOUT), milliseconds: Self.connectLimit) == .ready {
        var number: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(socket, SOL_SOCKET, SO_ERROR, &number, &length)
        if number == 0 { return socket }
        errno = number
      }
      reason = errno == EINPROGRESS ? "no answer within 10 s" : String(cString: strerror(errno))
      close(socket)
      next = address.ai_next
    }
    throw Lost(text: reason)
  }

  /// Reads until the reader is stopped.
  /// - Parameter onReport: A closure that runs when gpsd has sent what a gpsd sends.
  private func read(_ socket: Int32, onReport: () -> Void) throws(Lost) {
    var machine = GPSDMachine()
    try send(GPSDMachine.watch, socket)
    var isAsked = false
    var buffer = [UInt8](repeating: 0, count: 16_384)
    while true {
      let limit = isAsked ? options.silence.reply : options.silence.quiet
      switch waits(for: socket, milliseconds: Int32(clamping: limit.milliseconds(rounded: .up))) {
      case .stopped: return
      case .timedOut:
        guard !isAsked else { throw Lost(text: "no answer within \(Int(limit.inSeconds)) s") }
        isAsked = true
        try send(GPSDMachine.poll, socket)
      case .ready:
        let count = recv(socket, &buffer, buffer.count, 0)
        if count < 0, errno == EAGAIN || errno == EINTR { continue }
        guard count > 0 else {
          throw Lost(text: count == 0 ? "it has closed the connection" : String(cString: strerror(errno)))
        }
        isAsked = false
        let updates: [LocationUpdate]
        do throws(GPSDMachine.Violation) {
          updates = try machine.receive(buffer[..<count])
        } catch {
          throw Lost(text: error.text)
        }
        for update in updates {
          onReport()
          feed.publish(update)
        }
      }
    }
  }

  private func send(_ text: String, _ socket: Int32) throws(Lost) {
    let bytes = Array(text.utf8)
    // A few bytes, which the buffer of a new connection has room for.
    guard Glibc.send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
      throw Lost(text: "it does not read")
    }
  }

  private enum Waited {
    case ready
    case timedOut
    case stopped
  }

  /// Waits for a socket, or for nothing, until the reader is stopped.
  private func waits(for socket: Int32?, _ events: Int16 = Int16(POLLIN), milliseconds: Int32) -> Waited {
    var files = [pollfd(fd: wake.descriptor, events: Int16(POLLIN), revents: 0)]
    if let socket { files.append(pollfd(fd: socket, events: events, revents: 0)) }
    let end = ContinuousClock.now + .milliseconds(Int64(milliseconds))
    while true {
      let left = max(ContinuousClock.now.duration(to: end).milliseconds(rounded: .up), 0)
      let count = poll(&files, nfds_t(files.count), Int32(clamping: left))
      if isStopped.withLock({ $0 }) { return .stopped }
      if count < 0, errno == EINTR { continue }
      if count == 0 { return .timedOut }
      if count > 0, files.count > 1, files[1].revents != 0 { return .ready }
      if count < 0 { return .timedOut }
    }
  }
}
