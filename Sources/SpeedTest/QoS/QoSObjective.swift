package import JSONValues

/// A quality-of-service test as a control server requests it.
///
/// All parameters are strings, also the numbers; times are nanoseconds.
package struct QoSObjective: Sendable, Hashable {
  /// The kind of the test.
  package let kind: QoSKind
  /// The number of the objective at the control server.
  package let id: Int
  /// The number of the group: groups run one after the other, the lowest first.
  package let group: Int
  private let parameters: LenientJSON

  /// The default timeout of a test.
  static let defaultTimeout = Duration.seconds(5)
  /// The allowed timeouts; a longer one is shortened.
  static let timeouts = Duration.milliseconds(100)...Duration.seconds(60)

  /// Creates an objective from its parameters; `nil` without the number that its result needs.
  package init?(_ kind: QoSKind, _ parameters: JSONValue) {
    let parameters = LenientJSON(parameters)
    guard let id = parameters["qos_test_uid"].integer, id >= 0 else { return nil }
    self.kind = kind
    self.id = id
    self.parameters = parameters
    group = parameters["concurrency_group"].integer ?? 0
  }

  /// The text of a parameter.
  package subscript(_ name: String) -> String? { parameters[name].text }

  /// The number of a parameter.
  package func number(_ name: String) -> Int? { parameters[name].integer }

  /// The port in a parameter; `nil` without one.
  /// - Throws: ``SpeedTestError`` with code `.invalidReply` for a number that is no port.
  package func port(_ name: String) throws(SpeedTestError) -> Int? {
    guard let number = number(name), number != 0 else { return nil }
    guard (1...65_535).contains(number) else {
      throw SpeedTestError(.invalidReply, "the parameter \(name) is \(number), which is no port")
    }
    return number
  }

  /// The duration in a parameter of nanoseconds, moved into the allowed range.
  package func duration(_ name: String, default standard: Duration) -> Duration {
    guard let number = number(name), number > 0 else { return standard }
    return min(max(.nanoseconds(number), Self.timeouts.lowerBound), Self.timeouts.upperBound)
  }

  /// The timeout of the test.
  package var timeout: Duration { duration("timeout", default: Self.defaultTimeout) }

  /// The parameters that a result repeats, with the prefix of its kind.
  package func repeated(_ names: String...) -> [String: JSONValue] {
    var members: [String: JSONValue] = [:]
    for name in names {
      let key = "\(kind.prefix)_objective_\(name)"
      members[key] = number(name).map { .number($0) } ?? self[name].map { .string($0) }
    }
    return members
  }
}

/// The quality-of-service tests that a control server requests.
public struct QoSPlan: Sendable, Hashable {
  /// The objectives by their groups, in the order in which the groups run.
  package let groups: [[QoSObjective]]
  /// The kinds that this client does not know, for display.
  public let unknownKinds: [String]
  /// The number of tests in all groups.
  public var count: Int { groups.reduce(0) { $0 + $1.count } }

  /// The largest number of objectives; what follows is left out.
  static let limit = 500

  /// Reads the member `objectives` of a reply.
  package init(_ objectives: JSONValue) {
    var all: [QoSObjective] = []
    var unknown: [String] = []
    for list in LenientJSON(objectives).members.sorted(by: { $0.name < $1.name }) {
      guard let kind = QoSKind(rawValue: list.name.lowercased()) else {
        if unknown.count < 10 { unknown.append(String(list.name.prefix(40))) }
        continue
      }
      all += LenientJSON(list.value).elements.compactMap { QoSObjective(kind, $0.value) }
    }
    let groups = Dictionary(grouping: all.prefix(Self.limit)) { $0.group }
    self.groups = groups.sorted { $0.key < $1.key }.map(\.value)
    unknownKinds = unknown
  }
}
