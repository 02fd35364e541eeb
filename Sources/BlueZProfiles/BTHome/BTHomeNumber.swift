/// A number that BTHome devices send: its object ID, unit, size and steps.
///
/// ```swift
/// print(BTHomeNumber.temperature.unit)  // °C
/// print(BTHomeNumber(id: 0x04)?.property ?? "unknown")  // pressure
/// ```
public struct BTHomeNumber: Sendable, Hashable {
  /// The object ID of the number.
  public let id: UInt8
  /// The property that the number measures, in words.
  public let property: String
  /// The unit of the number, such as `°C`; empty for a number without one.
  public let unit: String

  private let width: Width
  private let step: Int
  private let divisor: Int

  /// The size of a number as it is sent.
  enum Width: Hashable {
    case unsigned(Int)
    case signed(Int)
  }

  init(_ id: UInt8, _ property: String, _ unit: String, _ width: Width, per divisor: Int = 1, step: Int = 1) {
    self.id = id
    self.property = property
    self.unit = unit
    self.width = width
    self.step = step
    self.divisor = divisor
  }

  /// The number of bytes, 1 to 4.
  public var byteCount: Int {
    switch width {
    case .unsigned(let count), .signed(let count): count
    }
  }

  /// A Boolean value that indicates whether the number can be negative.
  public var isSigned: Bool { if case .signed = width { true } else { false } }

  /// The smallest difference between two numbers, in the unit.
  public var resolution: Double { value(1) }

  /// The range of the number, in steps.
  var range: ClosedRange<Int> {
    let count = 1 << (8 * byteCount)
    return isSigned ? -count / 2...count / 2 - 1 : 0...count - 1
  }

  /// Returns the number in the unit for a number of steps.
  func value(_ steps: Int) -> Double { Double(steps * step) / Double(divisor) }

  /// Returns the nearest number of steps; `nil` outside the range.
  func steps(_ value: Double) -> Int? {
    let steps = (value * Double(divisor) / Double(step)).rounded()
    guard steps >= Double(range.lowerBound), steps <= Double(range.upperBound) else { return nil }
    return Int(steps)
  }
}

/// A state with two values that BTHome devices send, such as an open or closed window.
///
/// Its raw value is the object ID. The first word or words of the name say what `true` stands for: an `open` window, or a
/// `low` battery.
public enum BTHomeState: UInt8, Sendable, Hashable, CaseIterable {
  /// A state without a meaning of its own: on.
  case on = 0x0f
  /// The supply of power: switched on.
  case powered = 0x10
  /// An opening of any kind: open.
  case open = 0x11
  /// The charge of the battery: low.
  case lowBattery = 0x15
  /// The state of the battery: charging.
  case charging = 0x16
  /// The concentration of carbon monoxide: dangerous.
  case carbonMonoxide = 0x17
  /// The temperature of the place: cold.
  case cold = 0x18
  /// The connection of the device: established.
  case connected = 0x19
  /// The state of the door: open.
  case openDoor = 0x1a
  /// The state of the garage door: open.
  case openGarageDoor = 0x1b
  /// The sensor of gas: gas detected.
  case gas = 0x1c
  /// The temperature of the place: hot.
  case hot = 0x1d
  /// The sensor of light: light detected.
  case light = 0x1e
  /// The state of the lock: unlocked.
  case unlocked = 0x1f
  /// The sensor of moisture: wet.
  case wet = 0x20
  /// The sensor of motion: motion detected.
  case motion = 0x21
  /// The state of the thing itself: moving.
  case moving = 0x22
  /// The state of the room: occupied.
  case occupied = 0x23
  /// The state of the plug: plugged in.
  case pluggedIn = 0x24
  /// The person or thing: present.
  case present = 0x25
  /// The state of the device: a problem.
  case problem = 0x26
  /// The state of the machine: running.
  case running = 0x27
  /// The state of the place: safe.
  case safe = 0x28
  /// The sensor of smoke: smoke detected.
  case smoke = 0x29
  /// The sensor of sound: sound detected.
  case sound = 0x2a
  /// The sensor of tampering: tampering detected.
  case tampered = 0x2b
  /// The sensor of vibration: vibration detected.
  case vibration = 0x2c
  /// The state of the window: open.
  case openWindow = 0x2d
}

/// An event of a button that BTHome devices send.
public enum BTHomeButtonEvent: UInt8, Sendable, Hashable, CaseIterable {
  /// No event, for a device with several buttons.
  case none = 0x00
  /// The short presses: once, twice, three times.
  case press, doublePress, triplePress
  /// The long presses: once, twice, three times.
  case longPress, longDoublePress, longTriplePress
  /// The button is being held.
  case hold = 0x80
}
