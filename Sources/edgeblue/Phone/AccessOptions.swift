import ArgumentParser
import BlueZ
import EdgeCoder

/// The options that decide which centrals a phone admits.
struct AccessOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      The centrals that may send prompts: open (all in range), encrypted (bonded ones), authenticated (ones bonded by \
      passkey entry or numeric comparison). Default: encrypted; on a virtual controller, which no radio reaches, open.
      """, valueName: "mode"),
    transform: { text in
      guard let mode = AccessMode(rawValue: text) else {
        throw ValidationError("--access: allowed are open, encrypted and authenticated.")
      }
      return mode
    })
  var access: AccessMode?

  @Option(
    parsing: .upToNextOption,
    help: ArgumentHelp("Addresses of bonded centrals; only these are admitted.", valueName: "address"),
    transform: { text in
      guard let address = BluetoothAddress(text) else { throw ValidationError("'\(text)' is not a Bluetooth address.") }
      return address
    })
  var allow: [BluetoothAddress] = []

  func validate() throws {
    if access == .open, !allow.isEmpty {
      throw ValidationError(
        "--allow requires --access encrypted or authenticated: without a bond, an address can be forged.")
    }
  }

  /// Returns the access policy for an adapter.
  func policy(isVirtual: Bool) -> AccessPolicy {
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
    let list = policy.allowed.map { ", if they are among the \($0.count) listed" } ?? ""
    let reason =
      access != nil || !allow.isEmpty
      ? "" : isVirtual ? " (default on a virtual controller)" : " (default; `edgeblue pair` lets a central pair)"
    return "access \(policy.mode.rawValue): \(who)\(list)\(reason)"
  }
}
