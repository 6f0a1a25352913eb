import { actorText } from "@detent/durable"
import { audit } from "@detent/workspace/operations/access"
import * as Effect from "effect/Effect"
import { command } from "../../line/Command.ts"
import { momentOf, momentText } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"
import { observing } from "../../workspace/Opening.ts"
import { filters } from "./shared.ts"

export default command(
  {
    name: "audit list",
    summary: "what operators did, newest first: who, when, what, and how it ended",
    detail: "Starts and events of instances are in their histories: `detent instance history`.",
    arguments: [],
    options: [
      ...filters,
      { name: "limit", kind: "integer", value: "N", default: 100, minimum: 1, summary: "at most this many entries; the maximum is 1000" },
      { name: "before", kind: "integer", value: "N", minimum: 1, summary: "only entries before number N" },
    ],
    examples: [
      { line: 'detent audit list --actor "user ada" --since 2days', says: "what ada did since the day before yesterday" },
      { line: "detent audit list --operation access.", says: "tokens that were made, rotated and revoked" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { actor, operation, limit, before } = input
      const since = yield* momentOf("since", input.since)
      const { entries, next } = yield* audit({ actor, operation, since, limit, before })
      yield* output.rows(
        entries,
        [
          { title: "#", of: ({ number }) => number },
          { title: "AT", of: ({ at }) => momentText(at) },
          { title: "BY", of: (entry) => actorText(entry.actor) },
          { title: "OPERATION", of: (entry) => entry.operation, looks: (text, _, style) => style.bold(text) },
          { title: "OBJECT", of: ({ object }) => Object.values(object).map(String).join("/") },
          { title: "DETAIL", of: ({ detail }) => (Object.keys(detail).length === 0 ? "" : JSON.stringify(detail)) },
          { title: "REFUSED", of: ({ problem }) => problem ?? "", looks: (text, _, style) => style.yellow(text) },
        ],
        "no entries",
      )
      if (next !== undefined) yield* output.note(`more with --before ${next}`)
    }).pipe(Effect.provide(observing(input))),
)
