internal import FoundationEssentials
internal import JSONValues
internal import Timing

/// A client of a control server, which grants tests and takes their results.
///
/// The client's identifier at each server is kept in a folder. Results are submitted through a ``SubmissionOutbox``.
public struct ControlClient: Sendable {
  /// The address of the server with the path that precedes those of its routes.
  public let address: String
  let transport: any ControlTransport
  let device: ControlDevice
  let store: ControlStore

  /// The path of the routes of a control server whose address has none.
  public static let defaultPath = "/RMBTControlServer"
  /// The longest time in which an address is checked.
  private static let addressLimit = Duration.seconds(5)

  /// Creates a client, without connecting.
  /// - Parameters:
  ///   - address: The address of the server, `http` or `https`; ``defaultPath`` is added to one without a path.
  ///   - transport: The transport to the server.
  ///   - device: The description of this machine.
  ///   - folder: A folder that exists, for what the server assigns.
  /// - Throws: ``SpeedTestError`` with code `.invalidArgument` for another address.
  public init(
    address: String, transport: any ControlTransport, device: ControlDevice, folder: String
  ) throws(SpeedTestError) {
    guard let url = ControlURL(address), !address.contains("?") else {
      throw SpeedTestError(
        .invalidArgument, "the address of the control server is not an http or https URL without a user name")
    }
    let bare = url.text.hasSuffix("/") ? String(url.text.dropLast()) : url.text
    // The scheme and the host are two parts.
    self.address = bare.split(separator: "/").count > 2 ? bare : bare + Self.defaultPath
    self.transport = transport
    self.device = device
    store = ControlStore(folder: folder)
  }

  // MARK: Settings

  /// Requests the settings, and stores the identifier that the server assigns.
  /// - Parameter acceptsTerms: Whether the user accepts the server's terms and conditions, whatever their version.
  /// - Returns: The settings; their identifier is the stored one if the server sends none.
  /// - Throws: ``SpeedTestError``: as the transport, `.declined`, `.storage`; and `.termsNotAccepted` if the server assigns
  ///   no identifier before the user has accepted its terms. `CancellationError`.
  public func settings(acceptsTerms: Bool = false) async throws -> ControlSettings {
    var identity = try store.identity(at: address)
    var settings = try await fetchSettings(identity)
    if acceptsTerms, let terms = settings.terms, identity.terms != terms.version {
      identity.terms = terms.version
      try store.update(address) { $0.terms = terms.version }
      // A server may assign the identifier with the acceptance alone.
      settings = try await fetchSettings(identity)
    }
    settings.client = settings.client ?? identity.client
    guard let client = settings.client else {
      guard let terms = settings.terms else {
        throw SpeedTestError(.invalidReply, "request the settings: the control server assigned no identifier")
      }
      let place = terms.url.map { " at \($0)" } ?? ""
      throw SpeedTestError(
        .termsNotAccepted, "the control server requires that its terms\(place) are accepted, version \(terms.version)")
    }
    try store.update(address) { $0.client = client }
    return settings
  }

  private func fetchSettings(_ identity: ControlStore.Identity) async throws -> ControlSettings {
    var members = device.members(client: identity.client)
    members["terms_and_conditions_accepted"] = .bool(identity.terms != nil)
    members["terms_and_conditions_accepted_version"] = .number(identity.terms ?? 0)
    return ControlSettings(try await post("/settings", members, "request the settings"))
  }

  // MARK: Tests

  /// Requests a test of the line from the server.
  /// - Parameters:
  ///   - threads: The number of connections that the user wants, if any; a server grants 1 to 9.
  ///   - loop: The loop that the test belongs to; `nil` for a test of its own.
  /// - Throws: ``SpeedTestError``: as the transport, `.declined`, `.invalidReply`, `.storage`; `CancellationError`.
  public func requestTest(threads: Int? = nil, loop: ControlLoop? = nil) async throws -> ControlTest {
    let identity = try store.identity(at: address)
    var members = device.members(client: identity.client)
    members.merge([
      "ndt": false, "anonymous": false, "testCounter": .number(identity.tests),
      "previousTestStatus": .string(identity.status.rawValue), "time": .number(WallClock.unixMilliseconds()),
      "measurement_type_flag": loop == nil ? "regular" : "loop_active", "user_loop_mode": .bool(loop != nil),
    ]) { $1 }
    members["loopmode_info"] = loop.map { .object($0.members) }
    members["num_threads"] = threads.map { .number(min(max($0, 1), 9)) }
    // What a crash leaves behind is an aborted test.
    try store.update(address) {
      $0.tests += 1
      $0.status = .aborted
    }
    do {
      return try ControlTest(try await post("/testRequest", members, "request a test"))
    } catch let error as SpeedTestError {
      try store.update(address) { $0.status = .notGranted }
      throw error
    }
  }

  /// Stores the status of the test that was requested last, for the next request.
  /// - Throws: ``SpeedTestError`` with code `.storage`.
  public func finished(_ status: ControlTestStatus) throws(SpeedTestError) {
    try store.update(address) { $0.status = status }
  }

  // MARK: Results

  /// Stores the result of a test in an outbox, from which it is submitted.
  /// - Parameters:
  ///   - record: The complete result.
  ///   - test: The test as the server has granted it.
  ///   - networkType: The kind of the network by the numbers of control servers: 98 for a cable, 99 for wireless LAN.
  ///   - outbox: The outbox.
  /// - Throws: ``SpeedTestError`` with code `.invalidArgument` for a result that no control server takes, and `.storage`.
  public func enqueue(
    _ record: SpeedTestRecord, of test: ControlTest, networkType: Int, in outbox: SubmissionOutbox
  ) throws(SpeedTestError) {
    let body = ControlResultBody(
      record: record, test: test, client: try client(), device: device, networkType: networkType)
    try outbox.add(submission(.result, test, url(test.resultURL, "/result"), try body.value()))
  }

  func submission(_ kind: Submission.Kind, _ test: ControlTest, _ url: String, _ document: JSONValue) -> Submission {
    Submission(
      kind: kind, test: test.id, server: address, url: url, createdMs: WallClock.unixMilliseconds(),
      document: String(decoding: document.encoded, as: UTF8.self))
  }

  /// Returns the address that a server has named, unless a token would leave the encryption for it.
  func url(_ named: ControlURL?, _ path: String) -> String {
    guard let named, named.isEncrypted || !address.lowercased().hasPrefix("https:") else { return address + path }
    return named.text
  }

  /// The identifier that the server has assigned.
  func client() throws(SpeedTestError) -> String {
    guard let client = try store.identity(at: address).client else {
      throw SpeedTestError(.invalidArgument, "the control server has assigned no identifier yet")
    }
    return client
  }

  // MARK: Addresses

  /// Returns the addresses of this client that the server sees: none to two, IPv4 first.
  /// - Parameters:
  ///   - settings: The settings, which name the checks.
  ///   - local: A function that returns the address of this machine on the way to another address.
  /// - Throws: `CancellationError`; a check that fails within 5 s finds no address.
  public func addresses(
    _ settings: ControlSettings, local: @escaping @Sendable (String) -> String?
  ) async throws -> [ControlAddress] {
    let checks = [(4, settings.ipv4Check), (6, settings.ipv6Check)]
    return try await withThrowingTaskGroup(of: ControlAddress?.self) { group in
      for (version, url) in checks {
        guard let url else { continue }
        group.addTask { try await checkedAddress(version, url, local) }
      }
      var found: [ControlAddress] = []
      for try await address in group { if let address { found.append(address) } }
      return found.sorted { $0.version < $1.version }
    }
  }

  private func checkedAddress(
    _ version: Int, _ url: String, _ local: @Sendable (String) -> String?
  ) async throws -> ControlAddress? {
    let body = JSONValue.object(device.members(client: try store.identity(at: address).client)).encoded
    do {
      let reply = try await TimeSource.continuous.withLimit(
        Self.addressLimit, orThrow: SpeedTestError(.timedOut, "check the address: no answer in time")
      ) { [transport] in try await transport.post(url, body: Data(body)) }
      let answer = try ControlAnswer(reply).success("check the address")
      guard var address = ControlAddress(answer, version: version) else { return nil }
      address.local = local(address.external)
      return address
    } catch is SpeedTestError {
      // A host without this version of IP does not reach the check.
      return nil
    }
  }

  func post(_ path: String, _ members: [String: JSONValue], _ operation: String) async throws -> JSONValue {
    let reply = try await transport.post(address + path, body: Data(JSONValue.object(members).encoded))
    return try ControlAnswer(reply).success(operation)
  }
}
