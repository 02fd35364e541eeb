package import DBus
import Foundation

/// A program that is needed is not there.
public struct MissingProgram: Error, Sendable, CustomStringConvertible {
  /// Its name or path, and what is known beyond its being missing.
  public let program: String

  /// Says what to install.
  public var description: String { "the program \(program) is needed and not there" }

  package init(_ program: String) { self.program = program }
}

/// A process a test started, which ends with this object.
///
/// Foundation's `Process` hears of a child's end over a socket that every program inherits which another thread starts
/// in the same instant: it waits for those to end too, on a thread of whoever waits. Two buses that waited for each
/// other in this way took both threads that a small machine has for tasks.
package final class ChildProcess: Sendable {
  /// What becomes of what a program prints.
  package enum Print: Sendable {
    /// It goes where the test's own goes.
    case shown
    case discarded
    /// The test reads it.
    case kept
  }

  /// What it prints, when that is kept; otherwise closed, as are the others.
  package let output: FileDescriptor
  /// The errors it prints, when they are kept.
  package let errors: FileDescriptor
  /// What is written here it reads, when it was given an input.
  package let input: FileDescriptor
  private let program: String
  private let pid: pid_t
  /// How it ended; from then on the number may be somebody else's.
  private let status: Lock<Int32?>

  /// Starts a program found in `PATH`, or at an absolute path.
  /// - Parameters:
  ///   - environment: of the program; without one, the test's own.
  ///   - hasInput: whether the test writes what the program reads; without, it reads nothing.
  /// - Throws: ``MissingProgram``; `POSIXError`; `DBusError` when no descriptor is left.
  package init(
    _ program: String, _ arguments: [String], environment: [String: String]? = nil, hasInput: Bool = false,
    output: Print = .kept, errors: Print = .shown
  ) throws {
    guard let path = Self.path(of: program) else { throw MissingProgram(program) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    // The copies that `adddup2` makes are all that is inherited: everything else is close-on-exec.
    var given: [FileDescriptor] = []
    func pipe(_ print: Print, as number: Int32) throws -> FileDescriptor {
      if print == .discarded { posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_WRONLY, 0) }
      guard print == .kept else { return FileDescriptor(owning: -1) }
      let (reading, writing) = try FileDescriptor.pipe()
      _ = writing.withNumber { posix_spawn_file_actions_adddup2(&actions, $0, number) }
      given.append(writing)
      return reading
    }
    self.output = try pipe(output, as: STDOUT_FILENO)
    self.errors = try pipe(errors, as: STDERR_FILENO)
    if hasInput {
      let (reading, writing) = try FileDescriptor.pipe()
      _ = reading.withNumber { posix_spawn_file_actions_adddup2(&actions, $0, STDIN_FILENO) }
      given.append(reading)
      input = writing
    } else {
      posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
      input = FileDescriptor(owning: -1)
    }
    let variables = environment ?? ProcessInfo.processInfo.environment
    var words = ([path] + arguments).map { strdup($0) } + [nil]
    var settings = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for word in words + settings { free(word) } }
    // A thread of Swift's blocks most signals, and what it starts would inherit that.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var nothing = sigset_t()
    sigemptyset(&nothing)
    posix_spawnattr_setsigmask(&attributes, &nothing)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    var pid = pid_t()
    let failure = withExtendedLifetime(given) { posix_spawn(&pid, path, &actions, &attributes, &words, &settings) }
    guard failure == 0 else { throw POSIXError(POSIXErrorCode(rawValue: failure) ?? .EIO) }
    self.program = path
    self.pid = pid
    status = Lock(nil)
    Self.running.withLock { _ = $0.insert(pid) }
  }

  /// What is recorded of a failing test keeps what it names, and so its children: the end of the tests ends them.
  private static let running: Lock<Set<pid_t>> = {
    atexit { for pid in ChildProcess.running.withLock({ $0 }) { Foundation.kill(pid, SIGKILL) } }
    return Lock([])
  }()

  deinit { kill() }

  /// Waits for the line with which the program says that it is ready. Blocks the thread.
  package func firstLine() throws -> String {
    var line: [UInt8] = []
    while let byte = read(output, 1).first, byte != UInt8(ascii: "\n") { line.append(byte) }
    guard !line.isEmpty else { throw MissingProgram("\(program) (it ended at once)") }
    return String(decoding: line, as: UTF8.self)
  }

  /// Asks it to end, or whatever else the signal says; nothing when it has ended.
  package func signal(_ number: Int32) {
    status.withLock { status in
      if status == nil { Foundation.kill(pid, number) }
    }
  }

  /// Writes to what it reads. Blocks the thread while the pipe is full.
  /// - Throws: `POSIXError`, for example when the program has ended.
  package func write(_ text: String) throws {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = input.withNumber { number in rest.withUnsafeBytes { Glibc.write(number, $0.baseAddress, $0.count) } }
      guard let count, count >= 0 || errno == EINTR else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
      rest = rest.dropFirst(max(count, 0))
    }
  }

  /// Ends it with SIGKILL and waits until it is gone.
  package func kill() {
    signal(SIGKILL)
    _ = wait()
  }

  /// Waits until it has ended. Blocks the thread.
  /// - Returns: its exit status; -1 when a signal ended it.
  @discardableResult package func wait() -> Int32 {
    // Left as it is at first, so that several may wait and the number stays its own until all know.
    var information = siginfo_t()
    while waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    return status.withLock { status in
      if let status { return status }
      Self.running.withLock { _ = $0.remove(pid) }
      var result: Int32 = 0
      while waitpid(pid, &result, 0) < 0, errno == EINTR {}
      let ended = result & 0x7f == 0 ? (result >> 8) & 0xff : -1
      status = ended
      return ended
    }
  }

  /// Waits until it has ended, on a thread of its own: the test and what it serves need those of the tasks.
  /// - Returns: its status as ``wait()`` has it, and what it printed, where that is kept. Its errors are read when its
  ///   output has ended, so they must fit into a pipe.
  package func outcome() async -> (status: Int32, output: String, errors: String) {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { [self] in
        let (output, errors) = (readToEnd(output), readToEnd(errors))
        continuation.resume(returning: (wait(), output, errors))
      }
    }
  }

  /// Where a program is: in `PATH`, or at an absolute path.
  package static func path(of program: String) -> String? {
    if program.hasPrefix("/") { return FileManager.default.isExecutableFile(atPath: program) ? program : nil }
    let folders = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    return folders.split(separator: ":").map { "\($0)/\(program)" }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }
}

/// What can be read at once, waiting for the first byte; nothing at the end. Blocks the thread.
package func read(_ descriptor: FileDescriptor, _ limit: Int = 65_536) -> [UInt8] {
  let bytes = descriptor.withNumber { number in
    [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
      var length = 0
      repeat { length = Glibc.read(number, buffer.baseAddress, limit) } while length < 0 && errno == EINTR
      count = max(length, 0)
    }
  }
  return bytes ?? []
}

/// Everything up to the end, as text. Blocks the thread.
package func readToEnd(_ descriptor: FileDescriptor) -> String {
  var all: [UInt8] = []
  while case let bytes = read(descriptor), !bytes.isEmpty { all += bytes }
  return String(decoding: all, as: UTF8.self)
}
