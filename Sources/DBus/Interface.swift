/// An interface that this program serves: its methods, properties and signals, with the code behind them.
public struct Interface: Sendable {
  /// The interface's name, such as `org.bluez.GattCharacteristic1`.
  public var name: String
  /// What can be called.
  public var methods: [Method]
  /// What can be read and written.
  public var properties: [Property]
  /// What is sent; declared for introspection.
  public var signals: [SignalDeclaration]

  /// Describes an interface.
  public init(
    _ name: String, methods: [Method] = [], properties: [Property] = [], signals: [SignalDeclaration] = []
  ) {
    self.name = name
    self.methods = methods
    self.properties = properties
    self.signals = signals
  }

  /// A named argument.
  public struct Argument: Sendable, Hashable {
    /// The name, for introspection.
    public var name: String
    /// One complete type.
    public var type: Signature

    /// Describes an argument.
    public init(_ name: String, _ type: Signature) {
      self.name = name
      self.type = type
    }
  }

  /// A call as a handler sees it.
  public struct Call: Sendable {
    /// Who calls: a unique name; `nil` on a peer-to-peer connection.
    public var sender: String?
    /// The object that is called.
    public var path: ObjectPath
    /// The arguments; their types are those the method declares.
    public var arguments: [Value]
  }

  /// A method.
  public struct Method: Sendable {
    /// Its name.
    public var name: String
    /// What it takes.
    public var input: [Argument]
    /// What it returns.
    public var output: [Argument]
    /// What it does.
    public var handler: Handler

    /// How a method is served.
    public enum Handler: Sendable {
      /// The object's next call waits until this one is answered. A thrown ``DBusError`` becomes the error reply.
      case inTurn(@Sendable (Call) async throws -> [Value])
      /// Returns at once and answers when it can; the object's next calls are served meanwhile. For a question to a
      /// person, which a later call may cancel. How many answers may be out is the handler's to bound.
      case deferred(@Sendable (Call, Reply) -> Void)
    }

    /// Describes a method whose calls are served one after the other.
    public init(
      _ name: String, in input: [Argument] = [], out output: [Argument] = [],
      handler: @escaping @Sendable (Call) async throws -> [Value]
    ) {
      self.name = name
      self.input = input
      self.output = output
      self.handler = .inTurn(handler)
    }

    /// Describes a method that answers later; see ``Handler/deferred(_:)``.
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

  /// A property.
  public struct Property: Sendable {
    /// Its name.
    public var name: String
    /// One complete type.
    public var type: Signature
    /// The value now; `nil` when the object has no such property at the moment.
    public var get: @Sendable () -> Value?
    /// Takes a new value; `nil` makes the property read-only.
    public var set: (@Sendable (Value) async throws -> Void)?

    /// Describes a property.
    public init(
      _ name: String, _ type: Signature, get: @escaping @Sendable () -> Value?,
      set: (@Sendable (Value) async throws -> Void)? = nil
    ) {
      self.name = name
      self.type = type
      self.get = get
      self.set = set
    }

    /// Describes a property that never changes.
    public init(_ name: String, _ value: Value) {
      self.init(name, value.signature, get: { value })
    }
  }

  /// A signal, for introspection.
  public struct SignalDeclaration: Sendable {
    /// Its name.
    public var name: String
    /// What it carries.
    public var arguments: [Argument]

    /// Describes a signal.
    public init(_ name: String, _ arguments: [Argument] = []) {
      self.name = name
      self.arguments = arguments
    }
  }
}

extension Interface {
  /// The properties that exist now, for `GetAll` and `GetManagedObjects`.
  var values: [String: Value] {
    var values: [String: Value] = [:]
    for property in properties { values[property.name] = property.get() }
    return values
  }
}
