import BlueZ
import Timing

/// Asks the person at the terminal about pairing.
struct TerminalAgent: Sendable {
  let terminal: Terminal
  /// Whether everybody may pair without a question. Then there is nothing to show or compare (Just Works), and the
  /// links are encrypted but not authenticated.
  let asksNobody: Bool

  var agent: PairingAgent {
    guard !asksNobody else {
      return PairingAgent(
        authorizePairing: { device in
          tell(device, "pairs without a question", "accepted")
          return true
        })
    }
    return PairingAgent(
      displayPasskey: { device, passkey in
        tell(device, "is to be given this passkey: \(passkey)", "passkey", ["passkey": .string(passkey.description)])
        // The passkey is shown until the pairing is over.
        do { try await Task.sleep(for: .seconds(3600), clock: .steady) } catch {}
      },
      confirmPasskey: { device, passkey in
        isYes(
          await StandardInput.answer {
            tell(device, "shows this number? \(passkey)  [y/N]", "compare", ["passkey": .string(passkey.description)])
          })
      },
      enterPasskey: { device in
        let answer = await StandardInput.answer { tell(device, "shows a passkey of six digits. Which?", "enter") }
        guard let passkey = answer.flatMap(Passkey.init) else { throw NoPasskey() }
        return passkey
      },
      authorizePairing: { device in
        isYes(
          await StandardInput.answer {
            tell(device, "wants to pair, and can neither show nor compare a number. May it?  [y/N]", "authorize")
          })
      })
  }

  private func tell(_ device: Device, _ text: String, _ event: String, _ fields: [String: JSON] = [:]) {
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
