/// The routes of Ollama and OpenAI that this server does not have, with the words for their clients.
enum AbsentRoutes {
  private static let manage = "the models are on the phones, and are not managed from here"
  private static let text = "phones return text only"

  private static let reasons: [(path: String, reason: String)] = [
    ("/api/push", manage), ("/api/create", manage), ("/api/copy", manage), ("/api/delete", manage),
    ("/api/blobs/", manage), ("/v1/responses/", "replies are not kept"), ("/v1/images/", text), ("/v1/audio/", text),
    ("/v1/moderations", "phones have no moderation"), ("/v1/files", "phones keep no files"),
    ("/v1/batches", "phones have no batches"), ("/v1/fine_tuning/", manage),
    ("/v1/assistants", "use /v1/chat/completions"), ("/v1/threads", "use /v1/chat/completions"),
  ]

  /// Returns why a path is not served; `nil` for a path that neither API has.
  static func reason(for path: String) -> String? {
    reasons.first { route in
      path == route.path || path.hasPrefix(route.path.hasSuffix("/") ? route.path : route.path + "/")
    }?.reason
  }
}
