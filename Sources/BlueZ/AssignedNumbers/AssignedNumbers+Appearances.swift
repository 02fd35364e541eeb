extension AssignedNumbers {
  /// Appearance values: every category, and the kinds that are most common.
  static let appearances = table(
    """
    0000 Unknown
    0040 Phone
    0080 Computer
    0081 Desktop Workstation
    0082 Server
    0083 Laptop
    0087 Tablet
    00c0 Watch
    00c1 Sports Watch
    00c2 Smartwatch
    0100 Clock
    0140 Display
    0180 Remote Control
    01c0 Eye-glasses
    0200 Tag
    0240 Keyring
    0280 Media Player
    02c0 Barcode Scanner
    0300 Thermometer
    0301 Ear Thermometer
    0340 Heart Rate Sensor
    0341 Heart Rate Belt
    0380 Blood Pressure
    0381 Arm Blood Pressure
    0382 Wrist Blood Pressure
    03c0 Human Interface Device
    03c1 Keyboard
    03c2 Mouse
    03c3 Joystick
    03c4 Gamepad
    03c5 Digitizer Tablet
    03c6 Card Reader
    03c7 Digital Pen
    03c8 Barcode Scanner
    03c9 Touchpad
    03ca Presentation Remote
    0400 Glucose Meter
    0440 Running Walking Sensor
    0441 In-Shoe Running Walking Sensor
    0442 On-Shoe Running Walking Sensor
    0443 On-Hip Running Walking Sensor
    0480 Cycling
    0481 Cycling Computer
    0482 Speed Sensor
    0483 Cadence Sensor
    0484 Power Sensor
    0485 Speed and Cadence Sensor
    04c0 Control Device
    0500 Network Device
    0540 Sensor
    0580 Light Fixtures
    05c0 Fan
    0600 HVAC
    0640 Air Conditioning
    0680 Humidifier
    06c0 Heating
    0700 Access Control
    0740 Motorized Device
    0780 Power Device
    07c0 Light Source
    0800 Window Covering
    0840 Audio Sink
    0841 Standalone Speaker
    0842 Soundbar
    0880 Audio Source
    08c0 Motorized Vehicle
    0900 Domestic Appliance
    0940 Wearable Audio Device
    0941 Earbud
    0942 Headset
    0943 Headphones
    0980 Aircraft
    09c0 AV Equipment
    0a00 Display Equipment
    0a40 Hearing Aid
    0a80 Gaming
    0ac0 Signage
    0c40 Pulse Oximeter
    0c80 Weight Scale
    0cc0 Personal Mobility Device
    0d00 Continuous Glucose Monitor
    0d40 Insulin Pump
    0d80 Medication Delivery
    0dc0 Spirometer
    1440 Outdoor Sports Activity
    """)
}
