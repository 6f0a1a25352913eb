import * as operations from "@detent/workspace/operations/batches"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { changed } from "../../workspace/Changing.ts"
import { keyOption } from "../shared.ts"
import { afterAsking, batch, changeOf } from "./shared.ts"

const Withdrawn = Schema.Struct({ batchId: Schema.String, namespace: Schema.String, version: Schema.optionalKey(Schema.String) })

export default command(
  {
    name: "batch withdraw",
    summary: "remove the facts of a batch from its graph",
    detail:
      "The batch and its artifacts stay. The graph gets a new version without the batch.\n" +
      "Refused where the graph would violate shapes that it does not violate now.",
    arguments: [batch],
    options: [{ name: "force", kind: "flag", summary: "withdraw even if the graph would then violate its shapes" }, keyOption],
    examples: [{ line: "detent batch withdraw batch-3f9c2a71b0d4", says: "asks first; --yes confirms" }],
  },
  (input) =>
    afterAsking(
      input,
      ({ batchId, targetNamespace }) => `Remove the facts of ${batchId} from the graph ${targetNamespace}?`,
      (server, id) =>
        Effect.gen(function* () {
          const output = yield* Output
          const { force } = input
          const change = { ...changeOf("withdraw", id, input.key), json: { force }, answer: Withdrawn }
          const withdrawn = yield* changed(server, change, operations.withdraw(id, { force }))
          const { namespace, version } = withdrawn
          const state = yield* operations.state(id)
          const hadTriples = "stats" in state && state.stats.triplesIngested > 0
          const nothing = hadTriples ? `nothing of ${id} is in ${namespace} any more\n` : `${id} has added nothing to ${namespace}\n`
          yield* output.value(withdrawn, () => (version === undefined ? nothing : `${namespace} is at version ${version}, without ${id}\n`))
        }),
    ),
)
