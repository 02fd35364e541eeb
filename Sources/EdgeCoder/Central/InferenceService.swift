/// What the Mac role offers to whoever has a prompt: the HTTP API, `edgeblue ask`, a program of your own.
public protocol InferenceService: Sendable {
  /// Sends one prompt to the best phone that is ready and returns its reply.
  ///
  /// Cancelling the calling task gives the request up: its reply, if it still comes, is dropped.
  /// - Parameters:
  ///   - prompt: the prompt; its request must fit the wire limit (256 KiB encoded unless configured otherwise).
  ///   - maxTokens: the most tokens the phone may produce; `nil` leaves the phone's default (512).
  ///   - onText: gets the output as it comes from a phone with a v2 link, which is held up while it waits; its pieces
  ///     are the beginning of the reply's output. Another phone's output comes only with the reply.
  /// - Throws: ``InferenceError``, or `CancellationError`.
  func generate(
    prompt: String, maxTokens: Int?, onText: @Sendable @escaping (String) async -> Void
  ) async throws -> InferenceReply

  /// A snapshot of the central: whether a phone is there, and which.
  func status() async -> CentralStatus
}

extension InferenceService {
  /// Sends one prompt to the best phone that is ready and returns its reply, as
  /// ``generate(prompt:maxTokens:onText:)``.
  public func generate(prompt: String, maxTokens: Int?) async throws -> InferenceReply {
    try await generate(prompt: prompt, maxTokens: maxTokens, onText: { _ in })
  }
}

/// A phone's answer to one prompt.
public struct InferenceReply: Sendable, Hashable {
  /// The request's id.
  public var id: String
  /// The text, or the reason when `ok` is false.
  public var output: String
  /// What the phone says of its own answer.
  public var ok: Bool
  /// Milliseconds from the request to the complete reply, measured at the central.
  public var durationMs: Int
  /// The name of the phone that answered; over the network that of the engine.
  public var phone: String

  /// Makes a reply.
  public init(id: String, output: String, ok: Bool, durationMs: Int, phone: String) {
    self.id = id
    self.output = output
    self.ok = ok
    self.durationMs = durationMs
    self.phone = phone
  }
}

/// What `GET /status` reports; the first eight fields are those of the EdgeCoder proxy.
public struct CentralStatus: Sendable, Hashable, Codable {
  /// Whether at least one phone is ready for a prompt.
  public var connected: Bool
  /// Whether the central is looking for phones.
  public var scanning: Bool
  /// The best phone's model state as it sent it; `unknown` until a phone has said.
  public var modelState: String
  /// When a phone was last heard, in Unix milliseconds; absent when none ever was.
  public var lastSeenMs: Int?
  /// The best phone's name.
  public var deviceName: String?
  /// The best phone's stable identifier.
  public var deviceId: String?
  /// The best phone's battery, 0–100; absent when it does not know.
  public var batteryPct: Int?
  /// The best phone's signal, dBm.
  public var rssi: Int?
  /// Every phone the central knows of, best first.
  public var phones: [PhoneStatus]
  /// Where the next prompt goes; absent in a status of an older central.
  public var route: InferenceRoute?
  /// Why it goes there, for a person; absent where there is no choice.
  public var routeReason: String?

  /// Makes a status.
  public init(
    connected: Bool, scanning: Bool, modelState: String = "unknown", lastSeenMs: Int? = nil, deviceName: String? = nil,
    deviceId: String? = nil, batteryPct: Int? = nil, rssi: Int? = nil, phones: [PhoneStatus] = [],
    route: InferenceRoute? = nil, routeReason: String? = nil
  ) {
    self.connected = connected
    self.scanning = scanning
    self.modelState = modelState
    self.lastSeenMs = lastSeenMs
    self.deviceName = deviceName
    self.deviceId = deviceId
    self.batteryPct = batteryPct
    self.rssi = rssi
    self.phones = phones
    self.route = route
    self.routeReason = routeReason
  }
}

/// One phone as the central sees it.
public struct PhoneStatus: Sendable, Hashable, Codable {
  /// The phone's stable identifier.
  public var id: String
  /// The phone's advertised name, or its address.
  public var name: String
  /// `connecting`, `ready`, `waiting` (to reconnect) …
  public var state: String
  /// The phone's model state as it sent it; `unknown` until then.
  public var modelState: String
  /// Battery, 0–100; absent when unknown.
  public var batteryPct: Int?
  /// Signal, dBm; absent when unknown.
  public var rssi: Int?
  /// Requests sent to it and not yet answered.
  public var pending: Int
  /// When it was last heard, Unix milliseconds.
  public var lastSeenMs: Int?
  /// 2 when requests go over a v2 link, 1 when they go over the characteristics.
  public var linkVersion: Int
  /// What carries the v2 link; absent without one.
  public var linkBearer: LinkBearer?

  /// Makes a phone status.
  public init(
    id: String, name: String, state: String, modelState: String = "unknown", batteryPct: Int? = nil, rssi: Int? = nil,
    pending: Int = 0, lastSeenMs: Int? = nil, linkBearer: LinkBearer? = nil
  ) {
    self.id = id
    self.name = name
    self.state = state
    self.modelState = modelState
    self.batteryPct = batteryPct
    self.rssi = rssi
    self.pending = pending
    self.lastSeenMs = lastSeenMs
    self.linkBearer = linkBearer
    linkVersion = linkBearer == nil ? 1 : 2
  }
}
