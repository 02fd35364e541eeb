import Glibc
import Streams

extension SessionCore {
  /// Returns the release of the running bluetoothd. The lookup runs once for each instance of bluetoothd, and each
  /// program is run once.
  func release() async -> BlueZRelease? {
    if let version { return version }
    let lookup = state.withLock { state in
      if let pending = state.release.pending, pending.generation == state.generation { return pending }
      let pending = ReleaseLookup.Pending(
        generation: state.generation, answer: Task { await BlueZRelease.ofRunningService(self) })
      state.release.pending = pending
      return pending
    }
    let release = await lookup.answer.value
    // A lookup that failed now may succeed later.
    if release == nil {
      state.withLock { if $0.release.pending?.generation == lookup.generation { $0.release.pending = nil } }
    }
    return release
  }
}

extension BlueZRelease {
  /// The paths at which distributions install bluetoothd.
  private static let usualPlaces = ["/usr/libexec/bluetooth/bluetoothd", "/usr/lib/bluetooth/bluetoothd"]

  /// Runs the program that owns `org.bluez` with `--version`; bluetoothd does not report its version over D-Bus.
  fileprivate static func ofRunningService(_ core: SessionCore) async -> BlueZRelease? {
    var places = usualPlaces
    do {
      let pid = try await core.connection().processID(of: SessionCore.service)
      // Readable only by root and the daemon's own user; the usual paths serve all other users.
      if let running = readLink("/proc/\(pid)/exe") {
        // A fake, in this or another process, cannot be run for its version.
        guard running.contains("bluetoothd") else { return nil }
        places.insert(running, at: 0)
      }
    } catch {
      core.logger.debug("no process of bluetoothd", metadata: ["error": "\(error)"])
    }
    for place in places {
      guard let program = ProgramFile(place) else { continue }
      if let known = core.state.withLock({ $0.release.known }), known.program == program { return known.release }
      if let release = await answer(of: place) {
        core.state.withLock { $0.release.known = .init(program: program, release: release) }
        return release
      }
    }
    return nil
  }

  /// Returns the version that a program prints, on a thread of its own: it takes as long as bluetoothd takes to start.
  private static func answer(of program: String) async -> BlueZRelease? {
    await withCheckedContinuation { continuation in
      do throws(SystemCallError) {
        try startThread(named: "bluez-release") {
          continuation.resume(returning: BlueZRelease(output(of: [program, "--version"])))
        }
      } catch {
        continuation.resume(returning: nil)
      }
    }
  }

  private static func readLink(_ path: String) -> String? {
    var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let length = buffer.withUnsafeMutableBytes { readlink(path, $0.baseAddress!, $0.count) }
    return length > 0 ? String(decoding: buffer[..<length], as: UTF8.self) : nil
  }

  /// Returns the first bytes that a program prints; empty when it cannot be run or takes more than two seconds.
  private static func output(of command: [String]) -> String {
    guard let (reader, writer) = try? FileDescriptor.pipe() else { return "" }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    _ = writer.withNumber { posix_spawn_file_actions_adddup2(&actions, $0, STDOUT_FILENO) }
    closeInherited(&actions)
    var arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var environment: [UnsafeMutablePointer<CChar>?] = [nil]
    var pid: pid_t = 0
    guard posix_spawn(&pid, command[0], &actions, nil, &arguments, &environment) == 0 else { return "" }
    writer.close()
    var bytes = [UInt8](repeating: 0, count: 64)
    var count = 0
    let hasAnswered = reader.withNumber { number in
      var readable = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
      guard poll(&readable, 1, 2_000) > 0 else { return false }
      count = max(read(number, &bytes, bytes.count), 0)
      return true
    }
    reader.close()
    if hasAnswered != true { kill(pid, SIGKILL) }
    var status: Int32 = 0
    while waitpid(pid, &status, 0) == -1 && errno == EINTR {}
    return String(decoding: bytes[..<count], as: UTF8.self)
  }
}

/// The identity of a program's file; an update replaces the file. The same file has the same version, and running it
/// again would take a good part of the time in which everything is restored after a restart.
struct ProgramFile: Hashable, Sendable {
  private let device: dev_t
  private let number: ino_t
  private let seconds: Int
  private let nanoseconds: Int

  /// - Returns: `nil` when the file cannot be executed.
  init?(_ path: String) {
    var file = stat()
    guard access(path, X_OK) == 0, stat(path, &file) == 0 else { return nil }
    device = file.st_dev
    number = file.st_ino
    seconds = file.st_ctim.tv_sec
    nanoseconds = file.st_ctim.tv_nsec
  }
}
