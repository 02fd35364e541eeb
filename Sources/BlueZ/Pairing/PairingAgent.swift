/// The decisions of a person, or of a rule, about who may pair.
///
/// What is given here says what this machine can do, bluetoothd tells it to the peer, and the two choose how to pair:
///
/// | given | ``Capability`` |
/// |---|---|
/// | none of the three | `.noInputNoOutput`: Just Works |
/// | ``displayPasskey`` | `.displayOnly` |
/// | ``displayPasskey``, ``confirmPasskey`` | `.displayYesNo` |
/// | ``enterPasskey`` | `.keyboardOnly` |
/// | all three | `.keyboardDisplay` |
///
/// ```swift
/// let registration = try await session.register(
///   PairingAgent(
///     displayPasskey: { device, passkey in print("enter \(passkey) on \(device)") },
///     confirmPasskey: { device, passkey in await ask("does \(device) show \(passkey)?") }))
/// ```
///
/// A decision that says no, throws, or takes longer than ``decisionTimeout`` refuses the pairing, and so does one that
/// is not given. When the pairing ends before the decision, its task is cancelled. While an adapter is not pairable
/// (``Adapter/openPairingWindow(for:)``) nobody is asked: only what this session begins by ``Device/pair(timeout:)`` is.
public struct PairingAgent: Sendable {
  /// Shows the number that a person is to enter at the peer, until the task is cancelled: that is when the pairing is
  /// over, or after ``decisionTimeout``.
  public var displayPasskey: (@Sendable (Device, Passkey) async -> Void)?
  /// Shows a number and asks whether the peer shows the same one.
  public var confirmPasskey: (@Sendable (Device, Passkey) async throws -> Bool)?
  /// Asks for the number that the peer shows.
  public var enterPasskey: (@Sendable (Device) async throws -> Passkey)?
  /// Whether a peer that wants to pair with nothing to show or enter (Just Works) may; nobody can tell who it is.
  /// bluetoothd asks for pairings that the peer began only.
  public var authorizePairing: (@Sendable (Device) async throws -> Bool)?
  /// Whether a paired device may use a profile of this machine. bluetoothd does not ask for trusted devices, nor for
  /// GATT services.
  public var authorizeService: (@Sendable (Device, BluetoothUUID) async throws -> Bool)?
  /// How long a decision may take. The default is that of the Security Manager Protocol, after which there is nothing
  /// left to decide about (Core Specification 3.H.3.4).
  public var decisionTimeout: Duration

  /// Makes an agent of the decisions it can make.
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

  /// What a machine can show and take in while pairing (Core Specification 3.H.2.3.2).
  public enum Capability: String, Sendable, Hashable {
    /// Neither shows nor takes in anything.
    case noInputNoOutput = "NoInputNoOutput"
    /// Shows a passkey.
    case displayOnly = "DisplayOnly"
    /// Shows a passkey and takes in a yes or no.
    case displayYesNo = "DisplayYesNo"
    /// Takes in a passkey.
    case keyboardOnly = "KeyboardOnly"
    /// Shows a passkey and takes in both.
    case keyboardDisplay = "KeyboardDisplay"
  }

  /// What the decisions given amount to.
  /// - Throws: ``BlueZError`` with code `.invalidArgument` for a combination that no capability stands for: the peer
  ///   could choose a way to pair that then fails for want of the missing decision.
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
          .invalidArgument, "an agent that confirms passkeys must display them too", hint: "give displayPasskey")
      case (true, false, true):
        throw BlueZError(
          .invalidArgument, "an agent that displays and enters passkeys must confirm them too",
          hint: "give confirmPasskey")
      }
    }
  }
}
