import ArgumentParser
import BlueZ
import EdgeCoder

/// The options that decide which centrals a phone admits.
struct AccessOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      The centrals that may send prompts: open (all in range), encrypted (bonded ones), authenticated (ones bonded by \
      passkey entry or numeric comparison over LE Secure Connections). Default: encrypted; on a virtual controller, which \
      no radio reaches, open.
      """, valueName: "mode"),
    transform: Self.mode)
  var access: AccessMode?

  @Option(
    parsing: .upToNextOption,
    help: ArgumentHelp("Addresses of bonded centrals; only these are admitted.", valueName: "address"),
    transform: reading("a Bluetooth address") { BluetoothAddress($0) })
  var allow: [BluetoothAddress] = []

  func validate() throws { try Self.check(access, allow) }

  /// Returns the access policy for an adapter.
  func policy(isVirtual: Bool) -> AccessPolicy { Self.policy(access, allow, isVirtual: isVirtual) }

  // MARK: For both roles

  /// Returns the mode of a text.
  @Sendable static func mode(_ text: String) throws -> AccessMode {
    guard let mode = AccessMode(rawValue: text) else {
      throw ValidationError("--access: allowed are open, encrypted and authenticated.")
    }
    return mode
  }

  /// Checks that a list of addresses is used only where addresses are those of bonds.
  static func check(_ access: AccessMode?, _ allow: [BluetoothAddress]) throws {
    if access == .open, !allow.isEmpty {
      throw ValidationError(
        "--allow requires --access encrypted or authenticated: without a bond, an address can be forged.")
    }
  }

  /// Returns the access policy for an adapter: open without options on a virtual controller only.
  static func policy(_ access: AccessMode?, _ allow: [BluetoothAddress], isVirtual: Bool) -> AccessPolicy {
    let list = allow.isEmpty ? nil : Set(allow)
    switch access ?? (isVirtual && allow.isEmpty ? .open : .encrypted) {
    case .open: return .open
    case .encrypted: return .encrypted(allowed: list)
    case .authenticated: return .authenticated(allowed: list)
    }
  }

  /// Returns a description of the policy, and of its origin if it is the default.
  func words(for policy: AccessPolicy, isVirtual: Bool) -> String {
    let who =
      switch policy.mode {
      case .open: "all centrals in range may send prompts"
      case .encrypted: "bonded centrals may send prompts"
      case .authenticated: "centrals bonded by passkey or comparison may send prompts"
      }
    let isDefault = access == nil && allow.isEmpty
    return Self.words(
      who, for: policy, isVirtual: isVirtual, remedy: isDefault ? "`edgeblue pair` lets a central pair" : nil)
  }

  /// Returns a description of a policy.
  /// - Parameters:
  ///   - sentence: the peers that the mode admits, and to what.
  ///   - policy: the policy.
  ///   - isVirtual: `true` if the controller is virtual.
  ///   - remedy: the way to admit a peer, if the policy is the default; `nil` if the user chose it.
  static func words(_ sentence: String, for policy: AccessPolicy, isVirtual: Bool, remedy: String?) -> String {
    let list = policy.allowed.map { ", if they are among the \($0.count) listed" } ?? ""
    let origin = remedy.map { isVirtual ? " (default on a virtual controller)" : " (default; \($0))" } ?? ""
    return "access \(policy.mode.rawValue): \(sentence)\(list)\(origin)"
  }
}
