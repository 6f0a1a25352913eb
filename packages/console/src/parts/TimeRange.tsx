/** The range of time of a list, as `since` and `until` of the address. */
import { clockSkew } from "../api/Client.ts"
import { setQuery, useQueryState } from "../browser/Router.tsx"
import { Button } from "./Button.tsx"
import { Choice } from "./Filters.tsx"
import { exactTime } from "./Moment.tsx"

const hour = 3_600_000

const starts: Readonly<Record<string, (now: number) => number>> = {
  "the last 15 minutes": (now) => now - hour / 4,
  "the last hour": (now) => now - hour,
  today: (now) => new Date(now).setHours(0, 0, 0, 0),
  "the last 24 hours": (now) => now - 24 * hour,
  "the last 7 days": (now) => now - 7 * 24 * hour,
}

const timeIn = (text: string | undefined): number | undefined => (text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined)

/** The range that the address names, in milliseconds since 1970. */
export const useTimeRange = () => {
  const query = useQueryState()
  return { since: timeIn(query.get("since")), until: timeIn(query.get("until")) }
}

/** `what` happened in the range: `changed`. */
export const TimeRange = ({ what }: { readonly what: string }) => {
  const { since, until } = useTimeRange()
  if (since === undefined && until === undefined)
    return (
      <Choice
        label={`When it was ${what}`}
        value=""
        any={`${what} at any time`}
        options={Object.keys(starts)}
        onChange={(name) => setQuery({ since: starts[name]?.(Date.now() + clockSkew()), until: undefined })}
      />
    )
  return (
    <Button look="quiet" icon="close" onClick={() => setQuery({ since: undefined, until: undefined })}>
      {what}
      {since === undefined ? "" : ` after ${exactTime(since)}`}
      {until === undefined ? "" : ` before ${exactTime(until)}`}
    </Button>
  )
}

/** The same range as options of a command. */
export const rangeOptions = (since: number | undefined, until: number | undefined): ReadonlyArray<string> => [
  ...(since === undefined ? [] : [`--since ${new Date(since).toISOString()}`]),
  ...(until === undefined ? [] : [`--until ${new Date(until).toISOString()}`]),
]
