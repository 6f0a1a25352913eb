/** Times for people. */
import * as DateTime from "effect/DateTime"

/** In Universal Time, to the second: the same on every machine. */
export const momentText = (millis: number): string => {
  const time = DateTime.make(millis)
  return time._tag === "None"
    ? "?"
    : DateTime.formatIso(time.value)
        .replace("T", " ")
        .replace(/\.\d+Z$/, "Z")
}

/** Rounded to the nearest of the smallest unit that it shows. */
export const durationText = (millis: number): string => {
  if (Math.round(millis) < 1000) return `${Math.round(millis)} ms`
  const tenths = Math.round(millis / 100)
  if (tenths < 600) return `${(tenths / 10).toFixed(1)} s`
  const seconds = Math.round(millis / 1000)
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  const minutes = Math.round(millis / 60_000)
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
