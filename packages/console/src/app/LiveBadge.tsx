/** Says how fresh the page is: `live · 0.2 s`, `stale 12 s` or `offline`. */
import { useLiveState } from "../live/LiveContext.tsx"
import { durationText, useBrowserNow } from "../parts/Moment.tsx"

/** The server sends a heartbeat every two seconds. After this long without one, the page counts as stale. */
const silence = 7000

export const LiveBadge = () => {
  const { mode, heardAt } = useLiveState()
  const now = useBrowserNow()
  const away = heardAt === undefined ? undefined : Math.max(0, now - heardAt)
  const isLive = mode === "live" && (away ?? 0) < silence
  const text = isLive
    ? `live · ${((away ?? 0) / 1000).toFixed(1)} s`
    : mode === "connecting"
      ? "connecting"
      : mode === "live" || (away !== undefined && away < 60_000)
        ? `stale ${durationText(away ?? 0)}`
        : "offline"
  const look = isLive ? "text-good" : mode === "connecting" ? "text-muted" : "text-warn"
  return (
    <span
      role="status"
      data-live={isLive ? "live" : text.split(" ")[0]}
      className={`flex items-center gap-1.5 text-xs font-medium whitespace-nowrap ${look}`}
    >
      <span aria-hidden="true" className={`size-2 rounded-full bg-current ${isLive ? "pulse-soft" : ""}`} />
      {text}
    </span>
  )
}
