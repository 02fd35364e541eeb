@testable import EdgeCoder

// Most tests ask with a prompt alone.
extension MuxClient {
  func exchange(
    prompt: String, maxTokens: Int?, onText: @Sendable (String) async -> Void = { _ in }
  ) async throws -> Reply {
    try await exchange(InferenceRequest(prompt: prompt, maxTokens: maxTokens)) { part in
      if case .text(let text) = part { await onText(text) }
    }
  }
}

extension MuxClientMachine {
  mutating func open(prompt: String, maxTokens: Int?) -> UInt32? {
    open(Array(prompt.utf8), isForm: false, maxTokens: maxTokens)
  }
}
