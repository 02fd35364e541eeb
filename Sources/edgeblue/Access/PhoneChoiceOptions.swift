import ArgumentParser
import BlueZ
import EdgeCoder

/// The options that decide which phones a central sends prompts to.
struct PhoneChoiceOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      The phones that receive prompts: open (all in range), encrypted (paired ones), authenticated (ones paired by \
      passkey entry or numeric comparison over LE Secure Connections). Default: encrypted; on a virtual controller, which \
      no radio reaches, open.
      """, valueName: "mode"),
    transform: AccessOptions.mode)
  var access: AccessMode?

  @Option(
    parsing: .upToNextOption,
    help: ArgumentHelp("Addresses of paired phones; only these receive prompts.", valueName: "address"),
    transform: reading("a Bluetooth address") { BluetoothAddress($0) })
  var allow: [BluetoothAddress] = []

  @OptionGroup var bonds: BondOptions

  func validate() throws { try AccessOptions.check(access, allow) }

  /// Returns the access policy for an adapter.
  func policy(isVirtual: Bool) -> AccessPolicy { AccessOptions.policy(access, allow, isVirtual: isVirtual) }

  /// Returns a description of the policy, and of its origin if it is the default.
  func words(for policy: AccessPolicy, isVirtual: Bool) -> String {
    let which =
      switch policy.mode {
      case .open: "every phone in range may receive prompts"
      case .encrypted: "paired phones receive prompts"
      case .authenticated: "phones paired by passkey or comparison receive prompts"
      }
    let isDefault = access == nil && allow.isEmpty
    return AccessOptions.words(
      which, for: policy, isVirtual: isVirtual,
      remedy: isDefault ? "`edgeblue pair with ADDRESS` pairs with one" : nil)
  }
}
