import { Client } from "@temporalio/client"
import { approve, order, status } from "./temporal-workflow.mts"

const client = new Client() // needs a Temporal server, and a worker that runs the workflow and the activities
const handle = await client.workflow.start(order, { taskQueue: "orders", workflowId: "order-7", args: ["order-7", 42] })
console.log(await handle.query(status))
await handle.signal(approve, "Grace")
console.log(await handle.result())
