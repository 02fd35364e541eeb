extension CoverageMapPage {
  /// The style of the page.
  static let style = """

    html, body { margin: 0; height: 100%; font: 14px/1.4 "Inter", "Noto Sans", "DejaVu Sans", system-ui, sans-serif; color: #1b2631; }
    #map { position: absolute; inset: 0; background: #f4f6f5; outline-offset: -3px; touch-action: none; cursor: grab; }
    #map canvas.fences { position: absolute; left: 0; top: 0; pointer-events: none; }
    #panel, #time, #zoom { position: absolute; z-index: 1000; }
    #panel, #time { background: rgba(255, 255, 255, .94); border-radius: 8px; box-shadow: 0 1px 6px rgba(27, 38, 49, .3); }
    #panel { top: 12px; right: 12px; width: 250px; max-height: calc(100% - 120px); overflow: auto; padding: 12px 14px; }
    #panel h1 { font-size: 17px; margin: 0; }
    #panel p { margin: 2px 0 8px; color: #566573; }
    #legend { list-style: none; margin: 0 0 8px; padding: 0; }
    #legend li { display: flex; align-items: center; gap: 8px; }
    #legend i { width: 14px; height: 14px; border-radius: 50%; border: 1px solid rgba(27, 38, 49, .45); flex: none; }
    #legend span { margin-left: auto; color: #566573; font-variant-numeric: tabular-nums; }
    #tiles { font-size: 12px; color: #566573; }
    #tiles[hidden], #time[hidden], #zoom[hidden] { display: none; }
    #details { display: grid; grid-template-columns: auto 1fr; gap: 2px 12px; margin: 10px 0 0; padding-top: 8px; border-top: 1px solid #d5dbdf; }
    #details[hidden] { display: none; }
    #details dt { color: #566573; }
    #details dd { margin: 0; text-align: right; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
    #time { bottom: 14px; left: 50%; transform: translateX(-50%); padding: 6px 14px; display: flex; align-items: center; gap: 12px; }
    #time label { display: flex; align-items: center; gap: 6px; color: #566573; }
    #time input { width: min(20vw, 190px); accent-color: #34495e; }
    #time output { font-variant-numeric: tabular-nums; text-align: center; white-space: nowrap; }
    #zoom { top: 12px; left: 12px; display: grid; gap: 4px; }
    #zoom button { width: 34px; height: 34px; font-size: 20px; border: 0; border-radius: 6px; background: #fff; box-shadow: 0 1px 4px rgba(27, 38, 49, .35); }
    @media (max-width: 720px) {
      #panel { width: auto; left: 60px; max-height: 40%; }
      #time { left: 12px; right: 12px; transform: none; flex-wrap: wrap; justify-content: center; gap: 4px 12px; }
      #time input { width: 32vw; }
    }
    """
}
