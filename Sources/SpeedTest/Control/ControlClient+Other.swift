package import FoundationEssentials
package import JSONValues

extension ControlClient {
  /// Posts a document of another kind of measurement, with the members that every request has.
  ///
  /// The identifier of this client is requested first, if the server has assigned none yet.
  /// - Parameters:
  ///   - path: The route of the server.
  ///   - document: A JSON object.
  ///   - acceptsTerms: Whether the user accepts the server's terms and conditions, whatever their version.
  /// - Returns: The reply, whatever its status.
  /// - Throws: ``SpeedTestError``: as ``settings(acceptsTerms:)`` and the transport; `CancellationError`.
  package func post(_ path: String, adding document: Data, acceptsTerms: Bool) async throws -> ControlReply {
    var known = try store.identity(at: address).client
    if known == nil { known = try await settings(acceptsTerms: acceptsTerms).client }
    var members = device.members(client: known)
    for member in LenientJSON(parsing: document)?.members ?? [] { members[member.name] = member.value }
    members["client_uuid"] = known.map { .string($0) }
    return try await transport.post(address + path, body: Data(JSONValue.object(members).encoded))
  }
}
