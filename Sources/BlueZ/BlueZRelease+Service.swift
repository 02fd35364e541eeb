import DBus
import Glibc

extension BlueZRelease {
  /// Where distributions put bluetoothd.
  private static let usualPlaces = ["/usr/libexec/bluetooth/bluetoothd", "/usr/lib/bluetooth/bluetoothd"]

  /// Asks the program that owns `org.bluez` for its version; bluetoothd does not tell over D-Bus.
  static func ofRunningService(_ core: SessionCore) async -> BlueZRelease? {
    var places = usualPlaces
    do {
      let pid = try await core.connection().processID(of: SessionCore.service)
      // Readable for root and for the daemon's own user only; the usual places serve everyone else.
      if let running = readLink("/proc/\(pid)/exe") {
        // A fake, in this process or another, is no program to run for its version.
        guard running.contains("bluetoothd") else { return nil }
        places.insert(running, at: 0)
      }
    } catch {
      core.logger.debug("no process of bluetoothd", metadata: ["error": "\(error)"])
    }
    for place in places where access(place, X_OK) == 0 {
      if let version = BlueZRelease(output(of: [place, "--version"])) { return version }
    }
    return nil
  }

  private static func readLink(_ path: String) -> String? {
    var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let length = buffer.withUnsafeMutableBytes { readlink(path, $0.baseAddress!, $0.count) }
    return length > 0 ? String(decoding: buffer[..<length], as: UTF8.self) : nil
  }

  /// The first bytes a program prints; empty when it cannot be run or takes more than two seconds.
  private static func output(of command: [String]) -> String {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { return "" }
    let (reader, writer) = (FileDescriptor(owning: ends[0]), FileDescriptor(owning: ends[1]))
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
    posix_spawn_file_actions_addclose(&actions, ends[0])
    var arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var environment: [UnsafeMutablePointer<CChar>?] = [nil]
    var pid: pid_t = 0
    guard posix_spawn(&pid, command[0], &actions, nil, &arguments, &environment) == 0 else { return "" }
    writer.close()
    var readable = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
    var bytes = [UInt8](repeating: 0, count: 64)
    var count = 0
    if poll(&readable, 1, 2_000) > 0 { count = max(read(ends[0], &bytes, bytes.count), 0) } else { kill(pid, SIGKILL) }
    reader.close()
    var status: Int32 = 0
    while waitpid(pid, &status, 0) == -1 && errno == EINTR {}
    return String(decoding: bytes[..<count], as: UTF8.self)
  }
}
