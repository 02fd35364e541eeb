import Foundation
import SystemTesting
import Timing
import UploadsHTTP

@testable import Uploads

/// AWS as far as it can be had without an account: moto, whose signatures are checked by AWS's own library and whose
/// accounts may do what their policies say. It keeps objects in memory.
struct Moto: Sendable {
  static let bucket = "recordings"
  private static let region = "eu-central-1"
  private static let program = SeaweedFS.peer("moto_server")
  static var isThere: Bool { FileManager.default.isExecutableFile(atPath: program) }

  private let process: ChildProcess
  private let port: UInt16
  /// Somebody who may do what the documentation has an account do.
  let ada: S3Credentials

  /// Begins one, with a bucket and an account.
  /// - Parameter policy: what the account may do.
  init(policy: String) async throws {
    port = try LoopbackPort.free()
    let command = UnprivilegedCommand(Self.program, ["-H", "127.0.0.1", "-p", "\(port)"])
    process = try ChildProcess(command.program, command.arguments, output: .discarded, errors: .discarded)
    let transport = try Transport(port: port)
    try await eventually("moto responds", within: .seconds(120)) {
      do {
        _ = try await transport.send(S3Request("GET", scheme: "http", authority: "moto", path: "/moto-api/data.json"))
        return true
      } catch is UploadsError {
        return false
      }
    }
    let root = S3Credentials(accessKey: "ROOT", secretKey: "the root's secret")
    func iam(_ action: String, _ fields: [String: String]) async throws -> XMLElement {
      try await transport.call("iam", action, fields.merging(["Version": "2010-05-08"]) { $1 }, as: root)
    }
    _ = try await iam("CreateUser", ["UserName": "ada"])
    _ = try await iam("PutUserPolicy", ["UserName": "ada", "PolicyName": "uploads", "PolicyDocument": policy])
    let key = try await iam("CreateAccessKey", ["UserName": "ada"]).all("CreateAccessKeyResult").first?
      .all("AccessKey").first
    guard let name = key?["AccessKeyId"], let secret = key?["SecretAccessKey"] else {
      throw UploadsError(.unexpectedResponse, "moto makes no access key")
    }
    ada = S3Credentials(accessKey: name, secretKey: secret)
    func allowed(_ whom: String) -> String {
      #"{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", \#(whom)}]}"#
    }
    _ = try await iam(
      "CreateRole", ["RoleName": "uploader", "AssumeRolePolicyDocument": allowed(#""Principal": {"AWS": "*"}"#)])
    _ = try await iam("PutRolePolicy", ["RoleName": "uploader", "PolicyName": "uploads", "PolicyDocument": policy])
    _ = try await iam(
      "PutUserPolicy", ["UserName": "ada", "PolicyName": "role", "PolicyDocument": allowed(#""Resource": "*""#)])
    let place = "<LocationConstraint>\(Self.region)</LocationConstraint>"
    var request = S3Request(
      "PUT", scheme: "http", authority: "\(Self.bucket).s3.\(Self.region).amazonaws.com")
    request.body = .bytes(Data("<CreateBucketConfiguration>\(place)</CreateBucketConfiguration>".utf8))
    RequestSigner(root, region: Self.region)
      .sign(&request, payload: RequestSigner.unsignedPayload, at: WallClock.unixMilliseconds() / 1000)
    _ = try await transport.send(request)
    // From now on who they are and what they may is looked at.
    var reset = S3Request(
      "POST", scheme: "http", authority: "moto", path: "/moto-api/reset-auth",
      headers: [("Content-Type", "text/plain")])
    reset.body = .bytes(Data("0".utf8))
    _ = try await transport.send(reset)
  }

  /// Where programs reach it, which put the bucket into the path.
  var address: String { "http://127.0.0.1:\(port)" }

  /// A client that addresses it as AWS.
  func client(unixMs: @escaping @Sendable () -> Int64 = WallClock.unixMilliseconds) throws -> S3Client {
    S3Client(
      try S3Endpoint("http://s3.\(Self.region).amazonaws.com", region: Self.region, addressing: .virtualHost),
      transport: try Transport(port: port), unixMs: unixMs)
  }

  /// What the token service of AWS gives Ada for a while.
  func session() async throws -> S3Credentials {
    let answer = try await Transport(port: port).call(
      "sts", "AssumeRole",
      [
        "Version": "2011-06-15", "RoleArn": "arn:aws:iam::123456789012:role/uploader", "RoleSessionName": "test",
        "DurationSeconds": "900",
      ], as: ada)
    guard let session = S3Credentials(assumed: answer) else {
      throw UploadsError(.unexpectedResponse, "AssumeRole was answered with \(answer.name)")
    }
    return session
  }

  /// Ends it.
  func end() { process.kill() }

  /// Takes what is meant for AWS to a port of this machine, as an entry in /etc/hosts would.
  private struct Transport: S3Transport {
    private let port: UInt16
    private let carrier: S3HTTPTransport

    init(port: UInt16) throws {
      self.port = port
      carrier = try S3HTTPTransport()
    }

    func send(_ request: S3Request, _ progress: S3Progress) async throws -> S3Response {
      var request = request
      request.headers.append(("Host", request.authority))
      request.authority = "127.0.0.1:\(port)"
      return try await carrier.send(request, progress)
    }

    func send(_ request: S3Request) async throws -> S3Response {
      let answer = try await send(request, S3Progress())
      guard (200..<300).contains(answer.status) else {
        let text = String(decoding: answer.body, as: UTF8.self)
        throw UploadsError(.unexpectedResponse, "\(request.path) was answered with \(answer.status): \(text)")
      }
      return answer
    }

    /// Calls a service that takes forms.
    func call(
      _ service: String, _ action: String, _ fields: [String: String], as who: S3Credentials
    ) async throws -> XMLElement {
      let form = fields.merging(["Action": action]) { $1 }.map { "\($0)=\($1.percentEncoded())" }.joined(separator: "&")
      var request = S3Request(
        "POST", scheme: "http", authority: "\(service).amazonaws.com",
        headers: [("Content-Type", "application/x-www-form-urlencoded")])
      request.body = .bytes(Data(form.utf8))
      RequestSigner(who, region: "us-east-1", service: service)
        .sign(&request, payload: Digests(of: Data(form.utf8)).sha256.hex, at: WallClock.unixMilliseconds() / 1000)
      guard let root = XMLElement(try await send(request).body) else {
        throw UploadsError(.unexpectedResponse, "\(action) was not answered with XML")
      }
      return root
    }
  }
}

extension S3Credentials {
  /// What AssumeRole was answered with.
  init?(assumed answer: XMLElement?) {
    let result = answer?.all("AssumeRoleResult").first?.all("Credentials").first
    guard let result, let key = result["AccessKeyId"], let secret = result["SecretAccessKey"],
      let token = result["SessionToken"], let end = result["Expiration"].flatMap(S3Client.milliseconds)
    else { return nil }
    self.init(accessKey: key, secretKey: secret, sessionToken: token, expiresAtMs: end)
  }
}
