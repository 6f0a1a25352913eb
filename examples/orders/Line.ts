/** One line per inspection, for output that cannot be redrawn: files, pipes, logs. */
import type { Inspection } from "@detent/machine"
import { S } from "../order/Order.ts"
import type { Style } from "./Style.ts"

/** The line of an inspection; undefined for those that are not printed. */
export const line = (inspection: Inspection, style: Style, startedAt: number): string | undefined => {
  const seconds = ((inspection.at - startedAt) / 1000).toFixed(2)
  const text = story(inspection, style)
  return text === undefined ? undefined : `${style.dim(`${seconds} s`)}  ${inspection.id}  ${text}`
}

const story = (inspection: Inspection, style: Style): string | undefined => {
  switch (inspection._tag) {
    case "Started":
      return `begins as ${inspection.state._tag}`
    case "Decided": {
      const { from, state, event, requests } = inspection.decision
      const cause = event._tag === "@timeout" ? style.yellow("timeout") : event._tag
      const reason = S.Cancelled.is(state) ? ` (${state.reason})` : ""
      const commands = requests.length === 0 ? "" : `, requests ${requests.map(({ slot }) => style.cyan(slot)).join(", ")}`
      return `${cause}: ${from._tag} → ${style.bold(state._tag)}${reason}${commands}`
    }
    case "Refused":
      return style.red(`${inspection.event} is refused: ${inspection.error.message}`)
    case "CommandEnded":
      return `${style.cyan(inspection.slot)} is executed`
    default:
      return undefined
  }
}
