import Testing
import Uploads
import UploadsHTTP

/// Faults whose errors would show a secret.
@Suite("Secrets in errors", .timeLimit(.minutes(5))) struct SecretAttacks {
  @Test("A session token that no header may contain is not part of the error") func anInvalidTokenStaysSecret()
    async throws
  {
    let client = S3Client(try S3Endpoint("http://127.0.0.1:9"), transport: try S3HTTPTransport())
    let credentials = S3Credentials(accessKey: "KEY", secretKey: "MARKED-KEY", sessionToken: "MARKED\u{1}")
    let error = await #expect(throws: UploadsError.self) {
      try await client.head(bucket: "bucket", key: "key", credentials: credentials)
    }
    let text = error.map { "\($0) \(String(reflecting: $0))" } ?? ""
    #expect(!text.isEmpty)
    #expect(!text.contains("MARKED"))
  }
}
