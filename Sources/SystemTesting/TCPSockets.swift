import Foundation
internal import Glibc
internal import Streams

/// The TCP sockets of this host, as the kernel lists them.
package enum TCPSockets {
  /// A socket that waits for connections.
  package struct Listener: Sendable, Hashable {
    /// The address: four numbers with dots, or the hexadecimal digits of one of version 6.
    package var address: String
    /// The port.
    package var port: Int

    /// Creates the description of a socket.
    package init(_ address: String, _ port: Int) {
      self.address = address
      self.port = port
    }
  }

  /// A line of the kernel's list.
  private struct Line: Hashable {
    var local: Listener
    var state: Substring
    var inode: Substring

    init?(_ line: Substring) {
      let fields = line.split(separator: " ")
      guard fields.count > 9, let colon = fields[1].firstIndex(of: ":"),
        let port = Int(fields[1][fields[1].index(after: colon)...], radix: 16)
      else { return nil }
      let digits = fields[1][..<colon]
      local = Listener(digits.count == 8 ? Self.dotted(digits) : String(digits), port)
      state = fields[3]
      inode = fields[9]
    }

    /// The kernel prints the four bytes as a number of this machine.
    private static func dotted(_ digits: Substring) -> String {
      let number = UInt32(digits, radix: 16) ?? 0
      return withUnsafeBytes(of: number) { $0.map(String.init).joined(separator: ".") }
    }
  }

  /// Returns the sockets that listen in the network namespace of this process.
  package static func listening(at port: Int) throws -> [Listener] {
    try lines(of: "self").filter { $0.state == listens && $0.local.port == port }.map(\.local)
  }

  /// Returns the sockets at which a process listens.
  package static func listening(by process: ChildProcess) throws -> Set<Listener> {
    let open = try inodes(of: "\(process.pid)")
    return Set(
      try lines(of: "\(process.pid)").filter { $0.state == listens && open.contains($0.inode) }.map(\.local))
  }

  /// Returns the sockets that a process has open.
  private static func inodes(of process: String) throws -> Set<Substring> {
    let folder = "/proc/\(process)/fd"
    // A descriptor may be closed between the list and its name.
    let names = try FileManager.default.contentsOfDirectory(atPath: folder)
      .compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: folder + "/" + $0) }
    return Set(names.filter { $0.hasPrefix("socket:[") }.map { $0.dropFirst("socket:[".count).dropLast() })
  }

  /// Opens idle connections to a port of 127.0.0.1, and returns the largest number of them that the server held at once.
  ///
  /// On a thread of its own: a server closes what was idle for a while, and beside other tests a task can wait longer.
  package static func mostAccepted(by port: Int, of count: Int) async throws -> Int {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: Result { try countAccepted(by: port, of: count) }) }
    }
  }

  private static func countAccepted(by port: Int, of count: Int) throws -> Int {
    var sockets: [Int32] = []
    defer { for socket in sockets { close(socket) } }
    for _ in 0..<count {
      let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
      guard number >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EMFILE) }
      sockets.append(number)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = in_port_t(UInt16(port).bigEndian)
      address.sin_addr.s_addr = inet_addr("127.0.0.1")
      _ = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
    }
    // Until the number has stood still for half a second.
    var most = 0
    var still = 0
    let end = ContinuousClock.now + .seconds(60)
    while still < 25, ContinuousClock.now < end {
      let now = try connections(of: port)
      still = now > 0 && now <= most ? still + 1 : 0
      most = max(most, now)
      usleep(20_000)
    }
    return most
  }

  /// The number of connections that the server has accepted. Those in the kernel's queue belong to no file yet, and some
  /// may have been replaced by others while the lines were read.
  private static func connections(of port: Int) throws -> Int {
    let accepted = try lines(of: "self").filter { $0.local.port == port && $0.state == isConnected }
    let open = try inodes(of: "self")
    return accepted.count { open.contains($0.inode) }
  }

  private static let listens = "0A"
  private static let isConnected = "01"

  /// The kernel prints a page at a time, and a page leaves out lines while other sockets come and go.
  private static func lines(of process: String) throws -> Set<Line> {
    var lines: Set<Line> = []
    for _ in 0..<4 {
      for name in ["tcp", "tcp6"] {
        // Foundation reads only the beginning of a file that has no size.
        let file = FileDescriptor(owning: open("/proc/\(process)/net/\(name)", O_RDONLY | O_CLOEXEC))
        let text = readToEnd(file)
        guard !text.isEmpty else { throw POSIXError(.ENOENT) }
        lines.formUnion(text.split(separator: "\n").compactMap(Line.init))
      }
    }
    return lines
  }
}
