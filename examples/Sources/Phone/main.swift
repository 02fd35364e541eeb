// An EdgeCoder phone with a model of one idea: it says every prompt backwards.
//
//     Phone [ADAPTER]
import BlueZ
import EdgeCoder

/// What answers prompts; yours goes here.
struct Mirror: Engine {
  let name = "mirror"

  func modelState() async -> ModelState { .ready }

  func generate(prompt: String, maxTokens: Int) -> AsyncThrowingStream<String, any Error> {
    AsyncThrowingStream { answer in
      for word in prompt.split(separator: " ").reversed().prefix(maxTokens) { answer.yield("\(word) ") }
      answer.finish()
    }
  }
}

let session = try await Session.open()
let adapter = try await session.adapter(CommandLine.arguments.dropFirst().first)
try await adapter.setPowered(true)
// Anyone near may ask. Without `access`, only those who have paired.
let radio = try await BlueZPhoneTransport.start(on: adapter, name: "Mirror", access: .open)
print("A phone at \(adapter.address); Ctrl-C ends it.")
await PhoneService(transport: radio, engine: Mirror()).run()
