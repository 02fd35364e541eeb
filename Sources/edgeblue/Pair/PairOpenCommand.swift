import ArgumentParser
import BlueZ
import Streams
import Timing

/// `edgeblue pair open`, the default of `edgeblue pair`
struct PairOpenCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "open", abstract: "Open the pairing window until one device has paired (the default).")

  @Option(
    name: .customLong("for"),
    help: ArgumentHelp(
      "The duration of the pairing window, 1s to 60m: 120s (the default), 2m or a number of seconds.", valueName: "time"
    ),
    transform: { text in
      guard let seconds = Self.seconds(text) else { throw ValidationError("--for is '\(text)'; allowed: 1s to 60m.") }
      return seconds
    })
  var seconds = 120

  @Flag(
    help: """
      Accept the first device without a question or a number to compare. For machines without a keyboard; sufficient \
      for --access encrypted only.
      """)
  var yes = false
  @OptionGroup var adapter: AdapterOptions
  @OptionGroup var bonds: BondOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { terminal in
      let radio = try await Radio.open(try await chosen(terminal), terminal)
      let paired = try await untilInterrupted { try await letPair(radio, terminal) }
      guard let paired else {
        throw Failure(
          "no device paired within \(seconds) s",
          hint: "the other device has to start, for example with `edgeblue pair with ADDRESS`",
          status: .tryAgain)
      }
      let name = paired.description.printable
      terminal.happened(
        "paired with \(name)", "paired", ["device": .string(name), "address": .string(paired.address.description)])
      BondKey.warn(of: paired.address, at: radio.adapter.address, terminal)
    }
  }

  private struct Paired: Sendable {
    let address: BluetoothAddress
    let description: String
  }

  /// Returns the adapter that the user names, or the one that advertises, because a phone runs there.
  private func chosen(_ terminal: Terminal) async throws -> AdapterOptions {
    guard adapter.adapter == nil else { return adapter }
    let session = try await Session.open()
    defer { session.close() }
    _ = try await session.adapter(nil)
    let advertising = session.adapters.filter { ($0.advertisingCapabilities?.activeInstances ?? 0) > 0 }
    guard advertising.count == 1, let only = advertising.first else { return adapter }
    var options = adapter
    options.adapter = only.address.description
    return options
  }

  /// - Returns: The device that has paired; `nil` if none has in time.
  private func letPair(_ radio: Radio, _ terminal: Terminal) async throws -> Paired? {
    let made = radio.adapter.newBonds()
    let former = Set(radio.adapter.bondedDevices.compactMap(\.address))
    let agent = TerminalAgent(terminal: terminal, acceptsAll: yes)
    let registration = try await radio.session.register(agent.agent)
    do {
      let window = try await radio.adapter.openPairingWindow(for: .seconds(seconds))
      terminal.happened(
        "\(radio.name) lets one device pair for \(seconds) s; Ctrl-C stops that", "open",
        ["adapter": .string(radio.name), "seconds": .number(seconds)])
      let device = await first(of: made)
      // The agent first: for the agent before it, bluetoothd makes its adapters pairable again.
      try await registration.unregister()
      try await window.close()
      try Task.checkCancellation()
      guard let device else { return nil }
      return try await admit(device, radio, former: former)
    } catch {
      try await registration.unregister()
      throw error
    }
  }

  private func first(of bonds: BoundedStream<Device>) async -> Device? {
    await withTaskGroup(of: Device?.self) { group in
      group.addTask {
        for await device in bonds where device.address != nil { return device }
        return nil
      }
      group.addTask {
        do { try await Task.sleep(for: .seconds(seconds), clock: .steady) } catch {}
        return nil
      }
      defer { group.cancelAll() }
      return await group.next() ?? nil
    }
  }

  /// Adds a new bond to the list of those that open the phone.
  /// - Throws: ``Failure`` when the device states the identity of one that is bonded or admitted already: bluetoothd has
  ///   replaced the keys of that one, and the two cannot be told apart. The new bond is removed.
  private func admit(_ device: Device, _ radio: Radio, former: Set<BluetoothAddress>) async throws -> Paired? {
    guard let address = device.address else { return nil }
    let store = try bonds.store()
    let admitted = try store.bonds().filter { $0.adapter == radio.adapter.address }.map(\.peer)
    guard !former.contains(address), !admitted.contains(address) else {
      try store.remove(address, at: radio.adapter.address)
      try await device.remove()
      throw Failure(
        "\(device.description) claims the identity of a device that is bonded already; both bonds were removed",
        hint: "if it is the same device, and has forgotten its old bond, pair again", status: .notPermitted)
    }
    try store.add(.init(adapter: radio.adapter.address, peer: address, role: .central))
    return Paired(address: address, description: device.description)
  }

  /// Returns the seconds of `120`, `120s` or `2m`; `nil` outside 1 s to 1 h.
  static func seconds(_ text: String) -> Int? {
    let digits = text.prefix { $0.isNumber }
    let unit = text.drop { $0.isNumber }
    let factor = ["": 1, "s": 1, "m": 60][unit]
    guard let number = Int(digits), (1...3600).contains(number), let factor, (1...3600).contains(number * factor) else {
      return nil
    }
    return number * factor
  }
}
