extension AssignedNumbers {
  /// Characteristics by UUID: the oldest, up to 2aff.
  static let characteristics2A = table(
    """
    2a00 Device Name
    2a01 Appearance
    2a02 Peripheral Privacy Flag
    2a03 Reconnection Address
    2a04 Peripheral Preferred Connection Parameters
    2a05 Service Changed
    2a06 Alert Level
    2a07 Tx Power Level
    2a08 Date Time
    2a09 Day of Week
    2a0a Day Date Time
    2a0b Exact Time 100
    2a0c Exact Time 256
    2a0d DST Offset
    2a0e Time Zone
    2a0f Local Time Information
    2a10 Secondary Time Zone
    2a11 Time with DST
    2a12 Time Accuracy
    2a13 Time Source
    2a14 Reference Time Information
    2a15 Time Broadcast
    2a16 Time Update Control Point
    2a17 Time Update State
    2a18 Glucose Measurement
    2a19 Battery Level
    2a1a Battery Power State
    2a1b Battery Level State
    2a1c Temperature Measurement
    2a1d Temperature Type
    2a1e Intermediate Temperature
    2a1f Temperature Celsius
    2a20 Temperature Fahrenheit
    2a21 Measurement Interval
    2a22 Boot Keyboard Input Report
    2a23 System ID
    2a24 Model Number String
    2a25 Serial Number String
    2a26 Firmware Revision String
    2a27 Hardware Revision String
    2a28 Software Revision String
    2a29 Manufacturer Name String
    2a2a IEEE 11073-20601 Regulatory Certification Data List
    2a2b Current Time
    2a2c Magnetic Declination
    2a2f Position 2D
    2a30 Position 3D
    2a31 Scan Refresh
    2a32 Boot Keyboard Output Report
    2a33 Boot Mouse Input Report
    2a34 Glucose Measurement Context
    2a35 Blood Pressure Measurement
    2a36 Intermediate Cuff Pressure
    2a37 Heart Rate Measurement
    2a38 Body Sensor Location
    2a39 Heart Rate Control Point
    2a3a Removable
    2a3b Service Required
    2a3c Scientific Temperature Celsius
    2a3d String
    2a3e Network Availability
    2a3f Alert Status
    2a40 Ringer Control Point
    2a41 Ringer Setting
    2a42 Alert Category ID Bit Mask
    2a43 Alert Category ID
    2a44 Alert Notification Control Point
    2a45 Unread Alert Status
    2a46 New Alert
    2a47 Supported New Alert Category
    2a48 Supported Unread Alert Category
    2a49 Blood Pressure Feature
    2a4a HID Information
    2a4b Report Map
    2a4c HID Control Point
    2a4d Report
    2a4e Protocol Mode
    2a4f Scan Interval Window
    2a50 PnP ID
    2a51 Glucose Feature
    2a52 Record Access Control Point
    2a53 RSC Measurement
    2a54 RSC Feature
    2a55 SC Control Point
    2a56 Digital
    2a57 Digital Output
    2a58 Analog
    2a59 Analog Output
    2a5a Aggregate
    2a5b CSC Measurement
    2a5c CSC Feature
    2a5d Sensor Location
    2a5e PLX Spot-Check Measurement
    2a5f PLX Continuous Measurement
    2a60 PLX Features
    2a62 Pulse Oximetry Control Point
    2a63 Cycling Power Measurement
    2a64 Cycling Power Vector
    2a65 Cycling Power Feature
    2a66 Cycling Power Control Point
    2a67 Location and Speed
    2a68 Navigation
    2a69 Position Quality
    2a6a LN Feature
    2a6b LN Control Point
    2a6c Elevation
    2a6d Pressure
    2a6e Temperature
    2a6f Humidity
    2a70 True Wind Speed
    2a71 True Wind Direction
    2a72 Apparent Wind Speed
    2a73 Apparent Wind Direction
    2a74 Gust Factor
    2a75 Pollen Concentration
    2a76 UV Index
    2a77 Irradiance
    2a78 Rainfall
    2a79 Wind Chill
    2a7a Heat Index
    2a7b Dew Point
    2a7c Trend
    2a7d Descriptor Value Changed
    2a7e Aerobic Heart Rate Lower Limit
    2a7f Aerobic Threshold
    2a80 Age
    2a81 Anaerobic Heart Rate Lower Limit
    2a82 Anaerobic Heart Rate Upper Limit
    2a83 Anaerobic Threshold
    2a84 Aerobic Heart Rate Upper Limit
    2a85 Date of Birth
    2a86 Date of Threshold Assessment
    2a87 Email Address
    2a88 Fat Burn Heart Rate Lower Limit
    2a89 Fat Burn Heart Rate Upper Limit
    2a8a First Name
    2a8b Five Zone Heart Rate Limits
    2a8c Gender
    2a8d Heart Rate Max
    2a8e Height
    2a8f Hip Circumference
    2a90 Last Name
    2a91 Maximum Recommended Heart Rate
    2a92 Resting Heart Rate
    2a93 Sport Type for Aerobic/Anaerobic Thresholds
    2a94 Three Zone Heart Rate Limits
    2a95 Two Zone Heart Rate Limit
    2a96 VO2 Max
    2a97 Waist Circumference
    2a98 Weight
    2a99 Database Change Increment
    2a9a User Index
    2a9b Body Composition Feature
    2a9c Body Composition Measurement
    2a9d Weight Measurement
    2a9e Weight Scale Feature
    2a9f User Control Point
    2aa0 Magnetic Flux Density 2D
    2aa1 Magnetic Flux Density 3D
    2aa2 Language
    2aa3 Barometric Pressure Trend
    2aa4 Bond Management Control Point
    2aa5 Bond Management Feature
    2aa6 Central Address Resolution
    2aa7 CGM Measurement
    2aa8 CGM Feature
    2aa9 CGM Status
    2aaa CGM Session Start Time
    2aab CGM Session Run Time
    2aac CGM Specific Ops Control Point
    2aad Indoor Positioning Configuration
    2aae Latitude
    2aaf Longitude
    2ab0 Local North Coordinate
    2ab1 Local East Coordinate
    2ab2 Floor Number
    2ab3 Altitude
    2ab4 Uncertainty
    2ab5 Location Name
    2ab6 URI
    2ab7 HTTP Headers
    2ab8 HTTP Status Code
    2ab9 HTTP Entity Body
    2aba HTTP Control Point
    2abb HTTPS Security
    2abc TDS Control Point
    2abd OTS Feature
    2abe Object Name
    2abf Object Type
    2ac0 Object Size
    2ac1 Object First-Created
    2ac2 Object Last-Modified
    2ac3 Object ID
    2ac4 Object Properties
    2ac5 Object Action Control Point
    2ac6 Object List Control Point
    2ac7 Object List Filter
    2ac8 Object Changed
    2ac9 Resolvable Private Address Only
    2acc Fitness Machine Feature
    2acd Treadmill Data
    2ace Cross Trainer Data
    2acf Step Climber Data
    2ad0 Stair Climber Data
    2ad1 Rower Data
    2ad2 Indoor Bike Data
    2ad3 Training Status
    2ad4 Supported Speed Range
    2ad5 Supported Inclination Range
    2ad6 Supported Resistance Level Range
    2ad7 Supported Heart Rate Range
    2ad8 Supported Power Range
    2ad9 Fitness Machine Control Point
    2ada Fitness Machine Status
    2adb Mesh Provisioning Data In
    2adc Mesh Provisioning Data Out
    2add Mesh Proxy Data In
    2ade Mesh Proxy Data Out
    2ae0 Average Current
    2ae1 Average Voltage
    2ae2 Boolean
    2ae3 Chromatic Distance From Planckian
    2ae4 Chromaticity Coordinates
    2ae5 Chromaticity In CCT And Duv Values
    2ae6 Chromaticity Tolerance
    2ae7 CIE 13.3-1995 Color Rendering Index
    2ae8 Coefficient
    2ae9 Correlated Color Temperature
    2aea Count 16
    2aeb Count 24
    2aec Country Code
    2aed Date UTC
    2aee Electric Current
    2aef Electric Current Range
    2af0 Electric Current Specification
    2af1 Electric Current Statistics
    2af2 Energy
    2af3 Energy In A Period Of Day
    2af4 Event Statistics
    2af5 Fixed String 16
    2af6 Fixed String 24
    2af7 Fixed String 36
    2af8 Fixed String 8
    2af9 Generic Level
    2afa Global Trade Item Number
    2afb Illuminance
    2afc Luminous Efficacy
    2afd Luminous Energy
    2afe Luminous Exposure
    2aff Luminous Flux
    """)
}
