internal import Hummingbird
internal import NIOCore

/// A channel handler that detects that the client has closed its side of the connection while a request is answered.
///
/// The method of Hummingbird (`consumeWithCancellationOnInboundClose`) consumes the connection and traps if the body was
/// read before; this handler only observes.
final class ClientDepartureHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = NIOAny

  private let connections: OpenConnections
  private var promise: EventLoopPromise<Void>?

  /// - Parameter connections: The set that contains the connection until it closes.
  init(_ connections: OpenConnections) { self.connections = connections }

  /// A future that completes when the client disconnects, at the latest with the connection.
  var departed: EventLoopFuture<Void>? { promise?.futureResult }

  func handlerAdded(context: ChannelHandlerContext) {
    promise = context.eventLoop.makePromise()
    connections.add(context.channel)
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    // A client that only shuts down its sending side counts as disconnected: HTTP clients do not do that and wait.
    if case .inputClosed? = event as? ChannelEvent { promise?.succeed() }
    context.fireUserInboundEventTriggered(event)
  }

  func channelInactive(context: ChannelHandlerContext) {
    promise?.succeed()
    context.fireChannelInactive()
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    promise?.succeed()
    connections.remove(context.channel)
  }
}

/// The context of a request, with its connection.
struct APIContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  private let channel: any Channel

  init(source: ApplicationRequestContextSource) {
    coreContext = CoreRequestContextStorage(source: source)
    channel = source.channel
  }

  /// Runs `operation`, and cancels it when the client disconnects.
  /// - Throws: The error of `operation`; ``APIError/clientGone`` if the client disconnected first.
  func whileClientListens<Value: Sendable>(
    _ operation: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let departed = try await departure()
    return try await withThrowingTaskGroup(of: Value?.self) { group in
      group.addTask(operation: operation)
      let (gone, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingOldest(1))
      departed?.whenComplete { _ in continuation.finish() }
      group.addTask {
        for await _ in gone {}
        return nil
      }
      defer { group.cancelAll() }
      guard case .some(.some(let value)) = try await group.next() else {
        try Task.checkCancellation()
        throw APIError.clientGone
      }
      return value
    }
  }

  /// Returns a future that completes when the client disconnects; `nil` for a client that cannot.
  func departure() async throws -> EventLoopFuture<Void>? {
    let channel = channel
    return try await channel.eventLoop.submit {
      do {
        return try channel.pipeline.syncOperations.handler(type: ClientDepartureHandler.self).departed
      } catch is ChannelPipelineError {
        // A request without a connection, as in-memory tests send it: its client cannot disconnect.
        return nil
      }
    }.get()
  }
}

/// The HTTP router; `EdgeCoder.Router` chooses phones.
typealias APIRouter = Hummingbird.Router<APIContext>
