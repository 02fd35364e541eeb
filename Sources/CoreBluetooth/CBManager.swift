/// The state of a manager and of the Bluetooth adapter behind it.
public enum CBManagerState: Int, Sendable {
  /// The state is not known yet: the manager was just created.
  case unknown = 0
  /// bluetoothd stopped, or the adapter is gone; an update follows when it is back.
  case resetting = 1
  /// There is no Bluetooth adapter on this computer, or no message bus.
  case unsupported = 2
  /// The program may not use bluetoothd.
  case unauthorized = 3
  /// The adapter is switched off at present.
  case poweredOff = 4
  /// The adapter is switched on and ready for use.
  case poweredOn = 5
}

/// The permission of an app to use Bluetooth.
public enum CBManagerAuthorization: Int, Sendable {
  /// The user has not decided yet; never on Linux.
  case notDetermined = 0
  /// The app may not use Bluetooth; never on Linux.
  case restricted = 1
  /// The user has denied the use; never on Linux.
  case denied = 2
  /// The app may use Bluetooth, subject to the D-Bus policy of bluetoothd.
  case allowedAlways = 3
}

/// The common part of the central's and the peripheral's manager.
///
/// A manager uses the first adapter of bluetoothd, or the one that the environment variable `COREBLUETOOTH_ADAPTER`
/// names: `hci1`, or an address. It does not switch the adapter on, as on Apple's platforms.
open class CBManager: NSObject, @unchecked Sendable {
  // Sound: the stored properties are constants of types that are safe to share. What the managers and peripherals keep
  // is behind locks, so that an app may call them from any queue; delegates are called on the manager's queue alone.

  let radio: Radio
  let callbacks: Callbacks

  init(queue: DispatchQueue?, opening: @escaping Radio.Opening) {
    radio = Radio(opening)
    callbacks = Callbacks(queue)
  }

  deinit {
    radio.close()
  }

  /// Starts to look for the adapter.
  /// - Parameter changed: A closure that receives each state, on the manager's queue; it must not keep the manager alive.
  func start(_ changed: @escaping @Sendable (CBManagerState) -> Void) {
    let callbacks = callbacks
    radio.start { state in callbacks.post { changed(state) } }
  }

  /// The state of the manager, which the delegate is told of when it changes.
  open var state: CBManagerState { radio.reported }

  /// The permission to use Bluetooth. On Linux nobody is asked: bluetoothd's D-Bus policy decides, and a program that
  /// it refuses sees the state ``CBManagerState/unauthorized``.
  open class var authorization: CBManagerAuthorization { .allowedAlways }
}

/// The queue of a manager, on which its delegates are called one after the other.
final class Callbacks: Sendable {
  /// A queue of its own in front of the app's, which keeps the order also where that one is concurrent.
  private let queue: DispatchQueue

  init(_ queue: DispatchQueue?) {
    self.queue = DispatchQueue(label: "edgeblue.corebluetooth", target: queue ?? .main)
  }

  /// Calls a closure after all earlier ones.
  func post(_ body: @escaping @Sendable () -> Void) { queue.async(execute: body) }

  /// Calls a closure after all earlier ones, and waits for it: a source of many events waits for the app.
  func deliver(_ body: @escaping @Sendable () -> Void) async {
    await withCheckedContinuation { continuation in
      queue.async {
        body()
        continuation.resume()
      }
    }
  }
}
