import Glibc
import Streams

/// The users whose programs accept connections to a port of 127.0.0.1, as the kernel lists them.
///
/// Any program of this host can listen on a free port, and receive what is meant for another.
enum PortOwners {
  /// Returns `true` if root or the user of this process, and nobody else, listens on a port.
  static func areTrusted(at port: Int) -> Bool { areTrusted(listening(at: port), user: geteuid()) }

  static func areTrusted(_ owners: Set<uid_t>, user: uid_t) -> Bool {
    // Nobody is to be seen where the lists cannot be read.
    !owners.isEmpty && owners.isSubset(of: [0, user])
  }

  /// Returns the users whose programs listen on a port.
  static func listening(at port: Int) -> Set<uid_t> {
    var owners: Set<uid_t> = []
    // The kernel prints a page at a time, and may leave out lines while other sockets come and go.
    for _ in 0..<4 {
      for name in ["tcp", "tcp6"] { owners.formUnion(listening(at: port, in: contents(of: "/proc/self/net/\(name)"))) }
    }
    return owners
  }

  /// Returns the users in a list of the kernel (proc_net_tcp in the documentation of Linux).
  static func listening(at port: Int, in list: String) -> Set<uid_t> {
    // Each word of an address is printed as a number of this machine.
    let reached: Set<UInt32> = [0, UInt32(0x7f00_0001).bigEndian]
    var owners: Set<uid_t> = []
    for line in list.split(separator: "\n") {
      let fields = line.split(separator: " ")
      guard fields.count > 7, fields[3] == "0A", let colon = fields[1].firstIndex(of: ":"),
        Int(fields[1][fields[1].index(after: colon)...], radix: 16) == port,
        // Of version 6 these are `::`, which takes connections of version 4, too, and `::ffff:127.0.0.1`.
        let word = UInt32(fields[1][..<colon].suffix(8), radix: 16), reached.contains(word),
        let owner = uid_t(fields[7])
      else { continue }
      owners.insert(owner)
    }
    return owners
  }

  /// Returns the text of a file without a size, of which Foundation reads only the beginning; empty if it is unreadable.
  private static func contents(of path: String) -> String {
    let number = open(path, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { return "" }
    let file = FileDescriptor(owning: number)
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while let count = file.withNumber({ read($0, &buffer, buffer.count) }), count > 0 { bytes += buffer[..<count] }
    return String(decoding: bytes, as: UTF8.self)
  }
}
