internal import EdgeCoder
internal import FoundationEssentials
internal import JSONValues

/// A reader of the reply of a central: lines of JSON with pieces of the text and a last line, or only that one.
struct CentralReplyReader {
  enum Event: Equatable {
    case part(ReplyPart)
    case end(InferenceReply)
  }

  private struct Line: Decodable {
    /// A call of a tool, which is read with its arguments in order from the line.
    struct ToolCallPresence: Decodable {}

    let response: String?
    let thinking: String?
    let toolCalls: [ToolCallPresence]?
    let ahead: Int?
    let ignored: [String]?
    let done: Bool?
    let id: String?
    let output: String?
    let ok: Bool?
    let durationMs: Int?
    let deviceName: String?
    let error: String?
    let code: String?
  }

  /// The limit on a line: a reply has at most 256 KiB over the air, and escapes make it a few times longer.
  private static let longestLine = 4 << 20
  /// The limit on a reply whose pieces are as short as possible, each in a line.
  private static let longestReply = 64 << 20

  private let url: String
  private var lines = LineSplitter(limit: longestLine)
  private var text = ""
  private var bytes = 0

  init(url: String) { self.url = url }

  /// A Boolean value that indicates whether any bytes have arrived.
  var hasStarted: Bool { bytes > 0 }

  /// Reads bytes.
  /// - Throws: `InferenceError` or ``CentralClientError``: the error of the central, or that it is not a central.
  mutating func append(_ chunk: some Collection<UInt8>) throws -> [Event] {
    bytes += chunk.count
    guard bytes <= Self.longestReply, let complete = try? lines.append(chunk) else {
      throw CentralClientError.notACentral(at: url)
    }
    return try complete.flatMap { try read($0) }
  }

  /// Returns the reply at the end of a stream that had no last line yet.
  /// - Throws: as ``append(_:)``.
  mutating func end() throws -> InferenceReply {
    guard let line = lines.finish(), case .end(let reply) = try read(line).last else {
      throw text.isEmpty ? CentralClientError.notACentral(at: url) : CentralClientError.interrupted(at: url)
    }
    return reply
  }

  private mutating func read(_ text: String) throws -> [Event] {
    let bytes = Data(text.utf8)
    let decoder = JSONDecoder()
    guard let line = try? decoder.decode(Line.self, from: bytes),
      let counts = try? decoder.decode(OllamaCounts.self, from: bytes)
    else { throw CentralClientError.notACentral(at: url) }
    if let message = line.error {
      // In the middle of a stream a failure of the phone is an error.
      guard line.deviceName != nil, let output = line.output else { throw Self.error(line.code, message) }
      return [.end(reply(line, output, ok: false))]
    }
    let completion = line.done == true && line.ok != false ? counts.completion : nil
    if let output = line.output { return [.end(reply(line, output, ok: line.ok ?? true, completion))] }
    guard let piece = line.response else { throw CentralClientError.notACentral(at: url) }
    self.text += piece
    if line.done == true { return [.end(reply(line, self.text, ok: true, completion))] }
    var parts: [ReplyPart] = []
    if let ahead = line.ahead { parts.append(.waiting(ahead: ahead)) }
    // A central of a later version may know more fields.
    if let names = line.ignored { parts.append(.ignored(names.compactMap(RequestField.init(rawValue:)))) }
    if let thinking = line.thinking, !thinking.isEmpty { parts.append(.thinking(thinking)) }
    if !piece.isEmpty { parts.append(.text(piece)) }
    if line.toolCalls?.isEmpty == false { parts += try calls(in: bytes).map { .toolCall($0) } }
    return parts.map { .part($0) }
  }

  /// Reads the calls of tools of a line, whose arguments keep their order.
  private func calls(in line: Data) throws -> [ToolCall] {
    guard let value = try? JSONValue(parsing: Array(line)) else { throw CentralClientError.notACentral(at: url) }
    return try (value["toolCalls"]?.elements ?? []).map { call in
      guard let call = ToolCall(form: call) else { throw CentralClientError.notACentral(at: url) }
      return call
    }
  }

  private func reply(
    _ line: Line, _ output: String, ok: Bool, _ completion: Completion? = nil
  ) -> InferenceReply {
    InferenceReply(
      id: line.id ?? "", answer: Answer(output: output, ok: ok), durationMs: line.durationMs ?? 0,
      phone: line.deviceName ?? "", completion: completion)
  }

  private static func error(_ code: String?, _ message: String) -> any Error {
    switch code {
    case "no_phone_ready": InferenceError(.noPhoneReady, message)
    case "phone_disconnected": InferenceError(.disconnected, message)
    case "write_failed": InferenceError(.writeFailed, message)
    case "busy": InferenceError(.busy, message)
    case "timeout": InferenceError(.timedOut, message)
    case "damaged_reply": InferenceError(.badReply, message)
    case "no_model": InferenceError(.noModel, message)
    case "model_failed": InferenceError(.modelFailed, message)
    case "network_lost": InferenceError(.networkLost, message)
    case "unsupported": InferenceError(.unsupported, message)
    case APIError.contextExceeded: InferenceError(.contextExceeded, message)
    case "prompt_too_large", "body_too_large": InferenceError(.requestTooLarge, message)
    default: CentralClientError(.refused, "the central refused the prompt: \(message)")
    }
  }
}
