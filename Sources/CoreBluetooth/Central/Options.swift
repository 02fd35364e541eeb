/// The option of a manager to warn the user of an adapter that is off; without effect on Linux.
public let CBCentralManagerOptionShowPowerAlertKey = "kCBInitOptionShowPowerAlert"
/// The option of a manager to be restored; without effect on Linux, which does not end programs to start them again.
public let CBCentralManagerOptionRestoreIdentifierKey = "kCBInitOptionRestoreIdentifier"
/// The key of the restored peripherals in a delegate's call that Linux never makes.
public let CBCentralManagerRestoredStatePeripheralsKey = "kCBRestoredPeripherals"
/// The key of the restored scan's services in a delegate's call that Linux never makes.
public let CBCentralManagerRestoredStateScanServicesKey = "kCBRestoredScanServices"
/// The key of the restored scan's options in a delegate's call that Linux never makes.
public let CBCentralManagerRestoredStateScanOptionsKey = "kCBRestoredScanOptions"
/// The option of a scan to tell of every advertisement, an `NSNumber` or `Bool`.
public let CBCentralManagerScanOptionAllowDuplicatesKey = "kCBScanOptionAllowDuplicates"
/// The option of a scan for devices that solicit a service; without effect on Linux.
public let CBCentralManagerScanOptionSolicitedServiceUUIDsKey = "kCBScanOptionSolicitedServiceUUIDs"
/// The option of a connection to alert the user when it is made; without effect on Linux.
public let CBConnectPeripheralOptionNotifyOnConnectionKey = "kCBConnectOptionNotifyOnConnection"
/// The option of a connection to alert the user when it ends; without effect on Linux.
public let CBConnectPeripheralOptionNotifyOnDisconnectionKey = "kCBConnectOptionNotifyOnDisconnection"
/// The option of a connection to alert the user of notifications; without effect on Linux.
public let CBConnectPeripheralOptionNotifyOnNotificationKey = "kCBConnectOptionNotifyOnNotification"
/// The option of a connection to begin after so many seconds, an `NSNumber`.
public let CBConnectPeripheralOptionStartDelayKey = "kCBConnectOptionStartDelay"
/// The option of a connection to be made again whenever it is lost, an `NSNumber` or `Bool`.
public let CBConnectPeripheralOptionEnableAutoReconnect = "kCBConnectOptionEnableAutoReconnect"
/// The option of a connection to a device that shares an iPhone's notifications; without effect on Linux.
public let CBConnectPeripheralOptionRequiresANCS = "kCBConnectOptionRequiresANCS"
/// The option of a connection to bring up Classic profiles as well; without effect on Linux.
public let CBConnectPeripheralOptionEnableTransportBridgingKey = "kCBConnectOptionEnableTransportBridging"
/// The option of a peripheral manager to warn the user of an adapter that is off; without effect on Linux.
public let CBPeripheralManagerOptionShowPowerAlertKey = "kCBInitOptionShowPowerAlert"
/// The option of a peripheral manager to be restored; without effect on Linux.
public let CBPeripheralManagerOptionRestoreIdentifierKey = "kCBInitOptionRestoreIdentifier"
/// The key of the restored services in a delegate's call that Linux never makes.
public let CBPeripheralManagerRestoredStateServicesKey = "kCBRestoredServices"
/// The key of the restored advertisement in a delegate's call that Linux never makes.
public let CBPeripheralManagerRestoredStateAdvertisementDataKey = "kCBRestoredAdvertisement"

extension [String: Any]? {
  /// Returns an option that an app gives as a `Bool` or as an `NSNumber`; `false` without it.
  func flag(_ key: String) -> Bool {
    self?[key] as? Bool ?? (self?[key] as? NSNumber)?.boolValue ?? false
  }
}
