public import ErrorReporting

/// Why a background task cannot be had.
public typealias BackgroundTasksError = CodedError<BackgroundTasksErrorDomain>

/// The domain of the codes of ``BackgroundTasksError``.
public enum BackgroundTasksErrorDomain {}

extension CodedError.Code where Domain == BackgroundTasksErrorDomain {
  /// A caller's argument cannot be.
  public static var invalidArgument: Self { Self("invalid argument", .invalidInput) }
  /// No handler is registered for the identifier.
  public static var notRegistered: Self { Self("not registered", .invalidInput) }
  /// The task does not run.
  public static var notRunning: Self { Self("not running", .failed) }
  /// Another task has the turn, or this one has not ended.
  public static var busy: Self { Self("busy", .temporary) }
  /// A file could not be read or written.
  public static var storage: Self { Self("storage failed", .failed) }
  /// A file does not hold what it should.
  public static var damagedFile: Self { Self("damaged file", .failed) }
}

extension CodedError where Domain == BackgroundTasksErrorDomain {
  static func notRegistered(_ identifier: String, _ known: some Sequence<String>) -> BackgroundTasksError {
    BackgroundTasksError(
      .notRegistered, "no handler is registered for \(identifier)",
      hint: "there are: \(known.sorted().joined(separator: ", "))")
  }
}
