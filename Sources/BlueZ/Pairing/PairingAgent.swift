/// The handlers that decide, by asking a user or by a rule, which devices may pair.
///
/// The handlers that are set determine the capability of this host, which bluetoothd sends to the peer, and with which
/// the two select the pairing method:
///
/// | handlers | ``Capability`` |
/// |---|---|
/// | none of the three | `.noInputNoOutput`: Just Works |
/// | ``displayPasskey`` | `.displayOnly` |
/// | ``displayPasskey``, ``confirmPasskey`` | `.displayYesNo` |
/// | ``enterPasskey`` | `.keyboardOnly` |
/// | all three | `.keyboardDisplay` |
///
/// ```swift
/// let agent = PairingAgent(
///   displayPasskey: { device, passkey in print("enter \(passkey) on \(device)") },
///   confirmPasskey: { device, passkey in
///     print("does \(device) show \(passkey)? [y/n]")
///     return readLine() == "y"
///   })
/// let registration = try await session.register(agent)
/// ```
///
/// A handler that returns `false`, throws, or needs longer than ``decisionTimeout`` refuses the pairing, as does a
/// missing handler. When the pairing ends before the decision, the handler's task is cancelled. While an adapter is not
/// pairable (``Adapter/openPairingWindow(for:)``) handlers are called only for pairings that this session starts by
/// ``Device/pair(timeout:)``.
public struct PairingAgent: Sendable {
  /// A handler that displays the passkey to be entered at the peer, until its task is cancelled: when the pairing is
  /// over, or after ``decisionTimeout``.
  public var displayPasskey: (@Sendable (Device, Passkey) async -> Void)?
  /// A handler that displays a passkey and returns `true` if the peer displays the same one.
  public var confirmPasskey: (@Sendable (Device, Passkey) async throws -> Bool)?
  /// A handler that returns the passkey that the peer displays.
  public var enterPasskey: (@Sendable (Device) async throws -> Passkey)?
  /// A handler that returns `true` if a peer may pair by Just Works, where neither side can verify the other.
  /// bluetoothd calls it only for pairings that the peer started.
  public var authorizePairing: (@Sendable (Device) async throws -> Bool)?
  /// A handler that returns `true` if a paired device may use a profile of this host. bluetoothd does not call it for
  /// trusted devices, nor for GATT services.
  public var authorizeService: (@Sendable (Device, BluetoothUUID) async throws -> Bool)?
  /// The longest time for a decision. The default is that of the Security Manager Protocol, after which the pairing has
  /// failed (Core Specification 3.H.3.4).
  public var decisionTimeout: Duration

  /// Creates an agent from its handlers; those left out refuse.
  public init(
    displayPasskey: (@Sendable (Device, Passkey) async -> Void)? = nil,
    confirmPasskey: (@Sendable (Device, Passkey) async throws -> Bool)? = nil,
    enterPasskey: (@Sendable (Device) async throws -> Passkey)? = nil,
    authorizePairing: (@Sendable (Device) async throws -> Bool)? = nil,
    authorizeService: (@Sendable (Device, BluetoothUUID) async throws -> Bool)? = nil,
    decisionTimeout: Duration = .seconds(30)
  ) {
    self.displayPasskey = displayPasskey
    self.confirmPasskey = confirmPasskey
    self.enterPasskey = enterPasskey
    self.authorizePairing = authorizePairing
    self.authorizeService = authorizeService
    self.decisionTimeout = decisionTimeout
  }

  /// The input and output capability of a host during pairing (Core Specification 3.H.2.3.2).
  public enum Capability: String, Sendable, Hashable {
    /// The host has neither display nor input.
    case noInputNoOutput = "NoInputNoOutput"
    /// The host displays a passkey.
    case displayOnly = "DisplayOnly"
    /// The host displays a passkey and accepts yes or no.
    case displayYesNo = "DisplayYesNo"
    /// The host accepts a passkey from a keyboard.
    case keyboardOnly = "KeyboardOnly"
    /// The host displays a passkey and accepts one, too.
    case keyboardDisplay = "KeyboardDisplay"
  }

  /// The capability that results from the handlers.
  /// - Throws: ``BlueZError`` with code `.invalidArgument` for a combination that has no capability: the peer could
  ///   select a pairing method that then fails for lack of a handler.
  public var capability: Capability {
    get throws {
      switch (displayPasskey != nil, confirmPasskey != nil, enterPasskey != nil) {
      case (false, false, false): return .noInputNoOutput
      case (true, false, false): return .displayOnly
      case (true, true, false): return .displayYesNo
      case (false, false, true): return .keyboardOnly
      case (true, true, true): return .keyboardDisplay
      case (false, true, _):
        throw BlueZError(
          .invalidArgument, "the agent has confirmPasskey without displayPasskey", hint: "add displayPasskey")
      case (true, false, true):
        throw BlueZError(
          .invalidArgument, "the agent has displayPasskey and enterPasskey without confirmPasskey",
          hint: "add confirmPasskey")
      }
    }
  }
}
