/// A change of the owner of a name on the bus.
public struct NameOwnerChange: Sendable, Hashable {
  /// The name whose owner changed.
  public var name: String
  /// The unique name of the former owner; `nil` if the name had none.
  public var oldOwner: String?
  /// The unique name of the new owner; `nil` if the name has none now.
  public var newOwner: String?

  init?(_ signal: Signal) {
    guard let names = Optional(signal.arguments.compactMap(\.string)), names.count == 3 else { return nil }
    name = names[0]
    oldOwner = names[1].isEmpty ? nil : names[1]
    newOwner = names[2].isEmpty ? nil : names[2]
  }
}
