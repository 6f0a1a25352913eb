import { ExecutionCancelled, openEngine, workflow } from "@detent/durable/promise"
import * as Schema from "effect/Schema"

const Signature = workflow(
  { name: "signature", input: { document: Schema.String }, events: { signed: Schema.String } },
  async (_, durable) => durable.waitForEvent("signed"),
)

await using engine = await openEngine({ database: "memory", nodeId: "office", workflows: [Signature] })

// #region control
await engine.workflows.start(Signature, "contract-7", { document: "contract.pdf" })
console.log(await engine.workflows.result(Signature, "contract-7")) // undefined: it has not ended
await engine.workflows.sendEvent(Signature, "contract-7", "signed", "Ada")
console.log(await engine.workflows.run(Signature, "contract-7", { document: "contract.pdf" })) // waits for the result
console.log(await engine.workflows.result(Signature, "contract-7"))

await engine.workflows.start(Signature, "contract-8", { document: "contract.pdf" })
await engine.workflows.cancel(Signature, "contract-8")
try {
  await engine.workflows.run(Signature, "contract-8", { document: "contract.pdf" })
} catch (error) {
  if (error instanceof ExecutionCancelled) console.log(error.message)
  else throw error
}
// #endregion control
