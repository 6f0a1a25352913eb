/** Sets and removes labels of an instance: through the server, or in this process without a server. */
import * as instances from "@detent/workspace/operations/instances"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { changed } from "../workspace/Changing.ts"
import type { RunningServer } from "../workspace/Server.ts"
import { addressOf } from "./Sending.ts"

const Labelled = Schema.Struct({ machine: Schema.String, id: Schema.String, labels: Schema.Record(Schema.String, Schema.String) })

export interface LabelChange {
  readonly instance: string
  /** Null removes a label. */
  readonly labels: Readonly<Record<string, string | null>>
  readonly key: string | undefined
}

/** Returns all labels of the instance. */
export const changeLabels = (server: RunningServer | undefined, { instance, labels, key }: LabelChange) =>
  Effect.gen(function* () {
    const { machine, id } = yield* instances.resolve(instance)
    const path = `${addressOf({ machine, id })}/labels`
    const change = { operation: "instances.label", params: { machine, id }, path, json: { labels }, answer: Labelled, key }
    return yield* changed(server, change, instances.label({ machine, id }, labels))
  })
