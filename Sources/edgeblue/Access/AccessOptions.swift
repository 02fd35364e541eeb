import ArgumentParser
import BlueZ
import EdgeCoder

/// The peers of a role, in the words of the options that decide which of them are admitted.
protocol AdmittedPeers {
  /// The help of `--access`, up to its default.
  static var access: String { get }
  /// The help of `--allow`.
  static var allow: String { get }
}

/// The options that decide which peers are admitted.
struct AccessOptions<Peers: AdmittedPeers>: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "\(Peers.access) Default: encrypted; on a virtual controller, which no radio reaches, open.", valueName: "mode"),
    completion: .words(AccessMode.self), transform: named)
  var access: AccessMode?
  @Option(
    parsing: .upToNextOption, help: ArgumentHelp(Peers.allow, valueName: "address"), completion: .devices,
    transform: reading("a Bluetooth address") { BluetoothAddress($0) })
  var allow: [BluetoothAddress] = []

  func validate() throws {
    if access == .open, !allow.isEmpty {
      throw ValidationError(
        "--allow requires --access encrypted or authenticated: without a bond, an address can be forged.")
    }
  }

  /// Returns the access policy for an adapter: open without options on a virtual controller only.
  func policy(isVirtual: Bool) -> AccessPolicy {
    let list = allow.isEmpty ? nil : Set(allow)
    switch access ?? (isVirtual && allow.isEmpty ? .open : .encrypted) {
    case .open: return .open
    case .encrypted: return .encrypted(allowed: list)
    case .authenticated: return .authenticated(allowed: list)
    }
  }
}

/// Peers whose access a command describes when it starts.
protocol DescribedPeers: AdmittedPeers {
  /// Returns the peers that a mode admits, and to what.
  static func sentence(_ mode: AccessMode) -> String
  /// The way to admit a peer in the default mode.
  static var remedy: String { get }
}

extension AccessOptions where Peers: DescribedPeers {
  /// Returns a description of the policy, and of its origin if it is the default.
  func words(for policy: AccessPolicy, isVirtual: Bool) -> String {
    let list = policy.allowed.map { ", if they are among the \($0.count) listed" } ?? ""
    let isDefault = access == nil && allow.isEmpty
    let origin = isVirtual ? " (default on a virtual controller)" : " (default; \(Peers.remedy))"
    return "access \(policy.mode.rawValue): \(Peers.sentence(policy.mode))\(list)\(isDefault ? origin : "")"
  }
}

/// The centrals that a phone admits.
enum Centrals: DescribedPeers {
  static let access = """
    The centrals that may send prompts: open (all in range), encrypted (bonded ones), authenticated (ones bonded by \
    passkey entry or numeric comparison over LE Secure Connections).
    """
  static let allow = "Addresses of bonded centrals; only these are admitted."
  static let remedy = "`edgeblue pair` lets a central pair"

  static func sentence(_ mode: AccessMode) -> String {
    switch mode {
    case .open: "all centrals in range may send prompts"
    case .encrypted: "bonded centrals may send prompts"
    case .authenticated: "centrals bonded by passkey or comparison may send prompts"
    }
  }
}

/// The phones that a central sends prompts to.
enum Phones: DescribedPeers {
  static let access = """
    The phones that receive prompts: open (all in range), encrypted (paired ones), authenticated (ones paired by \
    passkey entry or numeric comparison over LE Secure Connections).
    """
  static let allow = "Addresses of paired phones; only these receive prompts."
  static let remedy = "`edgeblue pair with ADDRESS` pairs with one"

  static func sentence(_ mode: AccessMode) -> String {
    switch mode {
    case .open: "every phone in range may receive prompts"
    case .encrypted: "paired phones receive prompts"
    case .authenticated: "phones paired by passkey or comparison receive prompts"
    }
  }
}

/// The peers of a relay, at both of its ends.
enum RelayPeers: AdmittedPeers {
  static let access = """
    The peers of a relay: open (all in range), encrypted (bonded ones), authenticated (ones bonded by passkey entry \
    or numeric comparison).
    """
  static let allow = "Addresses of bonded peers; only these are admitted."
}
