import { DBOS } from "@dbos-inc/dbos-sdk"

async function bookTrip(traveller: string): Promise<string> {
  const seat = await DBOS.runStep(async () => `12A for ${traveller}`, { name: "book the flight", retriesAllowed: true, maxAttempts: 5 })
  await DBOS.sleep(20)
  const by = await DBOS.recv<string>("confirmed", 3 * 24 * 60 * 60)
  return by === null ? "not confirmed in time" : `seat ${seat}, confirmed by ${by}`
}

const trip = DBOS.registerWorkflow(bookTrip, { name: "trip" })

DBOS.setConfig({ name: "travel", systemDatabaseUrl: process.env["DATABASE_URL"] ?? "", logLevel: "error" })
await DBOS.launch()
const handle = await DBOS.startWorkflow(trip, { workflowID: "trip-1" })("Ada")
await DBOS.send("trip-1", "Grace", "confirmed")
console.log(await handle.getResult())
await DBOS.shutdown()
