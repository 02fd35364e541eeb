package import BlueZ
internal import EdgeCoder
internal import Streams

/// A conversation of a central with a phone that has the same requests each time, so that a recording of it can stand for
/// the phone: `Tests/BtsnoopTests/Recordings`.
package enum PhoneConversation {
  /// The prompts, one of them in several writes and its reply in several notifications.
  package static let prompts = ["hello", String(repeating: "wörld 😀 ", count: 100)]

  /// The replies of a phone with an `EchoEngine`.
  package static let replies = prompts.map { EchoEngine.prefix + $0 }

  /// Sends the prompts to the first phone that the adapter finds, over the characteristics.
  /// - Returns: The replies.
  package static func hold(at adapter: Adapter) async throws -> [String] {
    let radio = BlueZPhoneRadio(adapter: adapter, access: .open)
    var configuration = CentralConfiguration()
    // A mux has a random number.
    configuration.mux.bearers = []
    let next = Lock(0)
    let environment = Central.Environment(requestID: {
      next.withLock { next in
        defer { next += 1 }
        return "\(next)"
      }
    })
    let central = Central(scanner: radio, connector: radio, configuration: configuration, environment: environment)
    return try await running([central.run]) {
      try await ready(central)
      var replies: [String] = []
      for prompt in prompts { replies.append(try await central.generate(prompt: prompt, maxTokens: nil).output) }
      return replies
    }
  }

  private static func ready(_ central: Central) async throws {
    let events = await central.events()
    func isSo() async -> Bool { await central.status().phones.contains { $0.state == "ready" } }
    if await isSo() { return }
    for await _ in events where await isSo() { return }
  }
}
