internal import EdgeCoder
internal import FoundationEssentials
internal import JSONValues

/// The body of a request: its fields, and the whole as JSON in the order of the client.
@dynamicMemberLookup struct RequestBody<Fields: Decodable & Sendable>: Sendable {
  let fields: Fields
  let json: JSONValue

  /// Reads a body.
  /// - Throws: ``APIError`` 400 for a body that is not JSON, is too deep, or has a field of the wrong type.
  init(_ bytes: [UInt8]) throws {
    do {
      fields = try JSONDecoder().decode(Fields.self, from: Data(bytes))
    } catch let error as DecodingError {
      throw APIError(error)
    }
    do {
      json = try JSONValue(parsing: bytes)
    } catch {
      throw APIError.badRequest("the body is \(error)")
    }
  }

  subscript<Value>(dynamicMember path: KeyPath<Fields, Value>) -> Value { fields[keyPath: path] }
}

extension JSONValue {
  /// A Boolean value that indicates whether a field asks for something: absent, null, false, "", [] and {} do not.
  var isSet: Bool {
    switch self {
    case .null: false
    case .bool(let value): value
    case .number: true
    case .string(let text): !text.isEmpty
    case .array(let elements): !elements.isEmpty
    case .object(let members): !members.isEmpty
    }
  }

  /// Returns the value of a field that asks for something; `nil` for another one.
  func set(_ name: String) -> JSONValue? { self[name].flatMap { $0.isSet ? $0 : nil } }
}

/// The fields of clients that become the details of a request.
enum DetailFields {
  /// Returns the options among the members of an object.
  /// - Parameter place: The path of the object, with a final dot, for errors.
  static func options(among object: JSONValue, at place: String = "") throws -> GenerationOptions {
    do throws(InvalidRequest) {
      var options = try GenerationOptions(among: object)
      options.stop = try checked(options.stop)
      return options
    } catch {
      throw APIError.badRequest("`\(place)\(error.field)` \(error.reason)")
    }
  }

  /// Each byte of a reply is compared with every sequence.
  private static func checked(_ stop: [String]) throws(InvalidRequest) -> [String] {
    guard stop.count <= StopSequences.countLimit else {
      throw InvalidRequest("stop", "has \(stop.count) sequences; allowed: \(StopSequences.countLimit)")
    }
    if let longest = stop.map(\.utf8.count).max(), longest > StopSequences.lengthLimit {
      throw InvalidRequest("stop", "has a sequence of \(longest) bytes; allowed: \(StopSequences.lengthLimit)")
    }
    return stop.filter { !$0.isEmpty }
  }

  /// Returns the tools of a body: objects with a function that has a name.
  static func tools(_ json: JSONValue) throws -> [JSONValue] {
    guard let value = json.set("tools") else { return [] }
    guard let tools = value.elements else { throw APIError.badRequest("`tools` is not a list") }
    for (index, tool) in tools.enumerated() where tool["function"]?["name"]?.text?.isEmpty != false {
      throw APIError.badRequest("`tools[\(index)].function.name` is missing: only functions are supported")
    }
    return tools
  }

  /// Returns the choice of tools of an OpenAI client.
  static func toolChoice(_ json: JSONValue) throws -> RequestDetails.ToolChoice {
    guard let value = json.set("tool_choice") else { return .auto }
    switch value.text {
    case "auto": return .auto
    case "none": return .none
    case "required", "any": return .required
    default:
      guard let name = value["function"]?["name"]?.text ?? value["name"]?.text else {
        throw APIError.badRequest("`tool_choice` is not auto, none, required or a function")
      }
      return .tool(name)
    }
  }

  /// Returns the format of Ollama: `json` or a schema.
  static func ollamaFormat(_ json: JSONValue) throws -> RequestDetails.Format? {
    guard let value = json.set("format") else { return nil }
    if value.text == "json" { return .json }
    guard value.members != nil else { throw APIError.badRequest("`format` is neither `json` nor a JSON schema") }
    return .schema(value)
  }

  /// Returns the thinking of Ollama: true, false, or how much.
  static func thinking(_ json: JSONValue) throws -> RequestDetails.Thinking? {
    switch json["think"] {
    case nil, .null: return nil
    case .bool(let isOn): return isOn ? .on : .off
    case .string(let text) where ["low", "medium", "high"].contains(text): return .init(rawValue: text)
    default: throw APIError.badRequest("`think` is not true, false, low, medium or high")
    }
  }

  /// Returns the format of OpenAI: `json_object`, or `json_schema` with a schema.
  static func openAIFormat(_ json: JSONValue) throws -> RequestDetails.Format? {
    guard let value = json.set("response_format") else { return nil }
    switch value["type"]?.text {
    case "text": return nil
    case "json_object": return value["schema"].map { .schema($0) } ?? .json
    case "json_schema":
      guard let schema = value["json_schema"]?["schema"], schema.members != nil else {
        throw APIError.badRequest("`response_format.json_schema.schema` is missing")
      }
      return .schema(schema, isStrict: value["json_schema"]?["strict"]?.isTrue ?? false)
    default: throw APIError.badRequest("`response_format.type` is not text, json_object or json_schema")
    }
  }

  /// Returns the names of the fields of a body that ask for something and are not known, so that they have no effect.
  static func unknown(in json: JSONValue, known: Set<String>) -> [String] {
    (json.members ?? []).filter { $0.value.isSet && !known.contains($0.name) }.map(\.name)
  }
}
