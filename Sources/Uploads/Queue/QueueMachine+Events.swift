extension QueueMachine {
  /// The events that the machine handles.
  enum Event: Sendable, Hashable {
    /// An item is to be uploaded, or retried at a user's request.
    case added(Int64, account: String, failures: Int)
    /// An item is paused, dropped or finished elsewhere.
    case removed(Int64)
    /// The attempt of an item has succeeded.
    case succeeded(Int64)
    /// The attempt of an item has failed.
    case failed(Int64, UploadFailure)
    /// An account has credentials; each new set has a higher generation.
    case credentials(String, generation: Int)
    /// The host has a default route again.
    case networkReturned
    /// So many items are to be uploaded at a time from now on.
    case limited(Int)
    /// The whole queue is paused or resumed.
    case paused(Bool)
    /// No upload starts while the network is to be spared.
    case held(Bool)
    /// Time has passed.
    case tick
  }

  /// The actions that the queue performs for the machine.
  enum Action: Sendable, Hashable {
    /// Upload an item, with the account's credentials of this generation.
    case start(Int64, generation: Int)
    /// Cancel the attempt of an item.
    case cancel(Int64)
    /// Fetch newer credentials for an account: the server refused those of this generation.
    case refresh(String, generation: Int)
    /// Record a failure and the delay before the retry; no delay means that the item waits for credentials.
    case postpone(Int64, failures: Int, delay: Duration?, UploadFailure)
    /// Record that an item has failed for good.
    case giveUp(Int64, UploadFailure)
  }
}
