import Foundation
import SystemTesting
import Testing
import UploadsTesting

@testable import Uploads

/// The files and variables of AWS's tools, beside AWS's own library for Python, which moto brings.
@Suite(
  "The settings of AWS's tools", .enabled(if: Moto.isThere, "needs boto3: scripts/python-peers"),
  .timeLimit(.minutes(5)))
struct AWSSettingsTests {
  private let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private static let config = """
    # a remark
    [default]
    region = eu-central-1
    s3 =
      addressing_style = path
    [profile  work]
    region=eu-north-1
    endpoint_url = https://all.example
    services = own
    ca_bundle = /etc/own.pem
    aws_access_key_id = CONFIG
    aws_secret_access_key = secret of config
    [services own]
    s3 =
      endpoint_url = https://store.example:9000
    dynamodb =
      endpoint_url = https://tables.example
    [profile "two words"]
    endpoint_url = http://127.0.0.1:8333
    s3 =
        addressing_style = virtual
    """
  private static let credentials = """
    [default]
    aws_access_key_id = DEFAULT
    aws_secret_access_key = secret of default
    ; a remark
    [two words]
    AWS_ACCESS_KEY_ID=TWO
    aws_secret_access_key =secret = of two
    aws_session_token = token
    """
  private static let keys = ["AWS_ACCESS_KEY_ID": "VARIABLE", "AWS_SECRET_ACCESS_KEY": "secret of a variable"]

  private struct Read: Codable, Equatable {
    var region: String?
    var endpoint: String?
    var style: String?
    var key: String
    var secret: String
    var token: String?
  }

  private static let script = """
    import json, sys, boto3
    session = boto3.Session(profile_name=sys.argv[1] or None)
    client = session.client("s3")
    found = session.get_credentials()
    named = client.meta.endpoint_url
    style = (client.meta.config.s3 or {}).get("addressing_style")
    print(json.dumps({"region": session.region_name, "endpoint": None if "amazonaws" in named else named,
      "style": style, "key": found.access_key, "secret": found.secret_key, "token": found.token}))
    """

  @Test(
    "They are read as AWS's library reads them",
    arguments: [
      ("", [:]), ("", ["AWS_PROFILE": "work"]), ("", ["AWS_PROFILE": "two words", "AWS_DEFAULT_REGION": "us-west-2"]),
      ("work", [:]), ("work", keys), ("", keys), ("", keys.merging(["AWS_PROFILE": "work"]) { $1 }),
      ("", keys.merging(["AWS_SESSION_TOKEN": "t", "AWS_DEFAULT_REGION": "eu-west-1"]) { $1 }),
      ("", ["AWS_DEFAULT_PROFILE": "work"]), ("", ["AWS_ENDPOINT_URL": "http://all:1"]),
      ("work", ["AWS_ENDPOINT_URL": "http://all:1"]),
      ("work", ["AWS_ENDPOINT_URL": "http://all:1", "AWS_ENDPOINT_URL_S3": "http://s3:1"]),
      ("work", ["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true", "AWS_ENDPOINT_URL": "http://all:1"]),
    ] as [(String, [String: String])])
  func asAWSReadsThem(_ profile: String, _ variables: [String: String]) async throws {
    try FileManager.default.createDirectory(atPath: folder.path + "/.aws", withIntermediateDirectories: true)
    try Data(Self.config.utf8).write(to: URL(filePath: folder.path + "/.aws/config"))
    try Data(Self.credentials.utf8).write(to: URL(filePath: folder.path + "/.aws/credentials"))
    let environment = variables.merging(["HOME": folder.path]) { $1 }
    let python = try ChildProcess(
      SeaweedFS.peer("python3"), ["-c", Self.script, profile], environment: environment, errors: .kept)
    let outcome = await python.outcome()
    try #require(outcome.status == 0, "\(outcome.errors)")
    let theirs = try JSONDecoder().decode(Read.self, from: Data(outcome.output.utf8))
    let settings = try AWSSettings(environment: environment, profile: profile.isEmpty ? nil : profile)
    let found = try await settings.credentials(in: nil, isProfileNamed: !profile.isEmpty).credentials()
    let style = settings.addressing.map { $0 == .path ? "path" : "virtual" }
    let ours = Read(
      region: settings.region, endpoint: settings.endpointURL, style: style, key: found.accessKey,
      secret: found.secretKey, token: found.sessionToken)
    #expect(ours == theirs)
  }

  @Test("Certificates to trust come from the variable or the profile, and odd profiles are explained")
  func whatElseThereIs() async throws {
    let path = folder.path + "/config"
    let odd = "\n[profile role]\nrole_arn = arn:aws:iam::1:role/x\nsource_profile = default\n"
    try Data((Self.config + odd).utf8).write(to: URL(filePath: path))
    let settings = try AWSSettings(environment: ["AWS_CONFIG_FILE": path], profile: "work")
    #expect(settings.certificates == "/etc/own.pem")
    let other = try AWSSettings(environment: ["AWS_CONFIG_FILE": path, "AWS_CA_BUNDLE": "/v"], profile: "work")
    #expect(other.certificates == "/v")
    let provider = FileCredentials(path: folder.path + "/none", profile: "role", configuration: path)
    let error = await #expect(throws: UploadsError.self) { try await provider.credentials() }
    #expect(error?.hint?.contains("role_arn") == true)
  }
}
