/// The end of one reply over a v2 mux.
struct MuxEnding: Sendable, Equatable {
  /// The time that the phone needed, in milliseconds.
  var durationMs: Int
  /// The reason why the reply has failed; `nil` for a complete reply.
  var refusal: Answer.Refusal?
  /// The end as the engine reports it; `nil` for a refusal, and from a phone that reports none.
  var completion: Completion?
}
