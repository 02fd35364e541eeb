public import BackgroundTasks

extension StateFolder {
  /// The file of the pending background tasks.
  public var tasks: BackgroundTaskStore { BackgroundTaskStore(path: path + "/tasks.json") }
}
