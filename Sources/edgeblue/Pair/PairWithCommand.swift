import ArgumentParser
import BlueZ

/// `edgeblue pair with`
struct PairWithCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "with", abstract: "Pair with a phone whose pairing window is open, and send prompts to it from now on."
  )

  @Argument(
    help: "The device's address, as `edgeblue scan` lists it.",
    completion: .devices, transform: reading("a Bluetooth address") { BluetoothAddress($0) })
  var address: BluetoothAddress
  @Flag(
    help: "Accept without a question or a number to compare: encrypted, but not protected against a man in the middle.")
  var yes = false
  @Option(help: ArgumentHelp("The timeout for finding the device, 1 to 3600 s.", valueName: "seconds")) var wait = 30
  @OptionGroup var adapter: AdapterOptions
  @OptionGroup var bonds: BondOptions
  @OptionGroup var common: CommonOptions

  func validate() throws {
    try checkRange(of: "--wait", wait, 1...3600, unit: "s")
  }

  func run() async throws {
    try await common.run { terminal in
      let radio = try await Radio.open(adapter, terminal)
      let agent = TerminalAgent(terminal: terminal, acceptsAll: yes)
      try await untilInterrupted {
        if radio.adapter.device(address) == nil { terminal.whisper("scanning for \(address) …") }
        let device = try await radio.adapter.find(address, timeout: .seconds(wait))
        let name = device.description.printable
        let store = try bonds.store()
        guard !device.isBonded else {
          try store.add(.init(adapter: radio.adapter.address, peer: device.address ?? address, role: .phone))
          terminal.happened(
            "already paired with \(name); it is used as a phone now", "paired",
            ["address": .string(address.description)])
          return
        }
        let registration = try await radio.session.register(agent.agent)
        do {
          try await device.pair()
        } catch {
          try await registration.unregister()
          throw error
        }
        try await registration.unregister()
        guard device.isBonded else {
          throw Failure(
            "\(device.description) has paired for this connection only, and keeps no keys",
            hint: "open its pairing window, for example with `edgeblue pair`", status: .tryAgain)
        }
        // The identity address, where a private one was resolved.
        try store.add(.init(adapter: radio.adapter.address, peer: device.address ?? address, role: .phone))
        terminal.happened(
          "paired with \(name)", "paired", ["device": .string(name), "address": .string(address.description)])
        BondKey.warn(of: device.address ?? address, at: radio.adapter.address, terminal)
      }
    }
  }
}
