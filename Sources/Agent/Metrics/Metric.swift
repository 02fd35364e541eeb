/// A number that is followed over time, as Prometheus and what reads its text format know it.
public struct Metric: Sendable, Hashable {
  /// What becomes of the number.
  public enum Kind: String, Sendable, Hashable {
    /// It only grows, and begins at 0 when the program does. Its name ends in `_total`.
    case counter
    /// It goes up and down.
    case gauge
  }

  /// One value.
  public struct Sample: Sendable, Hashable {
    /// What tells it from the others of the same name.
    public var labels: [String: String]
    /// The value.
    public var value: Double

    /// Makes a value.
    public init(_ value: Double, _ labels: [String: String] = [:]) {
      self.value = value
      self.labels = labels
    }
  }

  /// Its name, with the unit: `edgeblue_…_total`, `…_seconds`, `…_ratio`.
  public var name: String
  /// What it says, in a sentence.
  public var help: String
  /// What becomes of it.
  public var kind: Kind
  /// Its values; without any it is left out.
  public var samples: [Sample]

  /// Makes a number with several values.
  public init(_ name: String, _ kind: Kind, _ help: String, _ samples: [Sample]) {
    self.name = name
    self.kind = kind
    self.help = help
    self.samples = samples
  }

  /// Makes a number with one value; none when that is not known.
  public init(_ name: String, _ kind: Kind, _ help: String, _ value: Int?) {
    self.init(name, kind, help, value.map { [Sample(Double($0))] } ?? [])
  }

  /// Makes one value for each state there could be: 1 for the one that is, 0 for the others.
  public init(_ name: String, _ label: String, of states: [String], now: String, _ help: String) {
    self.init(name, .gauge, help, states.map { Sample($0 == now ? 1 : 0, [label: $0]) })
  }

  /// The numbers in Prometheus's text format, version 0.0.4.
  public static func text(of metrics: [Metric]) -> String {
    metrics.filter { !$0.samples.isEmpty }.map(\.text).joined()
  }

  /// The type of the text, for HTTP.
  public static let contentType = "text/plain; version=0.0.4; charset=utf-8"

  private var text: String {
    let head = "# HELP \(name) \(Self.escaped(help))\n# TYPE \(name) \(kind.rawValue)\n"
    return samples.reduce(into: head) { text, sample in
      let labels = sample.labels.sorted { $0.key < $1.key }.map { name, value in
        "\(name)=\"\(Self.escaped(value, quotes: true))\""
      }
      text += name + (labels.isEmpty ? "" : "{\(labels.joined(separator: ","))}") + " \(Self.number(sample.value))\n"
    }
  }

  private static func number(_ value: Double) -> String {
    if let whole = Int64(exactly: value) { return "\(whole)" }
    if value.isNaN { return "NaN" }
    return value.isInfinite ? (value < 0 ? "-Inf" : "+Inf") : "\(value)"
  }

  private static func escaped(_ text: String, quotes: Bool = false) -> String {
    text.reduce(into: "") { escaped, character in
      switch character {
      case "\\": escaped += #"\\"#
      case "\n": escaped += #"\n"#
      case "\"" where quotes: escaped += #"\""#
      default: escaped.append(character)
      }
    }
  }
}
