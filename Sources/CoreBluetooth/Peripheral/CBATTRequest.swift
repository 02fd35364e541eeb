import BlueZ
import Streams

/// A request of a central to read or write a value of this program.
open class CBATTRequest: NSObject, @unchecked Sendable {
  // Sound: the stored properties are constants; what changes is behind a lock.

  /// The central that sent the request.
  public let central: CBCentral
  /// The characteristic to read or write.
  public let characteristic: CBCharacteristic
  /// The position of the first byte: 0, unless a write starts in the middle. Long reads and writes are whole.
  public let offset: Int
  private let shared: Lock<Data?>
  private let answer: BoundedStream<CBATTError.Code>.Source
  private let answers: BoundedStream<CBATTError.Code>

  init(_ central: CBCentral, _ characteristic: CBCharacteristic, offset: Int = 0, value: Data? = nil) {
    self.central = central
    self.characteristic = characteristic
    self.offset = offset
    shared = Lock(value)
    (answers, answer) = BoundedStream.make(of: CBATTError.Code.self, limit: 1, policy: .dropNewest)
  }

  /// The value that the central wrote, or that the app sets before it responds to a read.
  open var value: Data? {
    get { shared.withLock { $0 } }
    set { shared.withLock { $0 = newValue } }
  }

  /// Sends the app's response to the central; a second one has no effect.
  func respond(_ result: CBATTError.Code) { answer.yield(result) }

  /// Waits for the app's response.
  /// - Throws: `AttributeRefusal` when the app refuses, or does not respond as long as a central waits.
  func response() async throws {
    let answer = answer
    let limit = Task {
      try await Task.sleep(for: .seconds(30), clock: .continuous)
      answer.yield(.unlikelyError)
    }
    defer { limit.cancel() }
    for await result in answers {
      guard result != .success else { return }
      throw AttributeRefusal(result)
    }
    throw CancellationError()
  }
}

extension AttributeRefusal {
  /// The refusal that is closest to an error code; bluetoothd sends no others.
  fileprivate init(_ code: CBATTError.Code) {
    self =
      switch code {
      case .readNotPermitted, .writeNotPermitted: .notPermitted
      case .insufficientAuthorization, .insufficientAuthentication, .insufficientEncryption: .notAuthorized
      case .invalidAttributeValueLength: .invalidLength
      case .invalidOffset: .invalidOffset
      case .requestNotSupported: .notSupported
      default: .failed
      }
  }
}
