import BlueZ
import JSONValues
import Timing

/// A pairing agent that asks the user at the terminal.
struct TerminalAgent: Sendable {
  let terminal: Terminal
  /// A Boolean value that indicates whether any device may pair without a question (Just Works). Connections are then
  /// encrypted, but not authenticated.
  let acceptsAll: Bool

  var agent: PairingAgent {
    guard !acceptsAll else {
      return PairingAgent(
        authorizePairing: { device in
          report(device, "paired without a question", "accepted")
          return true
        })
    }
    return PairingAgent(
      displayPasskey: { device, passkey in
        report(device, "needs this passkey: \(passkey)", "passkey", ["passkey": .string(passkey.description)])
        // The agent displays the passkey until the pairing ends.
        do { try await Task.sleep(for: .seconds(3600), clock: .steady) } catch {}
      },
      confirmPasskey: { device, passkey in
        isYes(
          await StandardInput.answer {
            report(device, "shows this number? \(passkey)  [y/N]", "compare", ["passkey": .string(passkey.description)])
          })
      },
      enterPasskey: { device in
        let answer = await StandardInput.answer { report(device, "shows a passkey of six digits. Enter it:", "enter") }
        guard let passkey = answer.flatMap(Passkey.init) else { throw NoPasskey() }
        return passkey
      },
      authorizePairing: { device in
        isYes(
          await StandardInput.answer {
            report(device, "requests pairing without a number to compare. Allow it?  [y/N]", "authorize")
          })
      })
  }

  private func report(_ device: Device, _ text: String, _ event: String, _ fields: [String: JSONValue] = [:]) {
    let name = device.description.printable
    terminal.happened(
      "\(name) \(text)", event,
      fields.merging(["device": .string(name), "address": .string(device.peer.description)]) { $1 })
  }

  private func isYes(_ answer: String?) -> Bool { ["y", "yes"].contains(answer?.lowercased()) }

  private struct NoPasskey: Error, CustomStringConvertible {
    let description = "no passkey of six digits was entered"
  }
}
