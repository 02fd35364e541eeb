internal import Hummingbird
internal import NIOCore

/// Notices that the client has closed its side of the connection, while a request is being answered.
///
/// Hummingbird's own way (`consumeWithCancellationOnInboundClose`) uses the connection up and traps when the body has
/// been read before; this handler only listens.
final class ClientDepartureHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = NIOAny

  private let connections: OpenConnections
  private var promise: EventLoopPromise<Void>?

  /// - Parameter connections: knows the connection from now until it ends.
  init(_ connections: OpenConnections) { self.connections = connections }

  /// Completes when the client has gone, at the latest with the connection.
  var departed: EventLoopFuture<Void>? { promise?.futureResult }

  func handlerAdded(context: ChannelHandlerContext) {
    promise = context.eventLoop.makePromise()
    connections.add(context.channel)
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    // A client that only shuts down its sending side counts as gone: HTTP clients do not do that and wait on.
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

/// A request's context that knows its connection.
struct APIContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  private let channel: any Channel

  init(source: ApplicationRequestContextSource) {
    coreContext = CoreRequestContextStorage(source: source)
    channel = source.channel
  }

  /// Runs `operation`, and cancels it when the client goes away.
  /// - Throws: what `operation` throws; ``APIError/clientGone`` when the client went away first.
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

  /// Completes when the client has gone; `nil` for one that cannot go away.
  func departure() async throws -> EventLoopFuture<Void>? {
    let channel = channel
    return try await channel.eventLoop.submit {
      do {
        return try channel.pipeline.syncOperations.handler(type: ClientDepartureHandler.self).departed
      } catch is ChannelPipelineError {
        // A request that came over no connection, as in-memory tests send it: its client cannot go away.
        return nil
      }
    }.get()
  }
}

/// EdgeCoder has a `Router` of its own, which chooses phones.
typealias APIRouter = Hummingbird.Router<APIContext>
