import BlueZ
import EdgeCoder
import Foundation

/// The v2 link beside the raw protocol, and beside a plain copy over an L2CAP channel, in one process at both ends.
extension Main {
  private static let replyBytes = 200 << 10
  private static let replies = 5
  private static let trips = 100
  /// What a v2 frame is at most over our channels.
  private static let packetBytes = 2048

  /// Prints `WHO WHAT NUMBER` for each figure: goodput in bytes/s, round trips in 1/s.
  static func compareLinks(on phoneAdapter: Adapter, and central: String, _ rounds: Int) async throws {
    let centralAdapter = try await phoneAdapter.session.adapter(central, timeout: .seconds(30))
    for _ in 0..<rounds {
      try await roles(phoneAdapter, centralAdapter, name: "raw", link: nil)
      try await roles(phoneAdapter, centralAdapter, name: "gatt", link: .gatt)
      try await roles(phoneAdapter, centralAdapter, name: "v2", link: .l2cap)
    }
    say("end")
  }

  /// One phone and one central: the protocol as it is, or over the link.
  private static func roles(
    _ phoneAdapter: Adapter, _ centralAdapter: Adapter, name: String, link: MuxBearer?
  ) async throws {
    let transport = try await BlueZPhoneTransport.start(
      on: phoneAdapter, name: "bench", access: .open, muxBearers: link.map { [$0] } ?? [])
    var limits = PhoneConfiguration()
    limits.rates.requestsPerMinute = .max
    limits.rates.bytesPerMinute = .max
    let phone = PhoneService(transport: transport, engine: SizedEcho(), configuration: limits)
    let radio = BlueZPhoneRadio(adapter: centralAdapter, access: .open)
    var configuration = CentralConfiguration()
    // What a text shrinks by says nothing about the link.
    configuration.mux.compressesText = false
    let central = Central(scanner: radio, connector: radio, configuration: configuration)
    let work = [Task { await phone.run() }, Task { await central.run() }]
    while await central.status().phones.first?.state != "ready" { try await Task.sleep(for: .milliseconds(50)) }
    guard await central.status().phones.first?.linkBearer == link else {
      throw Failure(what: "the phone has another link than it should")
    }
    for _ in 0..<10 { _ = try await answer(".", 1, central) }
    var begun = ContinuousClock.now
    for _ in 0..<trips { try await answer("12345678901234567890", 20, central) }
    say("\(name) trips \(Double(trips) / ((ContinuousClock.now - begun) / .seconds(1)))")
    begun = ContinuousClock.now
    for _ in 0..<(link == nil ? 1 : replies) { try await answer("#\(replyBytes)", replyBytes, central) }
    let bytes = Double(replyBytes * (link == nil ? 1 : replies))
    say("\(name) goodput \(bytes / ((ContinuousClock.now - begun) / .seconds(1)))")
    // Over the same link, so that the radio is in the same state for both.
    if link == .l2cap { try await copy(phoneAdapter, centralAdapter) }
    for task in work { task.cancel() }
    for task in work { await task.value }
    try await transport.stop()
  }

  @discardableResult
  private static func answer(_ prompt: String, _ bytes: Int, _ central: Central) async throws -> InferenceReply {
    let reply = try await central.generate(prompt: prompt, maxTokens: nil)
    guard reply.answer.ok, reply.answer.output.utf8.count == bytes else {
      throw Failure(what: "not the right answer: \(reply.answer.ok)")
    }
    return reply
  }

  /// The same bytes over a channel of their own, without any frames.
  private static func copy(_ phoneAdapter: Adapter, _ centralAdapter: Adapter) async throws {
    let listener = try phoneAdapter.listen(mtu: packetBytes)
    guard let device = centralAdapter.device(phoneAdapter.address) else { throw Failure(what: "no device") }
    async let accepted = listener.first { _ in true }
    let receiver = try await device.openChannel(psm: listener.psm, mtu: packetBytes)
    guard let sender = try await accepted else { throw Failure(what: "no channel") }
    let packet = [UInt8](repeating: 7, count: min(packetBytes, sender.sendMTU))
    let total = replyBytes * replies
    let begun = ContinuousClock.now
    async let sending: Void = {
      for _ in 0..<(total / packet.count + 1) { try await sender.send(packet) }
    }()
    var received = 0
    for try await packet in receiver.packets {
      received += packet.count
      if received >= total { break }
    }
    say("copy goodput \(Double(received) / ((ContinuousClock.now - begun) / .seconds(1)))")
    try await sending
    receiver.close()
    sender.close()
    listener.close()
  }
}

/// Answers `#N` with N bytes in pieces of 4 KiB, and anything else with itself.
private struct SizedEcho: Engine {
  let name = "sized"

  func modelState() async -> ModelState { .ready }

  func generate(_ request: InferenceRequest) -> AsyncThrowingStream<EngineOutput, any Error> {
    let prompt = request.prompt
    return AsyncThrowingStream { continuation in
      if prompt.hasPrefix("#"), let bytes = Int(prompt.dropFirst()) {
        let piece = String(repeating: "abcdefgh", count: 512)
        for start in stride(from: 0, to: bytes, by: piece.utf8.count) {
          continuation.yield(.text(String(piece.prefix(bytes - start))))
        }
      } else {
        continuation.yield(.text(prompt))
      }
      continuation.finish()
    }
  }
}
