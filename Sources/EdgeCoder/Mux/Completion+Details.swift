import FoundationEssentials
import Timing

// The details of an END of the v2 mux; `docs/v2-mux.md` has the keys.
extension Completion {
  /// The limit on the details, in bytes.
  static let detailsLimit = 256
  /// The limit on the numbers of cached and reasoning tokens, which no context has; larger ones are left out.
  private static let detailLimit = 100_000_000

  /// The completion as a JSON object, at most ``detailsLimit`` bytes.
  var details: [UInt8] {
    var writer = JSONObjectWriter(reserving: Self.detailsLimit)
    writer.add("reason", reason.rawValue)
    if let promptTokens { writer.add("promptTokens", promptTokens) }
    if let replyTokens { writer.add("replyTokens", replyTokens) }
    if let loadTime { writer.add("loadNs", Int(clamping: loadTime.wholeNanoseconds)) }
    if let promptTime { writer.add("promptNs", Int(clamping: promptTime.wholeNanoseconds)) }
    if let replyTime { writer.add("replyNs", Int(clamping: replyTime.wholeNanoseconds)) }
    // With the largest of all other numbers these still fit.
    if let cachedTokens, cachedTokens < Self.detailLimit { writer.add("cachedTokens", cachedTokens) }
    if let reasoningTokens, reasoningTokens < Self.detailLimit { writer.add("reasoningTokens", reasoningTokens) }
    return writer.finish()
  }

  /// Reads a completion from a JSON object.
  ///
  /// A reason that is missing or no word counts as `stop`; a number that is missing or negative, as unknown.
  /// - Returns: `nil` if the bytes are no such object.
  init?(details: [UInt8]) {
    let fields: Fields
    do {
      fields = try JSONDecoder().decode(Fields.self, from: Data(details))
    } catch {
      return nil
    }
    self.init(fields.reason.flatMap(Reason.init(rawValue:)) ?? .stop)
    func count(_ value: Int?) -> Int? { value.flatMap { $0 < 0 ? nil : $0 } }
    promptTokens = count(fields.promptTokens)
    replyTokens = count(fields.replyTokens)
    cachedTokens = count(fields.cachedTokens)
    reasoningTokens = count(fields.reasoningTokens)
    loadTime = count(fields.loadNs).map { .nanoseconds($0) }
    promptTime = count(fields.promptNs).map { .nanoseconds($0) }
    replyTime = count(fields.replyNs).map { .nanoseconds($0) }
  }

  private struct Fields: Decodable {
    let reason: String?
    let promptTokens: Int?
    let replyTokens: Int?
    let cachedTokens: Int?
    let reasoningTokens: Int?
    let loadNs: Int?
    let promptNs: Int?
    let replyNs: Int?
  }
}
