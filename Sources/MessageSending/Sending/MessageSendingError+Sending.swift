public import ErrorReporting

extension CodedError.Code where Domain == MessageSendingErrorDomain {
  /// The server has not accepted a message, or that is unknown.
  public static var notSent: Self { Self("not sent", .temporary) }
  /// The recipients' keys could not be fetched; those that were fetched before may still be valid.
  public static var notFetched: Self { Self("keys not fetched", .temporary) }
  /// No cover can be made, so that nothing may be sent.
  public static var noCovers: Self { Self("no covers", .unavailable) }
}
