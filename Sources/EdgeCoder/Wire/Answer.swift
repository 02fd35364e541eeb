/// The outcome of one prompt: the text of the model, or a refusal with its reason.
///
/// ```swift
/// let answer = Answer.refusal(.init(.noModel, "no model loaded"))
/// switch answer {
/// case .text(let text): print(text)
/// case .refusal(let refusal): print("refused:", refusal.reason)
/// }
/// ```
public enum Answer: Sendable, Hashable {
  /// The text that the model produced.
  case text(String)
  /// A refusal or a failure, with its reason.
  case refusal(Refusal)

  /// The reason why a prompt has no text as its answer.
  public struct Refusal: Sendable, Hashable {
    /// The kinds of refusals that a phone distinguishes.
    public enum Kind: Sendable, Hashable, CaseIterable {
      /// The engine failed or returned nothing. JSON replies do not carry the kind; see ``Answer/init(output:ok:)``.
      case failed
      /// No model is ready to answer prompts.
      case noModel
      /// Too many requests are queued or were sent.
      case busy
      /// The central cancelled the request before its end.
      case cancelled
      /// The request is malformed, for example too long.
      case refused
      /// The prompt does not fit into the context of the model.
      case contextExceeded
      /// The phone or its model does not have what the request asks for, for example tools.
      case unsupported
    }

    /// The kind of the refusal, for programs.
    public var kind: Kind
    /// The reason for display, without brackets around it; empty if the phone sent none.
    public var reason: String

    /// Creates a refusal from its kind and its reason.
    public init(_ kind: Kind, _ reason: String) {
      self.kind = kind
      self.reason = reason
    }
  }

  /// The text of the model; `nil` for a refusal.
  public var text: String? {
    if case .text(let text) = self { text } else { nil }
  }

  /// The refusal; `nil` when the answer is a text.
  public var refusal: Refusal? {
    if case .refusal(let refusal) = self { refusal } else { nil }
  }
}

// The JSON messages have one field for both cases, so a reason is put in brackets there, and nowhere else.
extension Answer {
  /// Creates an answer from the fields `output` and `ok` of a JSON message.
  ///
  /// Brackets around a reason are removed. A reason that begins with `busy` or `no model` has the kind of that name, as
  /// the phones of EdgeBlue and the phone application send it; any other one is a failure.
  /// - Parameters:
  ///   - output: The text, or the reason in brackets.
  ///   - ok: A Boolean value that indicates whether `output` is the text of the model.
  public init(output: String, ok: Bool) {
    guard !ok else {
      self = .text(output)
      return
    }
    let hasBrackets = output.hasPrefix("[") && output.hasSuffix("]") && output.count > 1
    let reason = hasBrackets ? String(output.dropFirst().dropLast()) : output
    let kind: Refusal.Kind = reason.hasPrefix("busy") ? .busy : reason.hasPrefix("no model") ? .noModel : .failed
    self = .refusal(Refusal(kind, reason))
  }

  /// The field `output` of a JSON message: the text, or the reason in brackets; empty for a refusal without a reason.
  public var output: String {
    switch self {
    case .text(let text): text
    case .refusal(let refusal): refusal.reason.isEmpty ? "" : "[\(refusal.reason)]"
    }
  }

  /// The field `ok` of a JSON message: a Boolean value that indicates whether the answer is a text.
  public var ok: Bool { text != nil }
}
