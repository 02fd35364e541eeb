public import ErrorReporting

/// An error of a background task, its scheduler or its store.
public typealias BackgroundTasksError = CodedError<BackgroundTasksErrorDomain>

/// The domain of the codes of ``BackgroundTasksError``.
public enum BackgroundTasksErrorDomain {}

extension CodedError.Code where Domain == BackgroundTasksErrorDomain {
  /// An argument of the caller is out of its allowed range.
  public static var invalidArgument: Self { Self("invalid argument", .invalidInput) }
  /// No handler is registered for the identifier.
  public static var notRegistered: Self { Self("not registered", .invalidInput) }
  /// The task is not running at the moment.
  public static var notRunning: Self { Self("not running", .failed) }
  /// Another task runs, or this one has not stopped yet.
  public static var busy: Self { Self("busy", .temporary) }
  /// A file cannot be read or written.
  public static var storage: Self { Self("storage failed", .failed) }
  /// A file is corrupt or of a later version.
  public static var damagedFile: Self { Self("damaged file", .failed) }
}

extension CodedError where Domain == BackgroundTasksErrorDomain {
  static func notRegistered(_ identifier: String, _ known: some Sequence<String>) -> BackgroundTasksError {
    BackgroundTasksError(
      .notRegistered, "no handler is registered for \(identifier)",
      hint: "registered are: \(known.sorted().joined(separator: ", "))")
  }
}
