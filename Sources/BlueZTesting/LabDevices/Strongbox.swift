package import BlueZ
import Streams

/// A device of a protocol of its own that is recorded in the lab, and the conversation with it: it opens for paired
/// centrals that send the right command.
package struct Strongbox: Sendable {
  /// The service that it advertises.
  package static let service = uuid(1)
  /// The text that only a paired central may read.
  package static let secret = uuid(3)
  /// The command, which only a paired central may write.
  package static let command = uuid(4)
  /// The state: 0 is closed, 1 is open.
  package static let state = uuid(5)

  /// The course of a conversation.
  package struct Course: Sendable, Equatable {
    package var label: [UInt8] = []
    package var secret: [UInt8] = []
    package var states: [[UInt8]] = []
    package var refusal: BlueZError.Code?
  }

  /// The course of a conversation with the box.
  package static let course = Course(
    label: Array("box 7".utf8), secret: Array("only for friends".utf8), states: [[0], [1]], refusal: .notPermitted)

  private let isOpen = Lock(false)
  private let shown: LocalCharacteristic

  package init() {
    shown = LocalCharacteristic(
      Self.state, [.read, .notify], read: { [isOpen] _ in [isOpen.withLock { $0 } ? 1 : 0] })
  }

  package var services: [LocalService] {
    let command = LocalCharacteristic(
      Self.command, .encryptWrite,
      writes: .handler { [isOpen, shown] request in
        guard request.value == [1] else { throw AttributeRefusal.notAuthorized }
        isOpen.withLock { $0 = true }
        try await shown.notify([1])
      })
    return [
      LocalService(
        Self.service,
        characteristics: [
          LocalCharacteristic(Self.uuid(2), value: Self.course.label),
          LocalCharacteristic(Self.secret, .encryptRead, read: { _ in Self.course.secret }), command, shown,
        ])
    ]
  }

  /// Opens a box that is connected; reading the secret pairs.
  package static func hold(with box: Device) async throws -> Course {
    var course = Course()
    course.label = try await box.characteristic(uuid(2), in: service).read()
    let shown = try box.characteristic(state, in: service)
    course.states.append(try await shown.read())
    course.secret = try await box.characteristic(secret, in: service).read()
    let command = try box.characteristic(command, in: service)
    var states = try await shown.notifications().makeAsyncIterator()
    do {
      try await command.write([2])
    } catch let error as BlueZError {
      course.refusal = error.code
    }
    try await command.write([1])
    if let state = try await states.next() { course.states.append(state) }
    return course
  }

  private static func uuid(_ number: Int) -> BluetoothUUID {
    BluetoothUUID(stringLiteral: "ec0d060\(number)-ec0d-ec0d-ec0d-ec0d060\(number)ec0d")
  }
}
