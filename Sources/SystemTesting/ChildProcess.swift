import Foundation
internal import Glibc
public import Streams

/// A program that a test needs and that is not installed.
public struct MissingProgram: Error, Sendable, CustomStringConvertible {
  /// The name or path of the program.
  public let program: String

  /// The sentence that names the missing program.
  public var description: String { "the program \(program) is needed and not installed" }

  /// Creates the error for a program.
  public init(_ program: String) { self.program = program }
}

/// A process that a test starts and that is killed with the last reference to it.
///
/// ```swift
/// let echo = try ChildProcess("echo", ["hello"])
/// print(try await echo.firstLine())  // hello
/// await echo.wait()
/// ```
///
/// Foundation's `Process` learns of a child's end over a socket that every program inherits which another thread starts
/// in the same instant: it waits for those to end too, on the thread of the caller. Two buses that waited for each
/// other in this way took both threads that a small machine has for tasks.
public final class ChildProcess: Sendable {
  /// The destination of a stream that the program writes.
  public enum Print: Sendable {
    /// The test's own stream of that kind.
    case shown
    /// The output goes to the null device.
    case discarded
    /// A pipe that the test reads.
    case kept
  }

  /// The reading end of its standard output when that is kept; otherwise a closed descriptor.
  public let output: FileDescriptor
  /// The reading end of its standard error when that is kept; otherwise a closed descriptor.
  public let errors: FileDescriptor
  /// The writing end of its standard input when it has one; otherwise a closed descriptor.
  public let input: FileDescriptor
  let program: String
  /// The number of the process, which may be another's once it has ended.
  package let pid: Int32
  /// The exit status once it has ended; from then on the process number may be another's.
  let status: Lock<Int32?>

  /// Starts a program found in `PATH`, or at an absolute path.
  /// - Parameters:
  ///   - program: The name or the absolute path of the program.
  ///   - arguments: The arguments after the program's name.
  ///   - environment: The environment of the program; the test's own by default.
  ///   - hasInput: Whether the test writes to the program's standard input; otherwise that is empty.
  ///   - output: The destination of its standard output.
  ///   - errors: The destination of its standard error.
  /// - Throws: ``MissingProgram``; `POSIXError`; `SystemCallError` when no descriptor is left.
  public init(
    _ program: String, _ arguments: [String], environment: [String: String]? = nil, hasInput: Bool = false,
    output: Print = .kept, errors: Print = .shown
  ) throws {
    guard let path = Self.path(of: program) else { throw MissingProgram(program) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    // The copies that `adddup2` makes are all that is inherited.
    var given: [FileDescriptor] = []
    func pipe(_ print: Print, as number: Int32) throws -> FileDescriptor {
      if print == .discarded { posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_WRONLY, 0) }
      guard print == .kept else { return FileDescriptor(owning: -1) }
      let (reading, writing) = try FileDescriptor.pipe()
      _ = writing.withNumber { posix_spawn_file_actions_adddup2(&actions, $0, number) }
      given.append(writing)
      return reading
    }
    let printed = try pipe(output, as: STDOUT_FILENO)
    if output == .kept, let words = OutputCopies.words(of: program, arguments) {
      self.output = try OutputCopies.copy(printed, of: words)
    } else {
      self.output = printed
    }
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
    closeInherited(&actions)
    let variables = environment ?? ProcessInfo.processInfo.environment
    var words = ([path] + arguments).map { strdup($0) } + [nil]
    var settings = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for word in words + settings { free(word) } }
    var attributes = Self.withoutBlockedSignals()
    defer { posix_spawnattr_destroy(&attributes) }
    var pid = pid_t()
    let failure = withExtendedLifetime(given) { posix_spawn(&pid, path, &actions, &attributes, &words, &settings) }
    guard failure == 0 else { throw POSIXError(POSIXErrorCode(rawValue: failure) ?? .EIO) }
    self.program = path
    self.pid = pid
    status = Lock(nil)
    Self.running.withLock { _ = $0.insert(pid) }
  }

  /// Returns attributes for a program that blocks no signals: a thread of Swift's blocks most of them, and what it starts
  /// would inherit that. The caller destroys them.
  private static func withoutBlockedSignals() -> posix_spawnattr_t {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    var nothing = sigset_t()
    sigemptyset(&nothing)
    posix_spawnattr_setsigmask(&attributes, &nothing)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    return attributes
  }

  /// What is recorded of a failing test keeps what it names, and so its children: the end of the tests ends them.
  private static let running: Lock<Set<pid_t>> = {
    atexit { for pid in ChildProcess.running.withLock({ $0 }) { Foundation.kill(pid, SIGKILL) } }
    return Lock([])
  }()

  deinit { kill() }

  /// Reads the next line of the program's output, for example the one that reports that it is ready. Blocks the thread.
  /// - Throws: ``MissingProgram`` when the output has ended; ``TestTimeout`` after 4 min, when the process is killed.
  @available(*, noasync) public func firstLine() throws -> String {
    let end = ContinuousClock.now + Self.limit
    var line: [UInt8] = []
    while true {
      guard waitForOutput([output], until: end) else { throw TestTimeout(killLate("printed a line", Self.limit)) }
      guard let byte = read(output, 1).first, byte != UInt8(ascii: "\n") else { break }
      line.append(byte)
    }
    guard !line.isEmpty else { throw MissingProgram("\(program) (it ended at once)") }
    return String(decoding: line, as: UTF8.self)
  }

  /// Reads the next line of the program's output, on a thread of its own: the program may wait for what the test's
  /// other tasks do, and they need the threads they have.
  /// - Throws: ``MissingProgram`` when the output has ended; ``TestTimeout`` after 4 min, when the process is killed.
  public func firstLine() async throws -> String {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { [self] in continuation.resume(with: Result { try firstLine() }) }
    }
  }

  /// Sends a signal to the process; does nothing when it has ended.
  public func signal(_ number: Int32) {
    status.withLock { status in
      if status == nil { Foundation.kill(pid, number) }
    }
  }

  /// Writes to its standard input. Blocks the thread while the pipe is full.
  /// - Throws: `POSIXError`, for example when the program has ended.
  @available(*, noasync) public func write(_ text: String) throws {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = input.withNumber { number in rest.withUnsafeBytes { Glibc.write(number, $0.baseAddress, $0.count) } }
      guard let count, count >= 0 || errno == EINTR else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
      rest = rest.dropFirst(max(count, 0))
    }
  }

  /// Writes to its standard input, on a thread of its own: the program may read no more until a task of the test has
  /// read what it printed, and that task needs a thread.
  /// - Throws: `POSIXError`, for example when the program has ended.
  public func write(_ text: String) async throws {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { [self] in continuation.resume(with: Result { try write(text) }) }
    }
  }

  /// Kills the process with SIGKILL and waits until it has ended.
  public func kill() {
    signal(SIGKILL)
    wait()
  }

  /// Waits until the process has ended. Blocks the thread.
  /// - Returns: Its exit status, or -1 when a signal ended it.
  @available(*, noasync) @discardableResult public func wait() -> Int32 {
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

  /// Waits until the process has ended, on a thread of its own: the test's tasks need the threads they have.
  /// - Returns: Its exit status, or -1 when a signal ended it.
  @discardableResult public func wait() async -> Int32 {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { [self] in continuation.resume(returning: wait()) }
    }
  }

  /// Returns the path of an executable program, searched in `PATH` unless it is absolute; `nil` if there is none.
  public static func path(of program: String) -> String? {
    if program.hasPrefix("/") { return FileManager.default.isExecutableFile(atPath: program) ? program : nil }
    let folders = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    return folders.split(separator: ":").map { "\($0)/\(program)" }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }
}

/// Reads what is available, and waits for the first byte; returns no bytes at the end. Blocks the thread.
public func read(_ descriptor: FileDescriptor, _ limit: Int = 65_536) -> [UInt8] {
  let bytes = descriptor.withNumber { number in
    [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
      var length = 0
      repeat { length = Glibc.read(number, buffer.baseAddress, limit) } while length < 0 && errno == EINTR
      count = max(length, 0)
    }
  }
  return bytes ?? []
}

/// Reads everything up to the end as text. Blocks the thread.
public func readToEnd(_ descriptor: FileDescriptor) -> String {
  var all: [UInt8] = []
  while case let bytes = read(descriptor), !bytes.isEmpty { all += bytes }
  return String(decoding: all, as: UTF8.self)
}
