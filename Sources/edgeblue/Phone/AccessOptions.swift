import ArgumentParser
import BlueZ
import EdgeCoder

/// Who may ask a phone.
struct AccessOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      Who may ask: open (everybody in range), encrypted (who has paired), authenticated (who has paired by a passkey or \
      a comparison). Without it encrypted; on a virtual controller, which no radio reaches, open.
      """, valueName: "mode"),
    transform: { text in
      guard let mode = AccessPolicy.Mode(rawValue: text) else {
        throw ValidationError("--access is open, encrypted or authenticated.")
      }
      return mode
    })
  var access: AccessPolicy.Mode?

  @Option(
    parsing: .upToNextOption,
    help: ArgumentHelp("Of those who have paired, only these.", valueName: "address"),
    transform: { text in
      guard let address = BluetoothAddress(text) else { throw ValidationError("'\(text)' is no Bluetooth address.") }
      return address
    })
  var allow: [BluetoothAddress] = []

  func validate() throws {
    if access == .open, !allow.isEmpty {
      throw ValidationError("--allow wants --access encrypted or authenticated: anybody can use another's address.")
    }
  }

  /// The policy, for an adapter where none was asked for.
  func policy(isVirtual: Bool) -> AccessPolicy {
    let list = allow.isEmpty ? nil : Set(allow)
    switch access ?? (isVirtual && allow.isEmpty ? .open : .encrypted) {
    case .open: return .open
    case .encrypted: return .encrypted(allowed: list)
    case .authenticated: return .authenticated(allowed: list)
    }
  }

  /// The policy in words, and how it came about.
  func words(for policy: AccessPolicy, isVirtual: Bool) -> String {
    let who =
      switch policy.mode {
      case .open: "everybody in range may ask"
      case .encrypted: "who has paired may ask"
      case .authenticated: "who has paired by a passkey or a comparison may ask"
      }
    let list = policy.allowed.map { ", if on the list of \($0.count)" } ?? ""
    let reason =
      access != nil || !allow.isEmpty
      ? "" : isVirtual ? " (default on a virtual controller)" : " (default; edgeblue pair lets others pair)"
    return "access \(policy.mode.rawValue): \(who)\(list)\(reason)"
  }
}
