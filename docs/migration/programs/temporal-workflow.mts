import { condition, defineQuery, defineSignal, proxyActivities, setHandler } from "@temporalio/workflow"

interface Activities {
  charge(order: string, total: number): Promise<string>
  ship(order: string): Promise<void>
}

const { charge, ship } = proxyActivities<Activities>({ startToCloseTimeout: "1 minute", retry: { maximumAttempts: 5 } })

export const approve = defineSignal<[string]>("approve")
export const status = defineQuery<string>("status")

export async function order(id: string, total: number): Promise<string> {
  let approvedBy: string | undefined
  let current = "waiting for approval"
  setHandler(approve, (by) => {
    approvedBy = by
  })
  setHandler(status, () => current)
  if (!(await condition(() => approvedBy !== undefined, "3 days"))) return "not approved in time"
  current = "charging"
  const receipt = await charge(id, total)
  current = "shipping"
  await ship(id)
  return `${receipt}, approved by ${approvedBy}`
}
