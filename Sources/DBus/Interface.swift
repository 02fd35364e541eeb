/// An interface that this program serves, with the code behind its methods and properties.
///
/// ```swift
/// let add = Interface.Method("Add", in: [.init("a", "i"), .init("b", "i")], out: [.init("sum", "i")]) { call in
///   guard let a: Int32 = call.arguments[0].integer(), let b: Int32 = call.arguments[1].integer() else { return [] }
///   return [.int32(a &+ b)]
/// }
/// let calculator = Interface("org.example.Calculator", methods: [add])
/// ```
public struct Interface: Sendable {
  /// The name of the interface, such as `org.bluez.GattCharacteristic1`.
  public var name: String
  /// The methods that peers can call.
  public var methods: [Method]
  /// The properties that peers can read and write.
  public var properties: [Property]
  /// The signals that the program sends, declared for introspection.
  public var signals: [SignalDeclaration]

  /// Creates an interface from its members.
  public init(
    _ name: String, methods: [Method] = [], properties: [Property] = [], signals: [SignalDeclaration] = []
  ) {
    self.name = name
    self.methods = methods
    self.properties = properties
    self.signals = signals
  }

  /// A named argument of a method or signal.
  public struct Argument: Sendable, Hashable {
    /// The name of the argument, for introspection.
    public var name: String
    /// The type of the argument, one complete type.
    public var type: Signature

    /// Creates an argument from its name and type.
    public init(_ name: String, _ type: Signature) {
      self.name = name
      self.type = type
    }
  }

  /// A method call as its handler receives it.
  public struct Call: Sendable {
    /// The unique name of the caller; `nil` on a peer-to-peer connection.
    public var sender: String?
    /// The path of the called object.
    public var path: ObjectPath
    /// The arguments, of the types that the method declares.
    public var arguments: [Value]
  }

  /// A method of an interface, with its handler.
  public struct Method: Sendable {
    /// The name of the method.
    public var name: String
    /// The arguments that the method accepts.
    public var input: [Argument]
    /// The arguments that the method returns.
    public var output: [Argument]
    /// The code that serves the calls.
    public var handler: Handler

    /// The way in which the calls of a method are served.
    public enum Handler: Sendable {
      /// A closure that returns the reply, while the object's next call waits.
      ///
      /// A thrown ``DBusError`` becomes the error reply.
      case inTurn(@Sendable (Call) async throws -> [Value])
      /// A closure that returns at once and replies later, while the object's next calls are served.
      ///
      /// It is meant for questions to the user, which a later call may cancel. The handler limits the number of pending
      /// replies.
      case deferred(@Sendable (Call, Reply) -> Void)
    }

    /// Creates a method whose calls are served one after another.
    public init(
      _ name: String, in input: [Argument] = [], out output: [Argument] = [],
      handler: @escaping @Sendable (Call) async throws -> [Value]
    ) {
      self.name = name
      self.input = input
      self.output = output
      self.handler = .inTurn(handler)
    }

    /// Creates a method that replies later; see ``Handler/deferred(_:)``.
    public init(
      _ name: String, in input: [Argument] = [], out output: [Argument] = [],
      deferred handler: @escaping @Sendable (Call, Reply) -> Void
    ) {
      self.name = name
      self.input = input
      self.output = output
      self.handler = .deferred(handler)
    }
  }

  /// A property of an interface, with its accessors.
  public struct Property: Sendable {
    /// The name of the property.
    public var name: String
    /// The type of the property, one complete type.
    public var type: Signature
    /// A closure that returns the current value; `nil` if the object has no such property at present.
    public var get: @Sendable () -> Value?
    /// A closure that accepts a new value; `nil` for a read-only property.
    public var set: (@Sendable (Value) async throws -> Void)?

    /// Creates a property from its accessors.
    public init(
      _ name: String, _ type: Signature, get: @escaping @Sendable () -> Value?,
      set: (@Sendable (Value) async throws -> Void)? = nil
    ) {
      self.name = name
      self.type = type
      self.get = get
      self.set = set
    }

    /// Creates a property with a constant value.
    public init(_ name: String, _ value: Value) {
      self.init(name, value.signature, get: { value })
    }
  }

  /// The declaration of a signal, for introspection.
  public struct SignalDeclaration: Sendable {
    /// The name of the signal.
    public var name: String
    /// The arguments that the signal carries.
    public var arguments: [Argument]

    /// Creates a declaration from a name and arguments.
    public init(_ name: String, _ arguments: [Argument] = []) {
      self.name = name
      self.arguments = arguments
    }
  }
}

extension Interface {
  /// The values of the present properties, for `GetAll` and `GetManagedObjects`.
  var values: [String: Value] {
    var values: [String: Value] = [:]
    for property in properties { values[property.name] = property.get() }
    return values
  }
}
