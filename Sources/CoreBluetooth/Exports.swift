// On Apple's platforms `import CoreBluetooth` brings Foundation and Dispatch with it, and files rely on that.
@_exported public import Dispatch
@_exported public import Foundation
