import Testing

@testable import Uploads

/// When credentials are fetched.
@Suite struct CredentialsKeeperTests {
  private static let wall: Int64 = 1_700_000_000_000

  private func keeper(lasting seconds: Int64?, refused: Int = -1) -> CredentialsKeeper {
    var keeper = CredentialsKeeper(StaticCredentials(MemoryServer.credentials))
    var credentials = MemoryServer.credentials
    credentials.expiresAtMs = seconds.map { Self.wall + $0 * 1000 }
    keeper.take(.success(credentials), refused: refused, at: .zero, unixMs: Self.wall)
    return keeper
  }

  /// Five minutes before they end, or a tenth of their time if that is shorter.
  @Test(arguments: [(3600, 3300), (900, 810), (60, 54), (5, 4.5), (0, 1), (-100, 1)] as [(Int64, Double)])
  func othersAreFetchedBeforeTheyEnd(lasting: Int64, due: Double) {
    var keeper = keeper(lasting: lasting)
    #expect(keeper.due == .seconds(due))
    let tooEarly = keeper.takeDue(at: .seconds(due) - .milliseconds(1))
    #expect(!tooEarly)
    let isDue = keeper.takeDue(at: .seconds(due))
    // Not by two at a time.
    let again = keeper.takeDue(at: .seconds(due))
    #expect(isDue && !again && keeper.isFetching)
  }

  @Test func whatDoesNotEndIsFetchedWhenSomebodyAsks() {
    var keeper = keeper(lasting: nil)
    #expect(keeper.due == nil && keeper.generation == 1)
    // These are not the ones that the server refused.
    keeper.expire(0, at: .seconds(7))
    #expect(keeper.due == nil)
    keeper.expire(1, at: .seconds(7))
    let isDue = keeper.takeDue(at: .seconds(7))
    #expect(isDue)
  }

  /// Every half minute while there are none, and while the source has only those that the server refuses.
  @Test func whatIsMissingIsAskedForAgain() {
    var keeper = keeper(lasting: 3600, refused: 1)
    #expect(keeper.due == .seconds(30))
    keeper.take(
      .failure(UploadsError(.unreachable, "nothing answers")), refused: 0, at: .seconds(60), unixMs: Self.wall)
    #expect(keeper.due == .seconds(90) && keeper.problem?.contains("nothing answers") == true)
    #expect(keeper.current != nil && keeper.generation == 1)
  }
}
