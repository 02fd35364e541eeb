import Glibc

/// Which name servers the machine asks, and when that changes.
final class ResolverFile: Sendable {
  /// Readable when the file may have changed; -1 when the process can watch no files, and then it is read only when
  /// something else happens.
  let descriptor: Int32
  private let path: String
  /// Where systemd-resolved lists whom it asks itself, behind the stub that it puts into the file.
  private let upstream: String

  init(path: String = "/etc/resolv.conf", upstream: String = "/run/systemd/resolve/resolv.conf") {
    self.path = path
    self.upstream = upstream
    descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// The name servers now; from now on the descriptor tells of changes.
  func read() -> [IPAddress] {
    clear()
    // Watched before it is read, so that no change falls between.
    watch(path)
    let servers = Self.servers(in: SmallFile.text(path) ?? "")
    guard !servers.isEmpty, servers.allSatisfy(Self.isStub) else { return servers }
    watch(upstream)
    return SmallFile.text(upstream).map(Self.servers) ?? servers
  }

  /// The `nameserver` lines of a file in the format of resolv.conf(5).
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

  /// The file is replaced, written over, or a link that is turned: so the folders are watched, and the file itself
  /// because it may be mounted from elsewhere. The kernel keeps one watch for each, however often it is asked for.
  private func watch(_ path: String) {
    guard descriptor >= 0 else { return }
    let changes = UInt32(IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)
    var targets = [path, Self.folder(of: path)]
    if let real = realpath(path, nil) {
      targets.append(Self.folder(of: String(cString: real)))
      free(real)
    }
    // One that is not there has nothing to say; its folder will tell when it comes.
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
