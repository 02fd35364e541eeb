extension AssignedNumbers {
  /// Characteristics by UUID: from 2b00 on.
  static let characteristics2B = table(
    """
    2b00 Luminous Flux Range
    2b01 Luminous Intensity
    2b02 Mass Flow
    2b03 Perceived Lightness
    2b04 Percentage 8
    2b05 Power
    2b06 Power Specification
    2b07 Relative Runtime In A Current Range
    2b08 Relative Runtime In A Generic Level Range
    2b09 Relative Value In A Voltage Range
    2b0a Relative Value In An Illuminance Range
    2b0b Relative Value In A Period of Day
    2b0c Relative Value In A Temperature Range
    2b0d Temperature 8
    2b0e Temperature 8 In A Period Of Day
    2b0f Temperature 8 Statistics
    2b10 Temperature Range
    2b11 Temperature Statistics
    2b12 Time Decihour 8
    2b13 Time Exponential 8
    2b14 Time Hour 24
    2b15 Time Millisecond 24
    2b16 Time Second 16
    2b17 Time Second 8
    2b18 Voltage
    2b19 Voltage Specification
    2b1a Voltage Statistics
    2b1b Volume Flow
    2b1c Chromaticity Coordinate
    2b1d RC Feature
    2b1e RC Settings
    2b1f Reconnection Configuration Control Point
    2b20 IDD Status Changed
    2b21 IDD Status
    2b22 IDD Annunciation Status
    2b23 IDD Features
    2b24 IDD Status Reader Control Point
    2b25 IDD Command Control Point
    2b26 IDD Command Data
    2b27 IDD Record Access Control Point
    2b28 IDD History Data
    2b29 Client Supported Features
    2b2a Database Hash
    2b2b BSS Control Point
    2b2c BSS Response
    2b2d Emergency ID
    2b2e Emergency Text
    2b2f ACS Status
    2b30 ACS Data In
    2b31 ACS Data Out Notify
    2b32 ACS Data Out Indicate
    2b33 ACS Control Point
    2b34 Enhanced Blood Pressure Measurement
    2b35 Enhanced Intermediate Cuff Pressure
    2b36 Blood Pressure Record
    2b37 Registered User
    2b38 BR-EDR Handover Data
    2b39 Bluetooth SIG Data
    2b3a Server Supported Features
    2b3b Physical Activity Monitor Features
    2b3c General Activity Instantaneous Data
    2b3d General Activity Summary Data
    2b3e CardioRespiratory Activity Instantaneous Data
    2b3f CardioRespiratory Activity Summary Data
    2b40 Step Counter Activity Summary Data
    2b41 Sleep Activity Instantaneous Data
    2b42 Sleep Activity Summary Data
    2b43 Physical Activity Monitor Control Point
    2b44 Current Session
    2b45 Session
    2b46 Preferred Units
    2b47 High Resolution Height
    2b48 Middle Name
    2b49 Stride Length
    2b4a Handedness
    2b4b Device Wearing Position
    2b4c Four Zone Heart Rate Limits
    2b4d High Intensity Exercise Threshold
    2b4e Activity Goal
    2b4f Sedentary Interval Notification
    2b50 Caloric Intake
    2b51 TMAP Role
    2b77 Audio Input State
    2b78 Gain Settings Attribute
    2b79 Audio Input Type
    2b7a Audio Input Status
    2b7b Audio Input Control Point
    2b7c Audio Input Description
    2b7d Volume State
    2b7e Volume Control Point
    2b7f Volume Flags
    2b80 Volume Offset State
    2b81 Audio Location
    2b82 Volume Offset Control Point
    2b83 Audio Output Description
    2b84 Set Identity Resolving Key
    2b85 Coordinated Set Size
    2b86 Set Member Lock
    2b87 Set Member Rank
    2b88 Encrypted Data Key Material
    2b89 Apparent Energy 32
    2b8a Apparent Power
    2b8b Live Health Observations
    2b8c CO2 Concentration
    2b8d Cosine of the Angle
    2b8e Device Time Feature
    2b8f Device Time Parameters
    2b90 Device Time
    2b91 Device Time Control Point
    2b92 Time Change Log Data
    2b93 Media Player Name
    2b94 Media Player Icon Object ID
    2b95 Media Player Icon URL
    2b96 Track Changed
    2b97 Track Title
    2b98 Track Duration
    2b99 Track Position
    2b9a Playback Speed
    2b9b Seeking Speed
    2b9c Current Track Segments Object ID
    2b9d Current Track Object ID
    2b9e Next Track Object ID
    2b9f Parent Group Object ID
    2ba0 Current Group Object ID
    2ba1 Playing Order
    2ba2 Playing Orders Supported
    2ba3 Media State
    2ba4 Media Control Point
    2ba5 Media Control Point Opcodes Supported
    2ba6 Search Results Object ID
    2ba7 Search Control Point
    2ba8 Energy 32
    2ba9 Media Player Icon Object Type
    2baa Track Segments Object Type
    2bab Track Object Type
    2bac Group Object Type
    2bad Constant Tone Extension Enable
    2bae Advertising Constant Tone Extension Minimum Length
    2baf Advertising Constant Tone Extension Minimum Transmit Count
    2bb0 Advertising Constant Tone Extension Transmit Duration
    2bb1 Advertising Constant Tone Extension Interval
    2bb2 Advertising Constant Tone Extension PHY
    2bb3 Bearer Provider Name
    2bb4 Bearer UCI
    2bb5 Bearer Technology
    2bb6 Bearer URI Schemes Supported List
    2bb7 Bearer Signal Strength
    2bb8 Bearer Signal Strength Reporting Interval
    2bb9 Bearer List Current Calls
    2bba Content Control ID
    2bbb Status Flags
    2bbc Incoming Call Target Bearer URI
    2bbd Call State
    2bbe Call Control Point
    2bbf Call Control Point Optional Opcodes
    2bc0 Termination Reason
    2bc1 Incoming Call
    2bc2 Call Friendly Name
    2bc3 Mute
    2bc4 Sink ASE
    2bc5 Source ASE
    2bc6 ASE Control Point
    2bc7 Broadcast Audio Scan Control Point
    2bc8 Broadcast Receive State
    2bc9 Sink PAC
    2bca Sink Audio Locations
    2bcb Source PAC
    2bcc Source Audio Locations
    2bcd Available Audio Contexts
    2bce Supported Audio Contexts
    2bcf Ammonia Concentration
    2bd0 Carbon Monoxide Concentration
    2bd1 Methane Concentration
    2bd2 Nitrogen Dioxide Concentration
    2bd3 Non-Methane Volatile Organic Compounds Concentration
    2bd4 Ozone Concentration
    2bd5 Particulate Matter - PM1 Concentration
    2bd6 Particulate Matter - PM2.5 Concentration
    2bd7 Particulate Matter - PM10 Concentration
    2bd8 Sulfur Dioxide Concentration
    2bd9 Sulfur Hexafluoride Concentration
    2bda Hearing Aid Features
    2bdb Hearing Aid Preset Control Point
    2bdc Active Preset Index
    2bdd Stored Health Observations
    2bde Fixed String 64
    2bdf High Temperature
    2be0 High Voltage
    2be1 Light Distribution
    2be2 Light Output
    2be3 Light Source Type
    2be4 Noise
    2be5 Relative Runtime in a Correlated Color Temperature Range
    2be6 Time Second 32
    2be7 VOC Concentration
    2be8 Voltage Frequency
    2be9 Battery Critical Status
    2bea Battery Health Status
    2beb Battery Health Information
    2bec Battery Information
    2bed Battery Level Status
    2bee Battery Time Status
    2bef Estimated Service Date
    2bf0 Battery Energy Status
    2bf1 Observation Schedule Changed
    2bf2 Current Elapsed Time
    2bf3 Health Sensor Features
    2bf4 GHS Control Point
    2bf5 LE GATT Security Levels
    2bf6 ESL Address
    2bf7 AP Sync Key Material
    2bf8 ESL Response Key Material
    2bf9 ESL Current Absolute Time
    2bfa ESL Display Information
    2bfb ESL Image Information
    2bfc ESL Sensor Information
    2bfd ESL LED Information
    2bfe ESL Control Point
    2bff UDI for Medical Devices
    2c00 GMAP Role
    2c01 UGG Features
    2c02 UGT Features
    2c03 BGS Features
    2c04 BGR Features
    2c1a Coordinated Set Name
    """)
}
