/// What runs the models, as the coordinator is told of it.
public struct CoordinatorModel: Sendable, Hashable {
  /// Whether a prompt that is given to it now is answered.
  public var isReady: Bool
  /// The model; `nil` when that is not known.
  public var name: String?
  /// Its parameters in billions, more than 0 and at most 10,000; `nil` when that is not known.
  public var billionsOfParameters: Double?
  /// Whether it is just being loaded.
  public var isLoading: Bool

  /// Makes one.
  public init(isReady: Bool, name: String? = nil, billionsOfParameters: Double? = nil, isLoading: Bool = false) {
    self.isReady = isReady
    self.name = name
    self.billionsOfParameters = billionsOfParameters.flatMap { $0 > 0 && $0 <= 10_000 ? $0 : nil }
    self.isLoading = isLoading
  }
}
