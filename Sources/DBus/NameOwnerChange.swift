/// A name on the bus got, changed or lost its owner.
public struct NameOwnerChange: Sendable, Hashable {
  /// The name.
  public var name: String
  /// The unique name that had it; `nil` when it is new.
  public var oldOwner: String?
  /// The unique name that has it now; `nil` when nobody does.
  public var newOwner: String?

  init?(_ signal: Signal) {
    guard let names = Optional(signal.arguments.compactMap(\.string)), names.count == 3 else { return nil }
    name = names[0]
    oldOwner = names[1].isEmpty ? nil : names[1]
    newOwner = names[2].isEmpty ? nil : names[2]
  }
}
