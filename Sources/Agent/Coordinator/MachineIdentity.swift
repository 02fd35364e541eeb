import DurableFiles
public import FoundationEssentials

/// Who this machine is to a coordinator: a name and a key, made once and kept for its user's eyes only.
public struct MachineIdentity: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
  /// The name, 1 to ``idLimit`` characters.
  public var agentID: String
  /// The seed of its Ed25519 key: 32 bytes nobody else may know.
  public var signingSeed: Data

  /// The longest name, in characters.
  public static let idLimit = 128

  private struct Contents: Codable {
    var version = 1
    var agentId: String
    var signingSeed: Data
  }

  /// The name only; no log is to have the key.
  public var description: String { agentID }
  /// The name only.
  public var customMirror: Mirror { Mirror(self, children: ["agentID": agentID]) }

  /// Reads who this machine is from a file; makes it up, and writes it, the first time.
  /// - Parameters:
  ///   - path: the file, in a folder that is there.
  ///   - hostName: what a made-up name begins with.
  ///   - chosen: a name a person has chosen, which counts this time.
  /// - Throws: ``AgentError``: `.storage`; `.damagedFile` when the file holds something else, and nothing is changed
  ///   then, for another name would be another machine; `.invalidArgument` for a chosen name that cannot be.
  public static func load(path: String, hostName: String, chosen: String? = nil) throws(AgentError) -> MachineIdentity {
    if let chosen, !(1...idLimit).contains(chosen.count) || !chosen.unicodeScalars.allSatisfy(isPlain) {
      throw AgentError(
        .invalidArgument, "an agent's id is 1 to \(idLimit) letters, digits and . _ : -, not “\(chosen)”")
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
      throw AgentError(.storage, "\(error)")
    }
  }

  private static func decode(_ data: Data, _ path: String) throws(AgentError) -> MachineIdentity {
    guard let contents = try? JSONDecoder().decode(Contents.self, from: data), contents.version == 1,
      contents.signingSeed.count == 32, !contents.agentId.isEmpty
    else {
      throw AgentError(
        .damagedFile, "\(path) does not hold who this machine is",
        hint: "remove the file to be a new machine to the coordinator")
    }
    return MachineIdentity(agentID: contents.agentId, signingSeed: contents.signingSeed)
  }

  /// A name as phones have it: at most 24 characters of the host's, and six random hex digits.
  static func make(hostName: String) -> MachineIdentity {
    var generator = SystemRandomNumberGenerator()
    let words = hostName.lowercased().split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }
    let slug = words.joined(separator: "-").prefix(24).split(separator: "-").joined(separator: "-")
    return MachineIdentity(
      agentID: (slug.isEmpty ? "linux" : slug) + "-"
        + hex((0..<3).map { _ in .random(in: 0...255, using: &generator) }),
      signingSeed: Data((0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }))
  }

  /// Bytes as hexadecimal digits, two for each.
  static func hex(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    scalar.isASCII
      && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || "._:-".unicodeScalars.contains(scalar))
  }
}
