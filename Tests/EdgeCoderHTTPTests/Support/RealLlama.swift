import Foundation
import Testing

/// llama.cpp's own server with a tiny model of its own making.
enum RealLlama {
  /// - Parameter sees: A Boolean value that indicates whether the model takes pictures.
  static func run<Value>(
    context: Int = 65536, sees: Bool = false, _ test: (PythonScript, String) async throws -> Value
  ) async throws -> Value {
    let folder = FileManager.default.temporaryDirectory.appending(path: "tiny-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
    let model = folder.appending(path: "tiny.gguf").path
    let eyes = sees ? folder.appending(path: "eyes.gguf").path : ""
    let server = try PythonScript(
      "llama_server.py", writing: folder.path, errors: .discarded, model, "\(context)", eyes)
    defer { server.kill() }
    let address = try await server.firstLine()
    try #require(address.hasPrefix("http://127.0.0.1:"))
    return try await test(server, address)
  }
}
