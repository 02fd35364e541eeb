/// What runs the models, as the coordinator is told of it.
public struct CoordinatorModel: Sendable, Hashable {
  /// Whether a prompt that is given to it now is answered.
  public var isReady: Bool
  /// The model; `nil` when that is not known.
  public var name: String?
  /// Whether it is just being loaded.
  public var isLoading: Bool

  /// Makes one.
  public init(isReady: Bool, name: String? = nil, isLoading: Bool = false) {
    self.isReady = isReady
    self.name = name
    self.isLoading = isLoading
  }
}
