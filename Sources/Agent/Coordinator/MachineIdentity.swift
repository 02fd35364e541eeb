import DurableFiles
public import ErrorReporting
public import FoundationEssentials

/// The identity of this machine at a coordinator: an identifier and a signing key, created once and readable by its user
/// only.
///
/// ```swift
/// let identity = try MachineIdentity.load(path: "/var/lib/edgeblue/identity.json", hostName: "board")
/// print(identity.agentID)  // board- and six hexadecimal digits
/// ```
public struct MachineIdentity: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
  /// The identifier, 1 to ``idLimit`` letters, digits and `. _ : -`.
  public var agentID: String
  /// The secret seed of the Ed25519 key: 32 bytes.
  public var signingSeed: Data

  /// The longest identifier: 128 characters.
  public static let idLimit = 128

  private struct Contents: Codable {
    var version = 1
    var agentId: String
    var signingSeed: Data
  }

  /// The identifier alone, so that no log contains the key.
  public var description: String { agentID }
  /// A mirror of the identifier alone.
  public var customMirror: Mirror { Mirror(self, children: ["agentID": agentID]) }

  /// Reads the identity from a file, or creates it and writes the file the first time.
  /// - Parameters:
  ///   - path: The file, in an existing folder.
  ///   - hostName: The text with which a new identifier begins.
  ///   - chosen: An identifier that replaces the stored one this time.
  /// - Throws: ``AgentError`` with code `.storage`; `.damagedFile` when the file is corrupt, which then stays as it is,
  ///   because a new identity would be another machine; `.invalidArgument` for an invalid `chosen`.
  public static func load(path: String, hostName: String, chosen: String? = nil) throws(AgentError) -> MachineIdentity {
    if let chosen, !isValid(chosen) {
      throw AgentError(
        .invalidArgument, "the agent ID is “\(chosen)”; allowed: 1 to \(idLimit) letters, digits and . _ : -")
    }
    let file = WholeFile(path: path, limit: 4096)
    do {
      var identity: MachineIdentity
      if let data = try file.read() {
        identity = try decode(data, path)
      } else {
        identity = make(hostName: hostName)
        try file.write(try JSONEncoder().encode(Contents(agentId: identity.agentID, signingSeed: identity.signingSeed)))
      }
      if let chosen { identity.agentID = chosen }
      return identity
    } catch let error as FileError {
      throw AgentError(error)
    } catch let error as AgentError {
      throw error
    } catch {
      throw AgentError(.storage, error.safeText)
    }
  }

  private static func decode(_ data: Data, _ path: String) throws(AgentError) -> MachineIdentity {
    guard let contents = try? JSONDecoder().decode(Contents.self, from: data), contents.version == 1,
      contents.signingSeed.count == 32, isValid(contents.agentId)
    else {
      throw AgentError(
        .damagedFile, "\(path) does not contain an identity",
        hint: "remove the file to be a new machine to the coordinator")
    }
    return MachineIdentity(agentID: contents.agentId, signingSeed: contents.signingSeed)
  }

  /// Creates an identity whose identifier has at most 24 characters of the host name and six random hexadecimal digits.
  static func make(hostName: String) -> MachineIdentity {
    var generator = SystemRandomNumberGenerator()
    let words = hostName.lowercased().split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }
    let slug = words.joined(separator: "-").prefix(24).split(separator: "-").joined(separator: "-")
    return MachineIdentity(
      agentID: (slug.isEmpty ? "linux" : slug) + "-"
        + hex((0..<3).map { _ in .random(in: 0...255, using: &generator) }),
      signingSeed: Data((0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }))
  }

  /// Returns bytes as hexadecimal digits, two for each.
  static func hex(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  private static func isValid(_ agentID: String) -> Bool {
    (1...idLimit).contains(agentID.count) && agentID.unicodeScalars.allSatisfy(isPlain)
  }

  private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    scalar.isASCII
      && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || "._:-".unicodeScalars.contains(scalar))
  }
}
