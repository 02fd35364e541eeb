internal import EdgeCoder
internal import FoundationEssentials

/// The messages between ``OllamaEngine`` and an Ollama server; property names are those of the protocol.
enum OllamaWire {
  struct GenerateRequest: Encodable {
    struct Options: Encodable {
      /// Absent for the default of the model.
      let num_predict: Int?
    }
    let model: String
    let prompt: String
    let stream = true
    let options: Options
  }

  struct GenerateLine: Decodable {
    let response: String?
    let done: Bool?
    let error: String?
  }

  struct ModelList: Decodable {
    struct Model: Decodable {
      struct Details: Decodable {
        /// The size for display: `494.03M`, `8.0B`, `1.1T`, or empty.
        let parameter_size: String?

        var billionsOfParameters: Double? {
          guard let text = parameter_size, let number = Double(text.dropLast()) else { return nil }
          switch text.last {
          case "K": return number / 1_000_000
          case "M": return number / 1000
          case "B": return number
          case "T": return number * 1000
          default: return nil
          }
        }
      }
      let name: String
      let details: Details?
    }
    let models: [Model]
  }

  struct Refusal: Decodable {
    let error: String
  }

  static func error(_ reply: RefusedReply, model: String) -> EngineError {
    let text = reply.message { (body: Refusal) in body.error }
    let hint =
      switch reply.status {
      case 404: "fetch the model: ollama pull \(model)"
      case 503: "the server is busy; try again later"
      case 500...: "look at the log of the Ollama server; the model may need more memory than is free"
      default: "check that this is a recent Ollama server"
      }
    let code: EngineError.Code =
      switch reply.status {
      case 404: .noModel
      case 429, 503: .busy
      default: EngineError.code(ofRefusal: text)
      }
    return EngineError(code, "the model server: \(text.excerpt)", hint: hint)
  }
}

/// Reads the NDJSON of `/api/generate`.
struct OllamaReplyDecoder: ReplyDecoder {
  private let json = JSONDecoder()

  mutating func decode(line: String) throws -> ReplyStep {
    guard line.contains(where: { !$0.isWhitespace }) else { return .ignored }
    let decoded: OllamaWire.GenerateLine
    let counts: OllamaCounts?
    do {
      decoded = try json.decode(OllamaWire.GenerateLine.self, from: Data(line.utf8))
      counts = decoded.done == true ? try json.decode(OllamaCounts.self, from: Data(line.utf8)) : nil
    } catch {
      throw EngineError(.badReply, "the model server sent a line that is not Ollama's JSON", hint: "is the port right?")
    }
    if let error = decoded.error {
      throw EngineError(EngineError.code(ofRefusal: error), "the model server: \(error.excerpt)")
    }
    let text = decoded.response ?? ""
    return counts.map { .finished(text, $0.completion) } ?? .text(text)
  }

  mutating func end() throws -> ReplyStep {
    throw EngineError.endedEarly
  }
}
