/// A read or a write of an attribute with its outcome.
public struct AttributeOperation: Sendable, Hashable {
  /// The kinds of reads and writes.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// A read of a value, or of its beginning.
    case read
    /// A read of a value from an offset on.
    case readBlob
    /// A read of the values of a type.
    case readByType
    /// A write with a response.
    case write
    /// A write without a response.
    case writeCommand
    /// A write without a response, with a signature.
    case signedWrite
    /// A part of a long write.
    case prepareWrite
    /// The end of a long write, which performs or cancels it.
    case executeWrite
  }

  /// The outcomes of a request.
  public enum Outcome: Sendable, Hashable {
    /// The server did it; also for a write that has no response.
    case done
    /// The server refused the operation with an error.
    case refused(ATTError)
    /// No response came before the connection ended.
    case unanswered
  }

  /// The kind of the operation.
  public var kind: Kind
  /// The server of the attribute, and its connection.
  public var server: AttributeServer
  /// The handle of the attribute; 0 for the end of a long write.
  public var handle: UInt16
  /// The offset in the value, in bytes.
  public var offset: Int
  /// The value that was read or written.
  public var value: [UInt8]
  /// The outcome that the recording contains.
  public var outcome: Outcome
  /// The duration from the request to its response, in microseconds.
  public var duration: Int64
}
