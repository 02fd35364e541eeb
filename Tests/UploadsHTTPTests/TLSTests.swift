import Foundation
import Streams
import SystemTesting
import Testing
import UploadsHTTP

@testable import Uploads

/// Servers of OpenSSL, whose certificates OpenSSL makes.
@Suite(
  "Failures of TLS", .enabled(if: ChildProcess.path(of: "openssl") != nil, "needs openssl"), .timeLimit(.minutes(5)))
struct TLSTests {
  private let authority: TestAuthority

  init() async throws { authority = try await TestAuthority() }

  /// Asks a server, and returns the error; `nil` if it responds.
  private func failure(at url: String, trusting certificates: String?) async throws -> UploadsError? {
    let transport = try S3HTTPTransport(certificates: certificates)
    let parts = url.split(separator: "/", maxSplits: 1)
    let request = S3Request("GET", scheme: String(parts[0].dropLast()), authority: String(parts[1].dropFirst()))
    do {
      _ = try await transport.send(request, S3Progress())
      return nil
    } catch let error as UploadsError {
      // No library's words, and no path of the machine that built this.
      #expect(!error.description.contains("NIO"))
      #expect(!error.description.contains("SSL"))
      #expect(error.description.firstMatch(of: /\.(cc|swift|c)\b/) == nil)
      #expect(FailureKind(error) == .network || error.code == .unexpectedResponse)
      return error
    }
  }

  @Test("A certificate of an own authority is trusted if the caller says so, and has its code otherwise")
  func anOwnAuthority() async throws {
    let (process, port) = try await authority.server(named: "IP:127.0.0.1")
    defer { process.kill() }
    #expect(try await failure(at: "https://127.0.0.1:\(port)", trusting: authority.certificate) == nil)
    let error = try await failure(at: "https://127.0.0.1:\(port)", trusting: nil)
    #expect(error?.code == .untrusted)
    #expect(error?.hint?.contains("trust the certificate of the authority") == true)
  }

  @Test("An expired certificate has its code, whether its authority is trusted or not") func anExpiredOne() async throws
  {
    let (process, port) = try await authority.server(named: "IP:127.0.0.1", days: -1)
    defer { process.kill() }
    for trusted in [authority.certificate, nil] {
      let error = try await failure(at: "https://127.0.0.1:\(port)", trusting: trusted)
      #expect(error?.code == .certificateExpired)
      #expect(error?.hint?.contains("renew it") == true)
    }
  }

  @Test("A certificate for another name has its code") func anotherName() async throws {
    let (process, port) = try await authority.server(named: "DNS:store.example")
    defer { process.kill() }
    for place in ["127.0.0.1", "localhost"] {
      let error = try await failure(at: "https://\(place):\(port)", trusting: authority.certificate)
      #expect(error?.code == .wrongHostName)
    }
  }

  @Test("A server without TLS, and one with it at an address without, have their codes") func theOtherProtocol()
    async throws
  {
    let plain = try LineServer(saying: Array("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".utf8))
    #expect(try await failure(at: "https://127.0.0.1:\(plain.port)", trusting: nil)?.code == .notTLS)
    // The alert of a server that did not expect HTTP.
    let secured = try LineServer(saying: [0x15, 3, 1, 0, 2, 2, 70])
    let error = try await failure(at: "http://127.0.0.1:\(secured.port)", trusting: nil)
    #expect(error?.code == .unexpectedResponse)
    #expect(error?.hint?.contains("https://") == true)
  }

  /// OpenSSL's server closes the connection without an alert.
  @Test("At a server with TLS, an address without it has the advice to use https") func plainAtTLS() async throws {
    let (process, port) = try await authority.server(named: "IP:127.0.0.1")
    defer { process.kill() }
    let error = try await failure(at: "http://127.0.0.1:\(port)", trusting: nil)
    #expect(error?.code == .unexpectedResponse)
    #expect(error?.hint?.contains("https://") == true)
  }

  @Test("A file without certificates is named, with what is wrong with it")
  func uselessFilesOfCertificates() throws {
    let folder = authority.folder
    try Data().write(to: URL(filePath: folder + "/empty.pem"))
    try Data("junk\n".utf8).write(to: URL(filePath: folder + "/junk.pem"))
    for (name, reason) in [
      ("absent.pem", "no such file or directory"), ("", "it is a folder"), ("empty.pem", "the file is empty"),
      ("junk.pem", "the file contains no certificates in the form PEM, or damaged ones"),
    ] {
      let path = folder + "/" + name
      let error = #expect(throws: UploadsError.self) { try S3HTTPTransport(certificates: path) }
      #expect(error?.code == .invalidArgument)
      #expect(error?.message == "read the certificates in \(path): \(reason)")
    }
  }

  @Test("A server that hangs up during the handshake has a code") func noAgreement() async throws {
    let silent = try LineServer(saying: [])
    let error = try await failure(at: "https://127.0.0.1:\(silent.port)", trusting: nil)
    #expect([.noTLS, .interrupted].contains(error?.code))
  }
}

/// Says one thing to whoever has sent something, and hangs up.
private final class LineServer: Sendable {
  let port: UInt16
  private let listener: Int32

  init(saying answer: [UInt8]) throws {
    let listener = LoopbackPort.makeSocket()
    port = try LoopbackPort.free()
    guard LoopbackPort.withAddress(port, { bind(listener, $0, $1) }) == 0, listen(listener, 8) == 0 else {
      throw POSIXError(.EADDRINUSE)
    }
    self.listener = listener
    try startThread(named: "line") {
      while case let connection = accept(listener, nil, nil), connection >= 0 {
        var bytes = [UInt8](repeating: 0, count: 4096)
        _ = recv(connection, &bytes, bytes.count, 0)
        _ = answer.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        close(connection)
      }
      close(listener)
    }
  }

  deinit { shutdown(listener, Int32(SHUT_RDWR)) }
}
