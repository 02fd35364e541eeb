/// A server that items were queued for, with what a client needs to reach it and what it has shown.
public struct UploadServer: Sendable, Hashable {
  /// The behaviour of a server that is asked to create an object only if there is none (`If-None-Match`).
  public enum Condition: String, Sendable, Hashable, CaseIterable {
    /// The server has not been asked yet.
    case unknown
    /// The server refuses to replace an object.
    case kept
    /// The server ignores the condition: another program that writes the same key at the same instant may be replaced.
    case ignored
    /// The server refuses the condition as not implemented, with the same consequence.
    case refused
  }

  /// The URL of the server, as ``S3Endpoint/url`` has it.
  public var endpoint: String
  /// The region that requests are signed for.
  public var region: String
  /// The position of a bucket's name in URLs.
  public var addressing: S3Endpoint.Addressing
  /// The behaviour under the condition that no object exists, beside the request that creates an object.
  public var condition: Condition
  /// The behaviour under the same condition beside the request that completes an object from its parts: some servers keep
  /// it on one of the two ways alone.
  public var completion: Condition

  /// Creates the description of a server that has shown nothing yet.
  public init(_ endpoint: S3Endpoint) {
    self.endpoint = endpoint.url
    region = endpoint.region
    addressing = endpoint.addressing
    condition = .unknown
    completion = .unknown
  }

  /// The limitation of the server for display; `nil` if it has shown none.
  public var remark: String? {
    let objects: String
    switch (condition.mayBeKept, completion.mayBeKept) {
    case (true, true): return nil
    case (false, true): objects = " for objects in one request"
    case (true, false): objects = " for objects in parts"
    case (false, false): objects = ""
    }
    return "\(endpoint) does not keep the condition If-None-Match\(objects): an object that another program writes "
      + "under the same key in the same instant may be replaced"
  }
}

extension UploadServer.Condition {
  /// A Boolean value that indicates whether the server has not shown that it ignores or refuses the condition.
  var mayBeKept: Bool { [.unknown, .kept].contains(self) }
}
