import EdgeCoder
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging

@testable import EdgeCoderHTTP

/// Runs the API in front of a fake service, in memory or on a loopback socket.
func withAPI<Value: Sendable>(
  _ service: any InferenceService, _ setup: TestingSetup = .router,
  configuration: HTTPAPI.Configuration = HTTPAPI.Configuration(port: 0),
  logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
  _ test: @Sendable (any TestClientProtocol) async throws -> Value
) async throws -> Value {
  try await HTTPAPI(service: service, configuration: configuration, logger: logger).application().test(setup, test)
}

extension TestClientProtocol {
  /// `POST`s some JSON.
  func post(_ path: String, _ json: String, headers: HTTPFields = [:]) async throws -> TestResponse {
    try await executeRequest(uri: path, method: .post, headers: headers, body: ByteBuffer(string: json))
  }

  /// Any other request.
  func request(
    _ method: HTTPRequest.Method, _ path: String, headers: HTTPFields = [:]
  ) async throws -> TestResponse {
    try await executeRequest(uri: path, method: method, headers: headers, body: nil)
  }
}

extension TestResponse {
  /// The message of an error, in any family's shape.
  func errorText() throws -> String? {
    let error = try json()["error"]
    return error as? String ?? (error as? [String: Any])?["message"] as? String
  }
}
