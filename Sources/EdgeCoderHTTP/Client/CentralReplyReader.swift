internal import EdgeCoder

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Reads a central's answer to one prompt: lines of JSON with pieces of the text, and a last one; or that one alone.
struct CentralReplyReader {
  enum Event: Equatable {
    case text(String)
    case end(InferenceReply)
  }

  private struct Line: Decodable {
    let response: String?
    let done: Bool?
    let id: String?
    let output: String?
    let ok: Bool?
    let durationMs: Int?
    let deviceName: String?
    let error: String?
    let code: String?
  }

  /// A reply has at most 256 KiB on the air; escapes make it a few times that.
  private static let longestLine = 4 << 20
  /// The same in the shortest pieces, each with a line around it.
  private static let longestAnswer = 64 << 20

  private let url: String
  private var lines = LineSplitter(limit: longestLine)
  private var text = ""
  private var bytes = 0

  init(url: String) { self.url = url }

  /// Whether anything has come.
  var hasBegun: Bool { bytes > 0 }

  /// Takes bytes in.
  /// - Throws: `InferenceError` or ``CentralClientError``: what the central says, or that it is none.
  mutating func append(_ chunk: some Collection<UInt8>) throws -> [Event] {
    bytes += chunk.count
    guard bytes <= Self.longestAnswer, let complete = try? lines.append(chunk) else {
      throw CentralClientError.notACentral(at: url)
    }
    return try complete.map { try read($0) }
  }

  /// What the end of the answer says, which had no last line yet.
  /// - Throws: as ``append(_:)``.
  mutating func end() throws -> InferenceReply {
    guard let line = lines.finish(), case .end(let reply) = try read(line) else {
      throw text.isEmpty ? CentralClientError.notACentral(at: url) : CentralClientError.interrupted(at: url)
    }
    return reply
  }

  private mutating func read(_ text: String) throws -> Event {
    guard let line = try? JSONDecoder().decode(Line.self, from: Data(text.utf8)) else {
      throw CentralClientError.notACentral(at: url)
    }
    if let message = line.error {
      // In the middle of a reply nothing but an error can say that the phone failed.
      guard line.code == "phone_failed", let output = line.output else { throw Self.error(line.code, message) }
      return .end(reply(line, output, ok: false))
    }
    if let output = line.output { return .end(reply(line, output, ok: line.ok ?? true)) }
    guard let piece = line.response else { throw CentralClientError.notACentral(at: url) }
    self.text += piece
    return line.done == true ? .end(reply(line, self.text, ok: true)) : .text(piece)
  }

  private func reply(_ line: Line, _ output: String, ok: Bool) -> InferenceReply {
    InferenceReply(
      id: line.id ?? "", output: output, ok: ok, durationMs: line.durationMs ?? 0, phone: line.deviceName ?? "")
  }

  private static func error(_ code: String?, _ message: String) -> any Error {
    switch code {
    case "no_phone_ready": InferenceError(.noPhoneReady, message)
    case "phone_disconnected": InferenceError(.disconnected, message)
    case "write_failed": InferenceError(.writeFailed, message)
    case "busy": InferenceError(.busy, message)
    case "timeout": InferenceError(.timedOut, message)
    case "damaged_reply": InferenceError(.badReply, message)
    case "prompt_too_large", "body_too_large": InferenceError(.requestTooLarge, message)
    default: CentralClientError(.refused, "the central refused the prompt: \(message)")
    }
  }
}
