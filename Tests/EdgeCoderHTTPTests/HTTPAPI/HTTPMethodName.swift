import HTTPTypes

/// A request method as a test argument.
enum HTTPMethodName: String, CaseIterable, Sendable {
  case get, post, put, delete, head, options, patch, custom

  var method: HTTPRequest.Method { HTTPRequest.Method(rawValue: rawValue.uppercased()) ?? .get }
}
