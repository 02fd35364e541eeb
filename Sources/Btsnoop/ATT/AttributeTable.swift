/// The attributes of a server as far as a recording shows them, by their handles.
///
/// ```swift
/// for characteristic in table.characteristics { print(characteristic.uuid, characteristic.valueHandle) }
/// ```
public struct AttributeTable: Sendable, Hashable {
  /// A service: a range of handles.
  public struct Service: Sendable, Hashable {
    /// The handle of the declaration.
    public var handle: UInt16
    /// The last handle of the service.
    public var end: UInt16
    /// The kind of the service.
    public var uuid: AttributeUUID
    /// A Boolean value that indicates whether the service is primary.
    public var isPrimary: Bool

    /// Creates a service from its fields.
    public init(handle: UInt16, end: UInt16, uuid: AttributeUUID, isPrimary: Bool = true) {
      self.handle = handle
      self.end = end
      self.uuid = uuid
      self.isPrimary = isPrimary
    }
  }

  /// A characteristic: its declaration, and the attribute with its value.
  public struct Characteristic: Sendable, Hashable {
    /// The handle of the declaration.
    public var handle: UInt16
    /// The properties, as in its declaration: bits 1 to 5 are read, write without response, write, notify, indicate.
    public var properties: UInt8
    /// The handle of the value.
    public var valueHandle: UInt16
    /// The kind of the characteristic.
    public var uuid: AttributeUUID

    /// Creates a characteristic from its fields.
    public init(handle: UInt16, properties: UInt8, valueHandle: UInt16, uuid: AttributeUUID) {
      self.handle = handle
      self.properties = properties
      self.valueHandle = valueHandle
      self.uuid = uuid
    }
  }

  /// A descriptor of a characteristic.
  public struct Descriptor: Sendable, Hashable {
    /// The handle of the descriptor.
    public var handle: UInt16
    /// The kind of the descriptor.
    public var uuid: AttributeUUID

    /// Creates a descriptor from its fields.
    public init(handle: UInt16, uuid: AttributeUUID) {
      self.handle = handle
      self.uuid = uuid
    }
  }

  /// The services, by rising handles.
  public private(set) var services: [Service] = []
  /// The characteristics, by rising handles.
  public private(set) var characteristics: [Characteristic] = []
  /// The descriptors, by rising handles.
  public private(set) var descriptors: [Descriptor] = []
  /// The places of characteristics in the list, by the handles of their values.
  private var places: [UInt16: Int] = [:]

  /// Creates a table in which nothing was found yet.
  public init() {}

  /// A Boolean value that indicates whether nothing was found yet.
  public var isEmpty: Bool { services.isEmpty && characteristics.isEmpty && descriptors.isEmpty }

  /// Returns the characteristic with a value at a handle.
  public func characteristic(at handle: UInt16) -> Characteristic? { places[handle].map { characteristics[$0] } }

  /// Returns the characteristic to which a handle belongs: that of its declaration, its value or a descriptor.
  public func characteristic(around handle: UInt16) -> Characteristic? {
    if let exact = characteristic(at: handle) { return exact }
    guard let place = characteristics.lastPlace(atOrBelow: handle, \.handle) else { return nil }
    let found = characteristics[place]
    // A service that begins between the two ends the characteristic.
    guard let service = service(around: handle) else { return found }
    return service.handle <= found.handle ? found : nil
  }

  /// Returns the service to which a handle belongs.
  public func service(around handle: UInt16) -> Service? {
    guard let place = services.lastPlace(atOrBelow: handle, \.handle), services[place].end >= handle else { return nil }
    return services[place]
  }

  /// Returns the descriptor at a handle.
  public func descriptor(at handle: UInt16) -> Descriptor? {
    guard let place = descriptors.lastPlace(atOrBelow: handle, \.handle), descriptors[place].handle == handle else {
      return nil
    }
    return descriptors[place]
  }

  /// The largest number of services, of characteristics and of descriptors; real servers have less than a hundred.
  public static let limit = 2048

  /// Adds a service to the table.
  /// - Returns: `false` for one that is there already, or beyond ``limit``.
  @discardableResult
  public mutating func add(_ service: Service) -> Bool {
    services.count < Self.limit && services.put(service, \.handle)
  }

  /// Adds a characteristic to the table.
  /// - Returns: `false` for one that is there already, or beyond ``limit``.
  @discardableResult
  public mutating func add(_ characteristic: Characteristic) -> Bool {
    guard characteristics.count < Self.limit, characteristics.put(characteristic, \.handle) else { return false }
    places = Dictionary(
      characteristics.enumerated().map { ($0.element.valueHandle, $0.offset) }, uniquingKeysWith: { $1 })
    // What was taken for a descriptor before was a value.
    descriptors.removeAll { places[$0.handle] != nil }
    return true
  }

  /// Adds a descriptor; a declaration or a value is none, and is left out.
  /// - Returns: `false` for one that is there already, or beyond ``limit``.
  @discardableResult
  public mutating func add(_ descriptor: Descriptor) -> Bool {
    guard descriptors.count < Self.limit, places[descriptor.handle] == nil,
      !(0x2800...0x2803).contains(descriptor.uuid.short ?? 0)
    else {
      return false
    }
    return descriptors.put(descriptor, \.handle)
  }
}

extension Array {
  /// Returns the place of the last element whose handle is not above another one; the elements are in order.
  fileprivate func lastPlace(atOrBelow handle: UInt16, _ key: KeyPath<Element, UInt16>) -> Int? {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if self[middle][keyPath: key] <= handle { low = middle + 1 } else { high = middle }
    }
    return low > 0 ? low - 1 : nil
  }
}

extension Array where Element: Equatable {
  /// Puts an element into its place, or in the place of the one with the same handle.
  /// - Returns: `false` if the same element is there already.
  fileprivate mutating func put(_ element: Element, _ key: KeyPath<Element, UInt16>) -> Bool {
    let handle = element[keyPath: key]
    guard let place = lastPlace(atOrBelow: handle, key) else {
      insert(element, at: 0)
      return true
    }
    if self[place][keyPath: key] != handle {
      insert(element, at: place + 1)
    } else if self[place] != element {
      self[place] = element
    } else {
      return false
    }
    return true
  }
}

extension AttributeTable {
  /// Reads a declaration of a characteristic: properties, the handle of the value, and the UUID.
  static func characteristic(_ entry: ATTPacket.Entry) -> Characteristic? {
    var fields = ByteReader(entry.value)
    guard let properties = fields.byte(), let handle = fields.uint16(),
      let uuid = AttributeUUID(littleEndian: fields.rest)
    else { return nil }
    return Characteristic(handle: entry.handle, properties: properties, valueHandle: handle, uuid: uuid)
  }
}
