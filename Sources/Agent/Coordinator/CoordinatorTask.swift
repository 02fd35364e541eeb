import FoundationEssentials

/// A piece of work of the coordinator's.
public struct CoordinatorTask: Sendable, Hashable {
  /// Its number at the coordinator.
  public var id: String
  /// What it is a part of.
  public var taskID: String
  /// What the model is asked.
  public var input: String
  /// How long it may take: 1 s to 10 min.
  public var timeLimit: Duration

  /// Makes a task, for tests of what answers one.
  public init(id: String, taskID: String, input: String, timeLimit: Duration = defaultTimeLimit) {
    self.id = id
    self.taskID = taskID
    self.input = input
    self.timeLimit = timeLimit
  }

  /// How long one may take that does not say: 60 s.
  public static let defaultTimeLimit: Duration = .seconds(60)
}

/// `POST /pull`.
struct PullRequest: Encodable, Sendable, Hashable {
  var agentId: String
}

/// What a coordinator says to one that asks for work.
enum PullReply: Decodable, Sendable, Hashable {
  /// It has some.
  case task(CoordinatorTask)
  /// It has none.
  case nothing
  /// It has some this machine cannot do: the reason, and the task's ids, when it is this machine's already.
  case unusable(reason: String, claim: Claim?)
  /// The machine is to save power, and when to ask again, if the coordinator says.
  case deferred(reason: String, for: Duration?)
  /// The machine gets none until somebody forgives it.
  case blocked(reason: String)

  /// Whose a task is.
  struct Claim: Sendable, Hashable {
    var id: String
    var taskID: String
  }

  private enum Key: CodingKey { case subtask, blocked, powerDeferred, sandboxRequired, envelope, reason, deferMs }
  private enum TaskKey: CodingKey { case id, taskId, input, timeoutMs }

  init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: Key.self)
    let reason = fields.text(.reason)
    if fields.flag(.blocked) {
      self = .blocked(reason: reason ?? "blocked")
    } else if fields.flag(.powerDeferred) {
      let milliseconds = (try? fields.decode(Double.self, forKey: .deferMs)).map { min(max($0, 0), 600_000) }
      self = .deferred(reason: reason ?? "power_deferred", for: milliseconds.map { .milliseconds($0) })
    } else if fields.flag(.sandboxRequired) {
      self = .unusable(reason: "sandbox_required", claim: nil)
    } else if (try? fields.decodeNil(forKey: .envelope)) == false {
      self = .unusable(reason: "encrypted_task", claim: nil)
    } else if try fields.decodeNil(forKey: .subtask) {
      self = .nothing
    } else {
      self = try Self.task(try fields.nestedContainer(keyedBy: TaskKey.self, forKey: .subtask))
    }
  }

  private static func task(_ fields: KeyedDecodingContainer<TaskKey>) throws -> PullReply {
    let (id, taskID) = (try fields.decode(String.self, forKey: .id), try fields.decode(String.self, forKey: .taskId))
    guard let input = fields.text(.input) else {
      return .unusable(reason: "task_without_input", claim: Claim(id: id, taskID: taskID))
    }
    let milliseconds = (try? fields.decode(Double.self, forKey: .timeoutMs)).map { min(max($0, 1000), 600_000) }
    let limit = milliseconds.map { Duration.milliseconds($0) } ?? CoordinatorTask.defaultTimeLimit
    return .task(CoordinatorTask(id: id, taskID: taskID, input: input, timeLimit: limit))
  }
}

/// `POST /result`: also how it is kept until the coordinator has it.
struct ResultRequest: Codable, Sendable, Hashable {
  var subtaskId: String
  var taskId: String
  var agentId: String
  var ok: Bool
  var output: String
  var error: String?
  var durationMs: Int64
}
