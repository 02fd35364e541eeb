import Glibc
import Streams
import Timing

/// A program of the user that is run without a shell, for a limited time, with a limited output that is kept.
///
/// It has a process group of its own, which is ended with it, only the variables of the environment that it is given, and
/// no open file of this program.
struct BoundedProgram: Sendable {
  /// The end of a program.
  struct Result: Sendable, Equatable {
    /// The reason why it failed, for display; `nil` if it exited with status 0.
    let problem: String?
    /// The last line that it printed.
    let lastLine: String
  }

  let words: [String]
  let environment: [String: String]
  let limit: Duration

  /// The time between SIGTERM and SIGKILL.
  static let grace = Duration.seconds(5)
  /// The number of bytes of the output that are kept, the last ones.
  private static let kept = 4096
  private static let interval = Duration.milliseconds(20)
  private static let clock = TimeSource.continuous

  /// Runs the program. A cancelled task ends it: by SIGTERM, and by SIGKILL after the grace period.
  /// - Throws: ``Failure`` if it could not be started, `CancellationError` when the task was cancelled.
  func run() async throws -> Result {
    let isStopped = Lock(false)
    let result = try await withTaskCancellationHandler {
      // Not a child of the cancelled task, whose sleeps would return at once.
      try await Task.detached { try await follow(isStopped) }.value
    } onCancel: {
      isStopped.withLock { $0 = true }
    }
    try Task.checkCancellation()
    return result
  }

  private func follow(_ isStopped: Lock<Bool>) async throws -> Result {
    let (pid, output) = try start()
    // What it has started in its group ends with it.
    defer { kill(-pid, SIGKILL) }
    var text: [UInt8] = []
    var endings = Endings(end: Self.clock.now + limit)
    while true {
      Self.drain(output, into: &text)
      var status: Int32 = 0
      if waitpid(pid, &status, WNOHANG) == pid {
        Self.drain(output, into: &text)
        return Result(problem: endings.problem(limit) ?? Self.problem(status), lastLine: Self.lastLine(text))
      }
      if let signal = endings.signal(at: Self.clock.now, isStopped: isStopped.withLock { $0 }) { kill(-pid, signal) }
      try await Task.sleep(for: Self.interval, clock: .steady)
    }
  }

  /// The signals that end a program whose time is over.
  private struct Endings {
    /// The instant at which it is told to end, or is killed.
    var end: Duration
    private var isTold = false
    private var isLate = false

    init(end: Duration) { self.end = end }

    mutating func signal(at now: Duration, isStopped: Bool) -> Int32? {
      if isTold {
        guard now >= end else { return nil }
        end = now + BoundedProgram.grace
        return SIGKILL
      }
      guard isStopped || now >= end else { return nil }
      isLate = !isStopped
      isTold = true
      end = now + BoundedProgram.grace
      return SIGTERM
    }

    func problem(_ limit: Duration) -> String? {
      isLate ? "not finished within \(limit.components.seconds) s" : nil
    }
  }

  private func start() throws -> (pid: pid_t, output: FileDescriptor) {
    let (reading, writing) = try FileDescriptor.pipe()
    _ = reading.withNumber { fcntl($0, F_SETFL, O_NONBLOCK) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    for number in [STDOUT_FILENO, STDERR_FILENO] {
      _ = writing.withNumber { posix_spawn_file_actions_adddup2(&actions, $0, number) }
    }
    // The connections of uploads and the server of metrics are not close-on-exec.
    closeInherited(&actions)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // This program ignores SIGPIPE, and its threads block signals: neither is for others.
    var none = sigset_t()
    var usual = sigset_t()
    sigemptyset(&none)
    sigemptyset(&usual)
    sigaddset(&usual, SIGPIPE)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &usual)
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    var arguments = words.map { strdup($0) } + [nil]
    var variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for text in arguments + variables { free(text) } }
    var pid = pid_t()
    let failure = withExtendedLifetime(writing) {
      posix_spawnp(&pid, words[0], &actions, &attributes, &arguments, &variables)
    }
    guard failure == 0 else {
      throw Failure("\(words[0].printable) cannot be started: \(String(cString: strerror(failure)))", status: .badInput)
    }
    return (pid, reading)
  }

  /// Reads what the program has printed, and keeps the end of it: once what fits a pipe, so that a program that prints
  /// without end is still ended in time.
  private static func drain(_ output: FileDescriptor, into text: inout [UInt8]) {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    guard let count = output.withNumber({ read($0, &buffer, buffer.count) }), count > 0 else { return }
    text += buffer[..<count]
    text.removeFirst(max(text.count - kept, 0))
  }

  private static func problem(_ status: Int32) -> String? {
    let signal = status & 0x7f
    if signal != 0 { return "ended by signal \(signal)" }
    let code = status >> 8 & 0xff
    return code == 0 ? nil : "exited with status \(code)"
  }

  private static func lastLine(_ text: [UInt8]) -> String {
    let lines = String(decoding: text, as: UTF8.self).split(whereSeparator: \.isNewline)
    return String((lines.last { !$0.allSatisfy(\.isWhitespace) } ?? "").prefix(200)).printable
  }
}
