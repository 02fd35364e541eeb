public import BackgroundTasks
import Glibc

/// The folder with what outlives the agent: its mode, its events, and what lies between it and
/// a coordinator. One agent at a time has it.
public final class StateFolder: Sendable {
  /// Where it is.
  public let path: String
  /// Locked as long as it is open, whatever becomes of the program.
  private let lock: Int32

  /// Takes a folder for this program; makes it, for its user only, if it is not there.
  /// - Throws: ``AgentError``: `.storage` when it cannot be used, `.alreadyRunning` when another agent has it.
  public init(path: String) throws(AgentError) {
    let path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    try Self.make(path)
    let file = open(path + "/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw Self.failure("opening \(path)/lock") }
    guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
      let number = errno
      close(file)
      guard number == EWOULDBLOCK else { throw Self.failure("locking \(path)/lock", number) }
      throw AgentError(
        .alreadyRunning, "another agent has the folder \(path)",
        hint: "end it first, or choose another folder with --state")
    }
    (self.path, lock) = (path, file)
  }

  deinit {
    // Closing is not enough while a child that was just started still has a copy.
    flock(lock, LOCK_UN)
    close(lock)
  }

  /// The mode.
  public var modes: ModeStore { ModeStore(path: path + "/mode.json") }

  /// What a person wants the phase to be.
  public var lifecycle: LifecycleStore { LifecycleStore(path: path + "/lifecycle.json") }

  /// The pending background tasks.
  public var tasks: BackgroundTaskStore { BackgroundTaskStore(path: path + "/tasks.json") }

  /// The file of the events.
  public var events: String { path + "/events.jsonl" }

  /// Who this machine is to a coordinator.
  public var identity: String { path + "/identity.json" }

  /// What is agreed with the coordinator.
  var coordinator: String { path + "/coordinator.json" }

  /// The folder of the results that the coordinator does not have yet.
  var results: String { path + "/results" }

  /// Where the folder is when nobody says: what systemd made for the service (`STATE_DIRECTORY`), `/var/lib/edgeblue`
  /// for root, else `edgeblue` in `XDG_STATE_HOME`, which is `~/.local/state` when it is not set.
  /// - Returns: `nil` when there is not even a home.
  public static func usualPath(environment: [String: String], isRoot: Bool) -> String? {
    func set(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
    // systemd separates several by colons.
    if let folder = set("STATE_DIRECTORY")?.split(separator: ":").first { return String(folder) }
    if isRoot { return "/var/lib/edgeblue" }
    if let state = set("XDG_STATE_HOME"), state.hasPrefix("/") { return state + "/edgeblue" }
    return set("HOME").map { $0 + "/.local/state/edgeblue" }
  }

  /// Makes a folder and those above it that are not there.
  private static func make(_ path: String) throws(AgentError) {
    if mkdir(path, 0o700) == 0 { return }
    if errno == ENOENT, let slash = path.lastIndex(of: "/"), slash > path.startIndex {
      try make(String(path[..<slash]))
      if mkdir(path, 0o700) == 0 { return }
    }
    guard errno == EEXIST else { throw failure("making the folder \(path)") }
  }

  private static func failure(_ phase: String, _ number: Int32 = errno) -> AgentError {
    AgentError(
      .storage, "\(phase): \(String(cString: strerror(number)))", errno: number,
      hint: "choose a folder that this program may write to, with --state")
  }
}
