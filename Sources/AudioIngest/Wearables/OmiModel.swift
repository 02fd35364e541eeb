public import BlueZ

/// A model of the Omi family. They share the audio service; this is what differs.
public enum OmiModel: String, Sendable, Hashable, Codable, CaseIterable {
  /// Friend, and Omi DevKit 1 and 2: Opus in frames of 10 ms, no clock, and a file for what nobody listens to.
  case devKit
  /// Omi, the CV1: Opus in frames of 20 ms, a clock, and a ring for what nobody listens to.
  case cv1
  /// omiGlass: as the CV1, with a camera, without a clock and without a store.
  case omiGlass
  /// OpenGlass, from which it comes: PCM of 8 kHz unless it was built otherwise, and a battery that always says 100.
  case openGlass

  /// How a person calls it.
  public var title: String {
    switch self {
    case .devKit: "Omi DevKit"
    case .cv1: "Omi"
    case .omiGlass: "omiGlass"
    case .openGlass: "OpenGlass"
    }
  }

  /// Whether what it says of its battery was measured.
  public var tellsBattery: Bool { self != .openGlass }

  /// The smallest ATT MTU over which all of its audio fits: the CV1 sends none below 100; the glasses cut nothing in
  /// pieces, and so a frame of 160 bytes and its header need 166. A DevKit looks at the link's data length instead.
  public var smallestMTU: Int? {
    switch self {
    case .devKit: nil
    case .cv1: 100
    case .omiGlass, .openGlass: 166
    }
  }

  /// Whether it stores what it hears while nobody listens.
  public var stores: Bool { self == .devKit || self == .cv1 }

  /// Tells them apart by what a link shows. The CV1 alone has a clock and a list of its features, the glasses alone have
  /// a camera; these two say only by their names which they are.
  /// - Parameters:
  ///   - services: the UUIDs of its services.
  ///   - audioCharacteristics: the UUIDs of the characteristics of the audio service.
  ///   - names: what it calls itself: its name, its model number.
  public init(
    services: Set<BluetoothUUID>, audioCharacteristics: Set<BluetoothUUID>, names: [String]
  ) {
    if !audioCharacteristics.isDisjoint(with: [OmiWearable.uuid(0x05), OmiWearable.uuid(0x06)]) {
      self = names.contains { $0.lowercased().contains("openglass") } ? .openGlass : .omiGlass
    } else {
      self = services.isDisjoint(with: [OmiWearable.uuid(0x20), OmiWearable.uuid(0x30)]) ? .devKit : .cv1
    }
  }

  /// How a device stores audio, as its status characteristic shows, and which firmware has it.
  ///
  /// A ring's status has 16 bytes, a file's 8. Firmware from 3.0.17 to 3.0.19 has several files, in a way that is not
  /// known here.
  /// - Returns: `nil` for any other.
  static func storedFormat(status: [UInt8], firmware: String?) -> StoredFormat? {
    let numbers = firmware?.drop { !$0.isNumber }.split(separator: ".") ?? []
    let version = numbers.map { Int($0.prefix { $0.isNumber }) ?? 0 }
    switch status.count {
    case 16: return .ring
    case 8 where version.count < 3 || !(17...19 ~= version[2] && version[..<2] == [3, 0]): return .file
    default: return nil
    }
  }
}

/// What differs between the models of a kind of device, known once there is a link.
public struct WearableProfile: Sendable, Hashable {
  /// How a person calls it; `nil` when that is not known.
  public var model: String?
  /// Whether what it says of its battery was measured.
  public var tellsBattery = true
  /// The smallest ATT MTU over which all of its audio fits; `nil` when any does.
  public var smallestMTU: Int?
  /// How it stores what it hears while nobody listens; `nil` when it does not, or in a way that nobody here knows.
  public var stored: StoredFormat?
  /// What a person should know of it.
  public var remarks: [String] = []

  /// Knows nothing of a device.
  public init() {}
}
