/** Decides on entities of a graph, through the server or in this process, and shows the decisions. */
import { IdentityDecision, type IdentityRequest, type Namespace } from "@detent/knowledge"
import * as operations from "@detent/workspace/operations/identities"
import { optional } from "@detent/workspace/optional"
import * as Effect from "effect/Effect"
import { ownName } from "../batch/Reviewing.ts"
import { momentText } from "../output/Moment.ts"
import { Output } from "../output/Output.ts"
import type { Style } from "../output/Style.ts"
import { pairsText } from "../output/Table.ts"
import { changed } from "../workspace/Changing.ts"
import { knowledge, type Place } from "../workspace/Opening.ts"
import { type RunningServer, runningServerWith } from "../workspace/Server.ts"
import { chooseGraph } from "./chooseGraph.ts"

const { acting, observing } = knowledge

export interface DecideIdentity extends IdentityRequest {
  readonly reason: string | undefined
  readonly by: string | undefined
  readonly key: string | undefined
}

/** The options of a decision, without those of the command. */
export const decisionOf = ({ reason, by, key }: Omit<DecideIdentity, keyof IdentityRequest>) => ({ reason, by, key })

/** Makes a decision in a graph. */
export const decideIdentity = (
  server: RunningServer | undefined,
  namespace: Namespace,
  { key, by = ownName(), reason, documents, ...request }: DecideIdentity,
) => {
  const json = { ...request, ...optional({ documents, reason }), by }
  return changed(
    server,
    {
      operation: "knowledge.decideIdentity",
      params: { namespace },
      path: `/api/v1/knowledge/${namespace}/identities`,
      key,
      json,
      answer: IdentityDecision,
    },
    operations.decide(namespace, json),
  )
}

/** Undoes a decision. */
export const undoIdentity = (
  server: RunningServer | undefined,
  namespace: Namespace,
  { decision, by = ownName(), key }: { readonly decision: number; readonly by: string | undefined; readonly key: string | undefined },
) =>
  changed(
    server,
    {
      operation: "knowledge.undoIdentity",
      params: { namespace, decision },
      path: `/api/v1/knowledge/${namespace}/identities/${decision}/undo`,
      key,
      json: { by },
      answer: IdentityDecision,
    },
    operations.undo(namespace, decision, by),
  )

type ChangeInput = Place & { readonly namespace: string | undefined }

/** Changes the graph that the user names, and shows the decision. */
export const decidedIn = <E, R>(
  input: ChangeInput,
  change: (server: RunningServer | undefined, namespace: Namespace) => Effect.Effect<IdentityDecision, E, R>,
) =>
  Effect.gen(function* () {
    const server = yield* runningServerWith(input, "knowledge")
    return yield* Effect.gen(function* () {
      const output = yield* Output
      const { namespace } = yield* chooseGraph(input.namespace)
      const decision = yield* change(server, namespace)
      yield* output.value(decision, () => decisionText(decision, output.style))
    }).pipe(Effect.provide(server === undefined ? acting(input) : observing(input)))
  })

/** What a decision says, in a few words. */
export const saidText = ({ kind, entities: [first = "", ...others] }: IdentityDecision): string => {
  switch (kind) {
    case "merge":
      return `${others.join(", ")} is ${first}`
    case "split":
      return `${others.join(", ")} taken out of ${first}`
    case "different":
      return `${first} is not ${others.join(", ")}`
  }
}

const decisionText = (decision: IdentityDecision, style: Style): string => {
  const { id, state, mentions, by, at, reason, undoneBy, undoneAt, namespace } = decision
  return pairsText(
    [
      ["decision", id],
      ["graph", namespace],
      ["says", saidText(decision)],
      ["mentions", mentions],
      ["by", `${by}, ${momentText(at)}`],
      ["reason", reason],
      ["undone", undoneBy === undefined ? undefined : `by ${undoneBy}, ${momentText(undoneAt ?? 0)}`],
      ["state", state],
      ["undo it", state === "undone" ? undefined : `detent graph undo ${id} --namespace ${namespace}`],
    ],
    style,
  )
}
