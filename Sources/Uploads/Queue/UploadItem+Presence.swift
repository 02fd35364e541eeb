extension S3Client {
  /// Returns whether the server has the bytes of an item of a queue.
  /// - Throws: ``UploadsError``, as ``presence(of:plan:bucket:key:credentials:)``; `CancellationError`.
  public func presence(of item: UploadItem, credentials: S3Credentials) async throws -> ObjectPresence {
    let request = item.request
    return try await presence(
      of: request.content, bucket: request.bucket, key: request.key, credentials: credentials)
  }
}
