/// A value as it was found on disk, and the problem of its file.
///
/// ```swift
/// let restored = try ModeStore(path: "/var/lib/edgeblue/mode.json").load()
/// if let problem = restored.problem { print(problem) }
/// print(restored.value.mode)
/// ```
public struct Restored<Value: Sendable & Hashable>: Sendable, Hashable {
  /// The value on disk; the default one if there is no file or it is corrupt.
  public var value: Value
  /// The problem of a corrupt file, to report to the user; `nil` if there is none.
  public var problem: AgentError?
}
