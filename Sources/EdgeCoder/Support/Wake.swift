/// Wakes one loop: any number of calls while it is busy make it look once more.
struct Wake: Sendable {
  private let stream: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation

  init() {
    (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  func signal() { continuation.yield() }

  /// The calls, for the one loop; ends when its task is cancelled.
  var calls: AsyncStream<Void> { stream }
}
