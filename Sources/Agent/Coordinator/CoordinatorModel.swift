/// The state of the engine, as it is reported to the coordinator.
public struct CoordinatorModel: Sendable, Hashable {
  /// A Boolean value that indicates whether the engine would answer a prompt now.
  public var isReady: Bool
  /// The name of the model; `nil` if it is unknown.
  public var name: String?
  /// The number of the model's parameters in billions, more than 0 and at most 10,000; `nil` if it is unknown.
  public var billionsOfParameters: Double?
  /// A Boolean value that indicates whether the model is being loaded.
  public var isLoading: Bool

  /// Creates the state of an engine. A number of parameters outside the allowed range counts as unknown.
  public init(isReady: Bool, name: String? = nil, billionsOfParameters: Double? = nil, isLoading: Bool = false) {
    self.isReady = isReady
    self.name = name
    self.billionsOfParameters = billionsOfParameters.flatMap { $0 > 0 && $0 <= 10_000 ? $0 : nil }
    self.isLoading = isLoading
  }
}
