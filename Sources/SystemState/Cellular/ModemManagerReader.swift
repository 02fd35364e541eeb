internal import DBus
internal import Logging
internal import Streams
internal import Timing

/// Reads ModemManager, and again when it has gone and come back.
struct ModemManagerReader: Sendable {
  static let name = "org.freedesktop.ModemManager1"
  static let path: ObjectPath = "/org/freedesktop/ModemManager1"
  /// The number of modems that are read; a host with more is none.
  private static let modemLimit = 32

  let options: CellularMonitor.Options
  let feed: UpdateFeed<CellularUpdate>

  /// Reads until the task is cancelled.
  func run() async {
    var failures = 0
    while !Task.isCancelled {
      var words = "the connection to the bus was lost"
      do {
        try await follow { failures = 0 }
      } catch {
        words = (error as? DBusError)?.message ?? "\(error)"
      }
      // A closed monitor publishes nothing.
      guard !Task.isCancelled else { return }
      publish(.unavailable("ModemManager: \(words)"))
      failures += 1
      let delay = options.backoff.delay(afterFailures: failures, random: .random(in: 0...1))
      guard (try? await options.time.sleep(for: delay)) != nil else { return }
    }
  }

  private func publish(_ update: CellularUpdate) { if feed.newest != update { feed.publish(update) } }

  /// Reads until the bus has gone.
  private func follow(onBus: () -> Void) async throws {
    let connection = try await Connection.open(options.bus, logger: options.logger)
    defer { connection.close() }
    let wake = WakeSignal()
    // A modem that comes, goes or changes. What is signalled during a reading leads to one more.
    let subscriptions = [
      try await connection.observe(
        MatchRule(sender: Self.name, pathNamespace: Self.path, interface: "org.freedesktop.DBus.ObjectManager"),
        onEnd: { wake.finish() }
      ) { _ in wake.signal() },
      try await connection.observe(
        MatchRule(
          sender: Self.name, pathNamespace: Self.path, interface: "org.freedesktop.DBus.Properties",
          member: "PropertiesChanged")
      ) { _ in wake.signal() },
      try await connection.observeOwner(of: Self.name) { _ in wake.signal() },
    ]
    defer { withExtendedLifetime(subscriptions) {} }
    onBus()
    wake.signal()
    var asked: Set<ObjectPath> = []
    for await _ in wake.signals {
      // Called only when it runs: a call would start it.
      guard try await connection.owner(of: Self.name) != nil else {
        asked = []
        publish(.unavailable("ModemManager: it does not run"))
        continue
      }
      try await read(connection, &asked)
    }
  }

  private func read(_ connection: Connection, _ asked: inout Set<ObjectPath>) async throws {
    let objects: [ObjectPath: [String: [String: Value]]]
    do {
      objects = try await RemoteObject(connection, Self.name, Self.path).managedObjects()
    } catch let error as DBusError where error.code != .disconnected {
      // It has ended meanwhile, which another signal tells, or access was denied.
      return publish(.unavailable("ModemManager: \(error.message)"))
    }
    let modems = objects.compactMap { path, interfaces in CellularModem(interfaces).map { (path, $0) } }
      .sorted { Self.number(of: $0.0) < Self.number(of: $1.0) }.prefix(Self.modemLimit)
    publish(.modems(modems.map(\.1)))
    asked.formIntersection(modems.map(\.0))
    for (path, modem) in modems where modem.service.isRegistered && !asked.contains(path) {
      asked.insert(path)
      await askForSignal(path, connection)
    }
  }

  /// The number at the end of the path of a modem.
  private static func number(of path: ObjectPath) -> Int {
    "\(path)".split(separator: "/").last.flatMap { Int($0) } ?? .max
  }

  /// Asks a modem to measure its signal, which not every modem can and not every user may.
  private func askForSignal(_ path: ObjectPath, _ connection: Connection) async {
    guard let seconds = options.signalSeconds else { return }
    do {
      _ = try await RemoteObject(connection, Self.name, path).call(
        CellularModem.signalInterface, "Setup", .uint32(UInt32(min(max(seconds, 1), 3600))), returning: "")
    } catch {
      options.logger.info("a modem does not measure its signal", metadata: ["reason": "\(error)"])
    }
  }
}
