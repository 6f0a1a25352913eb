/** Relative times and durations, with the exact time in a tooltip. */
import { useSyncExternalStore } from "react"
import { clockSkew } from "../api/Client.ts"

/** One clock for all times on the page. */
const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined
let now = Date.now()
const subscribe = (listener: () => void) => {
  listeners.add(listener)
  timer ??= setInterval(() => {
    now = Date.now()
    for (const one of listeners) one()
  }, 1000)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** The time of the server: the browser's clock may be hours off. */
export const useNow = (): number => useSyncExternalStore(subscribe, () => now + clockSkew())

/** The time of the browser, for times that it recorded itself. */
export const useBrowserNow = (): number => useSyncExternalStore(subscribe, () => now)

const units = [
  ["y", 31_536_000_000],
  ["mo", 2_592_000_000],
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1000],
] as const

/** `3 s`, `2 h`, `9 d`. */
export const durationText = (millis: number): string => {
  if (millis < 1000) return `${Math.max(0, Math.round(millis))} ms`
  for (const [unit, size] of units) if (millis >= size) return `${Math.floor(millis / size)} ${unit}`
  return "0 s"
}

export const Ago = ({ at }: { readonly at: number }) => {
  const away = useNow() - at
  return (
    <time dateTime={new Date(at).toISOString()} title={exactTime(at)} className="whitespace-nowrap">
      {away < -1000 ? `in ${durationText(-away)}` : away < 2000 ? "now" : `${durationText(away)} ago`}
    </time>
  )
}

// Created once: a formatter takes far longer to create than to use, and every row of a list uses both.
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" })
const counts = new Intl.NumberFormat("en")

export const exactTime = (at: number): string => exact.format(at)

export const countText = (count: number): string => counts.format(count)

export const bytesText = (bytes: number): string => {
  if (bytes < 1000) return `${bytes} B`
  return bytes < 1_000_000 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}
