/** Times in diagrams: always in UTC, so that the same trace gives the same picture everywhere. */
import * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"

/** `2026-03-01 12:00:00`, or the number itself where it is not a date. */
export const moment = (at: number): string =>
  Option.match(DateTime.make(at), {
    onNone: () => String(at),
    onSome: (date) => DateTime.formatIso(date).slice(0, -5).replace("T", " "),
  })

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
  ["ms", 1],
] as const

/** The two largest units of a duration: `1 h 30 min`, `2 s 500 ms`. */
export const elapsed = (milliseconds: number): string => {
  if (!Number.isFinite(milliseconds)) return String(milliseconds)
  let rest = Math.max(0, Math.round(milliseconds))
  const parts: Array<string> = []
  for (const [unit, size] of units) {
    const count = Math.floor(rest / size)
    rest -= count * size
    if (count > 0) parts.push(`${count} ${unit}`)
    if (parts.length === 2) break
  }
  return parts.length === 0 ? "0 s" : parts.join(" ")
}
