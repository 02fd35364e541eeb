internal import JSONValues

/// The description of the client that each request to a control server contains.
public struct ControlDevice: Sendable, Hashable {
  /// The name and the version of the operating system.
  public var osVersion: String
  /// The model of the machine.
  public var model: String
  /// The language in two letters, such as `en`.
  public var language: String
  /// The name of the time zone in the database of IANA.
  public var timezone: String
  /// The version of the program that measures.
  public var softwareVersion: String

  /// The version of the set of tests that this library implements.
  static let testSetVersion = "0.3"
  /// The version of the protocol that this library speaks.
  static let protocolVersion = "1.2.0"

  /// Creates a description; a server refuses a request whose time zone or language it does not know.
  /// - Parameters:
  ///   - osVersion: The name and the version of the operating system.
  ///   - model: The model of the machine.
  ///   - language: The language in two letters; another text becomes `en`.
  ///   - timezone: The name of the time zone in the database of IANA; a text that cannot be one becomes `UTC`.
  ///   - softwareVersion: The version of the program that measures.
  public init(osVersion: String, model: String, language: String, timezone: String, softwareVersion: String) {
    self.osVersion = Self.plain(osVersion)
    self.model = Self.plain(model)
    let letters = language.prefix { $0.isASCII && $0.isLetter }.lowercased()
    self.language = letters.count == 2 ? letters : "en"
    let isZone = timezone.utf8.allSatisfy {
      UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 || (0x30...0x39).contains($0) || "/_+-".utf8.contains($0)
    }
    self.timezone = isZone && (1...64).contains(timezone.utf8.count) ? timezone : "UTC"
    self.softwareVersion = Self.plain(softwareVersion)
  }

  /// The number of a version: two digits for each of its three parts.
  var versionCode: Int {
    let parts = softwareVersion.split(separator: ".").prefix(3).map { part in
      Int(part.prefix { $0.isASCII && $0.isNumber }) ?? 0
    }
    return parts.reduce(0) { $0 * 100 + min($1, 99) }
  }

  /// The members of every request.
  /// - Parameter client: The identifier of the client; `nil` before the server has assigned one.
  func members(client: String?) -> [String: JSONValue] {
    var members = members
    members["uuid"] = client.map { .string($0) }
    return members
  }

  private var members: [String: JSONValue] {
    [
      "platform": "LINUX", "plattform": "LINUX",
      "os_version": .string(osVersion), "model": .string(model), "device": .string(model),
      "language": .string(language),
      "client_language": .string(language), "timezone": .string(timezone), "name": "RMBT", "client": "RMBT",
      "client_name": "RMBT", "type": "DESKTOP", "version": .string(Self.testSetVersion),
      "client_version": .string(Self.protocolVersion), "softwareVersion": .string(softwareVersion),
      "client_software_version": .string(softwareVersion), "softwareVersionCode": .number(versionCode),
      "softwareRevision": .string(softwareVersion),
      "capabilities": ["classification": ["count": 4], "qos": ["supports_info": true], "RMBThttp": true],
    ]
  }

  /// At most 100 characters that can be printed.
  private static func plain(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7f }.prefix(100)))
  }
}
