import ErrorReporting
import Foundation
import Testing

@testable import edgeblue

/// Texts and errors that quote a secret.
@Suite("Quoted secrets") struct QuotedSecretAttacks {
  private struct Telltale: Error, CustomStringConvertible, LocalizedError {
    let description = "invalid header: MARKED"
    var errorDescription: String? { description }
  }

  @Test(
    "A secret is removed from a text wherever it is",
    arguments: [
      ("MARKED", "•••"), ("xMARKEDx", "x•••x"), ("MARKED\u{308}", "•••\u{308}"), ("MMARKEDMARKE", "M•••MARKE"),
      (#"{"a":"MA\/RK"}"#, #"{"a":"•••"}"#), ("MARK", "MARK"), ("", ""),
    ])
  func secretsAreRemoved(text: String, clean: String) {
    let secrets = KnownSecrets(["MARKED", "MA/RK", nil, "", "abc"])
    #expect(secrets.removed(from: text) == clean)
    #expect(secrets.removed(from: [UInt8](text.utf8)) == [UInt8](clean.utf8))
    #expect(secrets.removed(from: [0xff, 0x4d] + [UInt8]("abc".utf8)) == [0xff, 0x4d] + [UInt8]("abc".utf8))
  }

  @Test("The text of an unknown error is not shown") func unknownErrorsAreNotQuoted() {
    #expect(Telltale().safeText == "an error of the type Telltale")
    #expect(Failure(Telltale()).message == "an error of the type Telltale")
    #expect(CancellationError().safeText == "cancelled")
  }
}
