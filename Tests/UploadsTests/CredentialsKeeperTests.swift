import Testing
import UploadsTesting

@testable import Uploads

/// The times at which credentials are fetched.
@Suite("The state machine of an account's credentials") struct CredentialsKeeperTests {
  private static let wall: Int64 = 1_700_000_000_000

  private func account(lasting seconds: Int64?, refused: Int? = nil) -> AccountCredentials {
    var account = AccountCredentials(StaticCredentials(MemoryServer.credentials))
    #expect(account.handle(.tick, at: .zero) == [.fetch])
    var credentials = MemoryServer.credentials
    credentials.expiresAtMs = seconds.map { Self.wall + $0 * 1000 }
    #expect(account.handle(.fetched(.success(credentials), refused: refused, unixMs: Self.wall), at: .zero) == [])
    return account
  }

  /// Five minutes before they expire, or a tenth of a shorter lifetime.
  @Test(
    "Credentials are replaced before they expire, by one fetch at a time",
    arguments: [(3600, 3300), (900, 810), (60, 54), (5, 4.5), (0, 1), (-100, 1)] as [(Int64, Double)])
  func othersAreFetchedBeforeTheyEnd(lasting: Int64, due: Double) {
    var account = account(lasting: lasting)
    #expect(account.due == .seconds(due))
    #expect(account.handle(.tick, at: .seconds(due) - .milliseconds(1)) == [])
    #expect(account.handle(.tick, at: .seconds(due)) == [.fetch])
    #expect(account.handle(.tick, at: .seconds(due)) == [])
    #expect(account.due == nil)
  }

  @Test("Credentials that do not expire are fetched again when the server refuses them")
  func whatDoesNotEndIsFetchedWhenSomebodyAsks() {
    var account = account(lasting: nil)
    #expect(account.due == nil)
    #expect(account.generation == 1)
    // The server refused an earlier set.
    #expect(account.handle(.refused(generation: 0), at: .seconds(7)) == [])
    #expect(account.due == nil)
    #expect(account.handle(.refused(generation: 1), at: .seconds(7)) == [])
    #expect(account.handle(.tick, at: .seconds(7)) == [.fetch])
  }

  @Test("Missing and refused credentials are fetched every 30 s")
  func whatIsMissingIsAskedForAgain() {
    var account = account(lasting: 3600, refused: 1)
    #expect(account.due == .seconds(30))
    let failure = UploadsError(.unreachable, "nothing answers")
    #expect(account.handle(.fetched(.failure(failure), refused: nil, unixMs: Self.wall), at: .seconds(60)) == [])
    #expect(account.due == .seconds(90))
    #expect(account.problem?.contains("nothing answers") == true)
    #expect(account.current != nil)
    #expect(account.generation == 1)
  }

  /// The retries of items, 15 min later, must not end the look for newer ones.
  @Test("Credentials that are refused again are fetched again, every 30 s at most") func refusedAgain() {
    var account = account(lasting: nil)
    let same = Result<S3Credentials, UploadsError>.success(MemoryServer.credentials)
    for (second, due) in [(7, 7), (8, 37), (900, 900), (901, 930)] {
      #expect(account.handle(.refused(generation: 1), at: .seconds(second)) == [])
      #expect(account.due == .seconds(due), "\(second)")
      #expect(account.handle(.tick, at: .seconds(due)) == [.fetch])
      // The machine had begun the next attempt meanwhile, so that nothing seems to be refused.
      #expect(account.handle(.fetched(same, refused: nil, unixMs: Self.wall), at: .seconds(due)) == [])
      #expect(account.due == nil)
    }
  }
}
