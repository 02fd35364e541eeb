import FoundationEssentials

/// A task that the coordinator gave this machine.
public struct CoordinatorTask: Sendable, Hashable {
  /// The identifier of the task at the coordinator.
  public var id: String
  /// The identifier of the larger task that this one is a part of.
  public var taskID: String
  /// The prompt for the model.
  public var input: String
  /// The time limit of the task, 1 s to 10 min.
  public var timeLimit: Duration

  /// Creates a task from its parts.
  public init(id: String, taskID: String, input: String, timeLimit: Duration = defaultTimeLimit) {
    self.id = id
    self.taskID = taskID
    self.input = input
    self.timeLimit = timeLimit
  }

  /// The time limit of a task that specifies none: 60 s.
  public static let defaultTimeLimit: Duration = .seconds(60)
}

/// The body of `POST /pull`.
struct PullRequest: Encodable, Sendable, Hashable {
  var agentId: String
}

/// The coordinator's response to a request for work.
enum PullReply: Decodable, Sendable, Hashable {
  /// There is a task for this machine.
  case task(CoordinatorTask)
  /// There is no task at present.
  case nothing
  /// There is a task that this machine cannot do; `claim` identifies it if it already belongs to this machine.
  case unusable(reason: String, claim: Claim?)
  /// The machine is to save power, and may ask again after a delay if the coordinator specifies one.
  case deferred(reason: String, for: Duration?)
  /// The machine gets no task until the block is removed at the coordinator.
  case blocked(reason: String)

  /// The identifiers of a task that belongs to this machine.
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
      self = .deferred(reason: reason ?? HoldReason.powerDeferred.rawValue, for: milliseconds.map { .milliseconds($0) })
    } else if fields.flag(.sandboxRequired) {
      self = .unusable(reason: HoldReason.sandboxRequired.rawValue, claim: nil)
    } else if (try? fields.decodeNil(forKey: .envelope)) == false {
      self = .unusable(reason: HoldReason.encryptedTask.rawValue, claim: nil)
    } else if try fields.decodeNil(forKey: .subtask) {
      self = .nothing
    } else {
      self = try Self.task(try fields.nestedContainer(keyedBy: TaskKey.self, forKey: .subtask))
    }
  }

  private static func task(_ fields: KeyedDecodingContainer<TaskKey>) throws -> PullReply {
    let id = try fields.decode(String.self, forKey: .id)
    let taskID = try fields.decode(String.self, forKey: .taskId)
    guard let input = fields.text(.input) else {
      return .unusable(reason: HoldReason.taskWithoutInput.rawValue, claim: Claim(id: id, taskID: taskID))
    }
    let milliseconds = (try? fields.decode(Double.self, forKey: .timeoutMs)).map { min(max($0, 1000), 600_000) }
    let limit = milliseconds.map { Duration.milliseconds($0) } ?? CoordinatorTask.defaultTimeLimit
    return .task(CoordinatorTask(id: id, taskID: taskID, input: input, timeLimit: limit))
  }
}

/// The body of `POST /result`, also stored in this form until the coordinator has it.
struct ResultRequest: Codable, Sendable, Hashable {
  var subtaskId: String
  var taskId: String
  var agentId: String
  var ok: Bool
  var output: String
  var error: String?
  var durationMs: Int64
}
