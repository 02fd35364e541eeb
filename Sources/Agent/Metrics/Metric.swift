/// A metric in Prometheus's data model, with its samples.
///
/// ```swift
/// let jobs = Metric("edgeblue_jobs_total", .counter, "Jobs by outcome.", [
///   Metric.Sample(17, ["outcome": "done"]), Metric.Sample(2, ["outcome": "failed"]),
/// ])
/// print(Metric.text(of: [jobs]))
/// ```
public struct Metric: Sendable, Hashable {
  /// The kinds of metrics in Prometheus's model.
  public enum Kind: String, Sendable, Hashable {
    /// A counter that only grows, and starts at 0 with the program. The name ends in `_total`.
    case counter
    /// A value that goes up and down.
    case gauge
  }

  /// A value of a metric, with its labels.
  public struct Sample: Sendable, Hashable {
    /// The labels that distinguish the sample from others of the metric.
    public var labels: [String: String]
    /// The value of the sample.
    public var value: Double

    /// Creates a sample from its parts.
    public init(_ value: Double, _ labels: [String: String] = [:]) {
      self.value = value
      self.labels = labels
    }
  }

  /// The name with the unit, such as `edgeblue_…_total`, `…_seconds` or `…_ratio`.
  public var name: String
  /// The meaning of the metric, in a sentence.
  public var help: String
  /// The kind of the metric.
  public var kind: Kind
  /// The samples; a metric without any is left out of the text.
  public var samples: [Sample]

  /// Creates a metric with several samples.
  public init(_ name: String, _ kind: Kind, _ help: String, _ samples: [Sample]) {
    self.name = name
    self.kind = kind
    self.help = help
    self.samples = samples
  }

  /// Creates a metric with one sample, or none if the value is unknown.
  public init(_ name: String, _ kind: Kind, _ help: String, _ value: Int?) {
    self.init(name, kind, help, value.map { Double($0) })
  }

  /// Creates a metric with one sample, or none if the value is unknown.
  package init(_ name: String, _ kind: Kind, _ help: String, _ value: Double?) {
    self.init(name, kind, help, value.map { [Sample($0)] } ?? [])
  }

  /// Creates a gauge with a sample for each possible state: 1 for the present one, 0 for the others.
  public init(_ name: String, _ label: String, of states: [String], now: String, _ help: String) {
    self.init(name, .gauge, help, states.map { Sample($0 == now ? 1 : 0, [label: $0]) })
  }

  /// Returns the metrics in Prometheus's text format, version 0.0.4.
  public static func text(of metrics: [Metric]) -> String {
    metrics.filter { !$0.samples.isEmpty }.map(\.text).joined()
  }

  /// The media type of the text, for HTTP.
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
