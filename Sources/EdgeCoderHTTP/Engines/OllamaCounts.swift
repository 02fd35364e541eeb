internal import EdgeCoder

/// The end of a reply in the last line of Ollama's streams, and of a central's; durations in nanoseconds.
struct OllamaCounts: Decodable, Sendable {
  private let done_reason: String?
  private let load_duration: Int?
  private let prompt_eval_count: Int?
  private let prompt_eval_duration: Int?
  private let eval_count: Int?
  private let eval_duration: Int?

  /// The end of the reply; an absent reason counts as `stop`.
  var completion: Completion {
    var completion = Completion(done_reason.map { Completion.Reason(server: $0) } ?? .stop)
    completion.promptTokens = prompt_eval_count
    completion.replyTokens = eval_count
    completion.loadTime = load_duration.map { .nanoseconds($0) }
    completion.promptTime = prompt_eval_duration.map { .nanoseconds($0) }
    completion.replyTime = eval_duration.map { .nanoseconds($0) }
    return completion
  }
}
