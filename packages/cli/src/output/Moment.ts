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

export const durationText = (millis: number): string => {
  if (millis < 1000) return `${Math.round(millis)} ms`
  const seconds = millis / 1000
  if (seconds < 60) return `${seconds.toFixed(1)} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
