import Agent
import Foundation
import Timing

/// The way to the coordinator, and what happens on it.
struct SimulatedTransport: CoordinatorTransport {
  let world: World
  let life: Int
  let time: TimeSource
  var address: String { "https://coordinator.example" }

  func post(_ path: String, headers: [(name: String, value: String)], body: Data) async throws -> CoordinatorAnswer {
    let askedAt = world.ledger.asks(path, world)
    if path == "/result" { world.ledger.sends(body, world) }
    let fate = Double.random(in: 0..<1, using: &world.random)
    try await time.sleep(for: world.milliseconds(1...150))
    guard world.weather.path.status == .satisfied, fate >= world.weather.loss * 0.5 else {
      throw CoordinatorTransportError("nothing answers", mayHaveArrived: false)
    }
    let chance = Double.random(in: 0..<1, using: &world.random)
    let answer = world.coordinator.answer(path, headers, body, at: world.seconds, random: chance)
    if path == "/register" || answer.status != 200 { world.tell("\(path) is answered \(answer.status)") }
    if fate < world.weather.loss * 0.8 {
      // Longer than anybody waits.
      try await time.sleep(for: .seconds(60))
    }
    try await time.sleep(for: world.milliseconds(1...150))
    if fate < world.weather.loss { return CoordinatorAnswer(status: 502, body: Data("<html>".utf8)) }
    // After a sleep of the host no caller waits any longer.
    if world.now - askedAt < CoordinatorRunner.answerLimit { world.ledger.hears(path, body, answer, world) }
    return answer
  }
}

/// Signs with nothing: the coordinator here looks only whether there is a signature.
struct SimulatedSigner: RequestSigner {
  let publicKeyPEM = "-----BEGIN PUBLIC KEY-----"

  func headers(
    path: String, body: Data, agentID: String, timestampMs: Int64, nonce: String
  ) throws -> [(name: String, value: String)] {
    [("x-agent-id", agentID), ("x-nonce", nonce), ("x-signature", "s")]
  }
}
