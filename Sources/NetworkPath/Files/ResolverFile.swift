internal import DurableFiles
import Glibc

/// The list of name servers that the host's resolver uses, and a descriptor that becomes readable when it changes.
final class ResolverFile: Sendable {
  /// Readable when the file may have changed; −1 when the process has no inotify instance left.
  let descriptor: Int32
  private let path: String
  /// The file in which systemd-resolved lists its own servers; the other file then names only the local stub.
  private let upstream: String

  init(path: String = "/etc/resolv.conf", upstream: String = "/run/systemd/resolve/resolv.conf") {
    self.path = path
    self.upstream = upstream
    descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// Reads the name servers and clears the descriptor, which signals the next change.
  func read() -> [IPAddress] {
    clear()
    // Watched before it is read, so that no change falls between.
    watch(path)
    let servers = Self.servers(in: SmallFile(path).text() ?? "")
    guard !servers.isEmpty, servers.allSatisfy(Self.isStub) else { return servers }
    watch(upstream)
    return SmallFile(upstream).text().map(Self.servers) ?? servers
  }

  /// Returns the `nameserver` lines of a file in the format of resolv.conf(5).
  static func servers(in text: String) -> [IPAddress] {
    var servers: [IPAddress] = []
    for line in text.split(whereSeparator: \.isNewline) {
      let words = line.split(whereSeparator: \.isWhitespace)
      guard words.count >= 2, words[0] == "nameserver", let server = IPAddress(words[1]), !servers.contains(server)
      else { continue }
      servers.append(server)
    }
    return servers
  }

  /// 127.0.0.53 and 127.0.0.54, where systemd-resolved listens.
  private static func isStub(_ server: IPAddress) -> Bool {
    server.bytes == [127, 0, 0, 53] || server.bytes == [127, 0, 0, 54]
  }

  /// Watches the folders, because the file may be replaced or be a symbolic link that changes, and the file itself,
  /// because it may be a mount. The kernel keeps one watch for each, however often it is requested.
  private func watch(_ path: String) {
    guard descriptor >= 0 else { return }
    let changes = UInt32(IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)
    var targets = [path, Self.folder(of: path)]
    if let real = realpath(path, nil) {
      targets.append(Self.folder(of: String(cString: real)))
      free(real)
    }
    // A missing one needs no watch: its folder reports when it is created.
    for target in targets { inotify_add_watch(descriptor, target, changes) }
  }

  private func clear() {
    guard descriptor >= 0 else { return }
    withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
      while Glibc.read(descriptor, buffer.baseAddress, buffer.count) > 0 {}
    }
  }

  private static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
    return String(path[..<slash])
  }
}
