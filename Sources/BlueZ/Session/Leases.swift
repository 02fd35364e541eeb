import DBus

/// The links that this session made, which end with it.
///
/// A link that was there before this session wanted it, because another program or the peer made it, is not one of
/// them.
struct Leases: Sendable {
  /// An attempt to make a link with an instance of bluetoothd.
  struct Attempt: Sendable {
    fileprivate let device: ObjectPath
    fileprivate let number: Int
  }

  private var lifetimes: [ObjectPath: LinkLifetime] = [:]
  /// The attempts under way. Of several at once bluetoothd makes one, and refuses the others.
  private var attempts: [ObjectPath: Set<Int>] = [:]
  private var lastAttempt = 0
  /// The devices whose links an attempt has made. A refusal of another attempt may be noticed later.
  private var linked: Set<ObjectPath> = []

  /// The devices whose links end with the session.
  var ending: [ObjectPath] { lifetimes.filter { $0.value != .kept }.keys.sorted() }

  /// Returns `true` if the session made the link to a device, or has taken it over.
  func contains(_ device: ObjectPath) -> Bool { lifetimes[device] != nil }

  /// Records that the session is about to make a link; ``endAttempt(_:hasLink:)`` must follow.
  mutating func beginAttempt(_ device: ObjectPath, _ lifetime: LinkLifetime) -> Attempt {
    if lifetimes[device] == nil { lifetimes[device] = lifetime } else { join(device, lifetime) }
    lastAttempt += 1
    attempts[device, default: []].insert(lastAttempt)
    return Attempt(device: device, number: lastAttempt)
  }

  /// Records that an attempt has ended; without effect if it was recorded before, or bluetoothd has ended meanwhile.
  /// - Parameter hasLink: `true` if it has made a link, or has to be undone; the link of another attempt stays a lease.
  mutating func endAttempt(_ attempt: Attempt, hasLink: Bool) {
    let device = attempt.device
    guard attempts[device]?.remove(attempt.number) != nil else { return }
    if attempts[device]?.isEmpty == true { attempts[device] = nil }
    if hasLink { linked.insert(device) }
    if !linked.contains(device) { forget(device) }
  }

  /// Records a link that was made for the session without bluetoothd.
  mutating func add(_ device: ObjectPath, _ lifetime: LinkLifetime) {
    if lifetimes[device] == nil { lifetimes[device] = lifetime }
    linked.insert(device)
  }

  /// Records the wish of a caller for a link that exists.
  mutating func join(_ device: ObjectPath, _ lifetime: LinkLifetime) {
    switch lifetime {
    case .session: break
    case .takenOver: lifetimes[device] = .takenOver
    case .kept: if lifetimes[device] != nil { lifetimes[device] = .kept }
    }
  }

  /// Records that a link has ended; another attempt may be making the next one.
  mutating func end(_ device: ObjectPath) {
    linked.remove(device)
    forget(device)
  }

  private mutating func forget(_ device: ObjectPath) {
    if attempts[device] == nil { lifetimes[device] = nil }
  }

  /// Forgets everything, because the instance of bluetoothd has ended.
  mutating func removeAll() {
    lifetimes = [:]
    attempts = [:]
    linked = []
  }
}

/// The parts of a session that end with it.
struct SessionEnd {
  /// A device, and the interface whose `Disconnect` ends its link.
  struct Link {
    let path: ObjectPath
    let interface: String
  }

  let bus: BusState
  let links: [Link]
  /// The links that must not end before their peers have responded, and the longest time for that.
  let unanswered: (links: [Link], timeout: Duration)?
  let leftovers: [(ObjectPath, Undoing.Leftover)]
  let observers: (handlers: [Observers.Handler], endings: [@Sendable () -> Void])
}

extension SessionCore.State {
  /// The end of the session as it is.
  mutating func end() -> SessionEnd {
    let paths = leases.ending.filter { cache.properties($0, InterfaceName.device) != nil }
    var links = paths.map { SessionEnd.Link(path: $0, interface: cache.interfaceToDisconnect($0)) }
    var unanswered: (links: [SessionEnd.Link], timeout: Duration)?
    // This kernel crashes when a link ends whose peer owes a response; see `Device.waitForRequest()`.
    if let timeout = disconnections.responseTimeout {
      let answered = links.partition { link in
        let device = cache.properties(link.path, InterfaceName.device)
        return device?["Connected"]?.bool == true && device?["ServicesResolved"]?.bool != true
      }
      if answered < links.endIndex { unanswered = (Array(links[answered...]), timeout) }
      links = Array(links[..<answered])
    }
    return SessionEnd(
      bus: bus, links: links, unanswered: unanswered, leftovers: leftovers, observers: observers.removeAll())
  }
}

extension SessionCore {
  /// Requests the end of links without waiting for it: bluetoothd needs two seconds, and carries on without the caller.
  func endLinks(_ devices: [SessionEnd.Link], over connection: Connection) {
    for device in devices {
      do {
        LateDisconnections.shared.request(late(device.path), wasUnanswered: false)
        try connection.callWithoutReply(Self.service, device.path, device.interface, "Disconnect")
      } catch {
        logger.debug("the link to \(device.path) was not ended", metadata: ["error": "\(error)"])
      }
    }
  }

  /// Ends links once their peers have responded, over a connection to the bus of its own: that of the session closes at
  /// once, and bluetoothd then removes what the session registered.
  func endLinks(_ devices: [SessionEnd.Link], onceAnsweredWithin timeout: Duration) -> Task<Void, Never> {
    let ends = devices.map { (device: $0, link: late($0.path)) }
    LateDisconnections.shared.begin(ends.map(\.link))
    return Task { [bus, logger] in
      do {
        let connection = try await Connection.open(bus, logger: logger)
        await withTaskGroup { group in
          for (device, link) in ends {
            let object = RemoteObject(connection, Self.service, device.path)
            group.addTask { await object.endLink(link, through: device.interface, responseTimeout: timeout, logger) }
          }
        }
        connection.close()
      } catch {
        logger.debug("links were not ended", metadata: ["error": "\(error)"])
        for (_, link) in ends { LateDisconnections.shared.ended(link) }
      }
    }
  }

  /// The link to a device, for the sessions after this one.
  func late(_ device: ObjectPath) -> LateDisconnections.Link { LateDisconnections.Link(bus: bus, device: device) }
}
