package import BlueZ
import Timing

/// A heart-rate sensor that is recorded in the lab, and the conversation with it.
package struct Pulse: Sendable {
  /// The service that it advertises.
  package static let service: BluetoothUUID = "180d"
  /// The measurement, whose rate rises by one with each value.
  package static let measurement: BluetoothUUID = "2a37"

  /// The course of a conversation.
  package struct Course: Sendable, Equatable {
    /// The differences between the rates of consecutive measurements.
    package var differences: [Int] = []
    /// The value of the place where the sensor is worn.
    package var place: [UInt8] = []
  }

  /// The course of a conversation with the sensor.
  package static let course = Course(differences: [1, 1], place: [1])

  private let beats = LocalCharacteristic(Pulse.measurement, .notify)

  package init() {}

  package var services: [LocalService] {
    [
      LocalService(
        Self.service, characteristics: [beats, LocalCharacteristic("2a38", value: [1])]),
      LocalService("180f", characteristics: [LocalCharacteristic("2a19", value: [87])]),
    ]
  }

  /// Beats ten times a second until the task is cancelled.
  package func beat() async throws {
    var rate: UInt8 = 60
    while true {
      do {
        if beats.isSubscribed { try await beats.notify([0, rate]) }
        rate = rate % 200 + 1
      } catch let error as BlueZError where error.code == .notConnected {
        // The subscriber has gone meanwhile.
      }
      try await Task.sleep(for: .milliseconds(100), clock: .steady)
    }
  }

  /// Reads the place and three measurements of a sensor that is connected.
  package static func hold(with sensor: Device) async throws -> Course {
    var course = Course()
    course.place = try await sensor.characteristic("2a38", in: service).read()
    var last: Int?
    for try await value in try await sensor.characteristic(measurement, in: service).notifications() {
      let rate = Int(value.last ?? 0)
      if let last { course.differences.append(rate - last) }
      last = rate
      if course.differences.count == 2 { break }
    }
    return course
  }
}
