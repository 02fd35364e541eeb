// An EdgeCoder phone with a trivial engine: it returns the words of each prompt in reverse order.
//
//     Phone [ADAPTER]
import BlueZ
import EdgeCoder

/// The engine that answers prompts; replace it with your own.
struct Mirror: Engine {
  let name = "mirror"

  func modelState() async -> ModelState { .ready }

  func generate(_ request: InferenceRequest) -> AsyncThrowingStream<EngineOutput, any Error> {
    AsyncThrowingStream { reply in
      let words = request.prompt.split(separator: " ").reversed()
      for word in words.prefix(request.maxTokens ?? words.count) { reply.yield(.text("\(word) ")) }
      reply.finish()
    }
  }
}

await Session.runProgram { session in
  let adapter = try await session.adapter(CommandLine.arguments.dropFirst().first)
  try await adapter.setPowered(true)
  // All centrals in range are admitted. The default of `access` admits only bonded ones.
  let radio = try await BlueZPhoneTransport.start(on: adapter, name: "Mirror", access: .open)
  print("A phone at \(adapter.address); Ctrl-C stops it.")
  await PhoneService(transport: radio, engine: Mirror()).run()
}
