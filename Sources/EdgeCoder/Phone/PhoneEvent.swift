/// An event of the phone role that a user or a monitor may see; no event contains text of a prompt or a reply.
///
/// ``PhoneService/events(limit:)`` returns the stream of events.
public enum PhoneEvent: Sendable, Hashable {
  /// The service is registered and advertised.
  case up
  /// The service is unreachable and all connections are lost, with the reason for display.
  case down(String)
  /// The status of the phone changed.
  case status(Wire.Status)
  /// The number of connected centrals changed.
  case centrals(Int)
  /// A well-formed request arrived from a central.
  ///
  /// `number` counts the requests since the start, `bytes` is the encoded size, and `waiting` is the number of requests
  /// that wait behind the one being answered.
  case request(number: Int, bytes: Int, waiting: Int)
  /// The engine started to answer the next request.
  case answering
  /// A reply was sent in full.
  ///
  /// `number` counts the replies since the start, `bytes` is the encoded size, and `chunks` is the number of
  /// notifications; 0 over a v2 mux.
  case replySent(number: Int, bytes: Int, chunks: Int)
  /// A reply was not sent, or was sent only in part.
  case replyFailed
  /// The engine failed to answer a request.
  case engineFailed
  /// Requests were cancelled because their central cancelled them or disconnected.
  case cancelled(Int)
  /// A request was refused because the phone is busy.
  case busy
  /// A central without permission was refused.
  case accessRefused(AccessRefusal)
  /// A write to the service was refused.
  case writeRefused
  /// A complete object was not a request.
  case malformed
}
