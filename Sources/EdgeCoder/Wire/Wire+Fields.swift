import FoundationEssentials
internal import JSONValues

extension Wire {
  /// The fields of all three messages.
  ///
  /// A field is `nil` when it is absent or of another type, so that one wrong field does not hide the identifier.
  struct Fields: Decodable {
    let id: String?
    let prompt: String?
    let maxTokens: Int?
    let output: String?
    let ok: Bool?
    let durationMs: Int?
    let modelState: String?
    let batteryPct: Int?
    /// A Boolean value that indicates whether `output` is present and unreadable, for example not UTF-8.
    let hasUnreadableOutput: Bool

    private enum Key: String, CodingKey {
      case id, prompt, maxTokens, output, ok, durationMs, modelState, batteryPct
    }

    init(from decoder: any Decoder) throws {
      let object = try decoder.container(keyedBy: Key.self)
      func field<Value: Decodable>(_ key: Key) -> Value? {
        do {
          return try object.decodeIfPresent(Value.self, forKey: key)
        } catch {
          return nil  // of another type, or a number out of range: counts as absent, see above
        }
      }
      id = field(.id)
      prompt = field(.prompt)
      maxTokens = field(.maxTokens)
      output = field(.output)
      hasUnreadableOutput = output == nil && object.contains(.output)
      ok = field(.ok)
      durationMs = field(.durationMs)
      modelState = field(.modelState)
      batteryPct = field(.batteryPct)
    }

    static func decode(_ bytes: [UInt8]) throws(Malformed) -> Fields {
      do {
        return try JSONDecoder().decode(Fields.self, from: Data(bytes))
      } catch {
        throw Malformed(reason: "the message is not a JSON object in UTF-8")
      }
    }
  }

  /// Returns the identifier of a truncated message, for example one over the size limit.
  ///
  /// The identifier is found if `id` is one of the first fields and complete within the bytes.
  /// - Returns: The identifier, or `nil` if it cannot be determined with certainty.
  public static func recoverID(fromHead head: [UInt8]) -> String? {
    // Closing the head after each comma of the object's own level makes smaller objects until one parses.
    var depth = 0
    var inString = false
    var escaped = false
    for (index, byte) in head.enumerated() {
      if inString {
        if escaped {
          escaped = false
        } else if byte == .backslash {
          escaped = true
        } else if byte == .quote {
          inString = false
        }
        continue
      }
      switch byte {
      case .quote: inString = true
      case .openBrace, .openBracket: depth += 1
      case .closeBrace, .closeBracket: depth -= 1
      case .comma where depth == 1:
        do throws(Malformed) {
          let id = try Fields.decode(head[..<index] + [.closeBrace]).id
          if let id, !id.isEmpty, id.utf8.count <= idLimit { return id }
        } catch {
          return nil  // the text before the first comma is not JSON, so a longer one is not either
        }
      default: break
      }
    }
    return nil
  }
}
