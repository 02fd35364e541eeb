import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import SystemTesting

/// A server of HTTPS on a loopback port, which answers every request with status 204.
enum TLSServer {
  /// Serves while the body runs.
  /// - Parameters:
  ///   - configuration: The settings for a certificate chain and its key.
  ///   - body: A closure that gets the port, and the path of a PEM file with the certificate for `localhost`.
  static func run(
    _ configuration: ([NIOSSLCertificate], NIOSSLPrivateKey) -> TLSConfiguration,
    _ body: (Int, String) async throws -> Void
  ) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "tls-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let certificate = folder + "/certificate.pem"
    let openssl = try ChildProcess(
      "openssl",
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,DNS:store.example,IP:127.0.0.1",
        "-keyout", folder + "/key.pem", "-out", certificate,
      ], errors: .discarded)
    guard await openssl.outcome().status == 0 else { throw MissingProgram("openssl") }
    let chain = try NIOSSLCertificate.fromPEMFile(certificate)
    let key = try NIOSSLPrivateKey(file: folder + "/key.pem", format: .pem)
    let context = try NIOSSLContext(configuration: configuration(chain, key))
    let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
          try channel.pipeline.syncOperations.configureHTTPServerPipeline()
          try channel.pipeline.syncOperations.addHandler(Answer())
        }
      }.bind(host: "127.0.0.1", port: 0).get()
    try await body(server.localAddress?.port ?? 0, certificate)
    try await server.close()
  }

  private final class Answer: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      guard case .end = unwrapInboundIn(data) else { return }
      context.write(wrapOutboundOut(.head(.init(version: .http1_1, status: .noContent))), promise: nil)
      context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
  }
}
