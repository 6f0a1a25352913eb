/** The current view of all orders, built from the actor system's inspections. */
import type { Inspection } from "@detent/machine"
import { S } from "../order/Order.ts"
import { stories } from "./Scenario.ts"

export interface Row {
  readonly orderId: string
  readonly customer: string
  readonly total: number
  state: typeof S.Type | undefined
  /** When the state was entered. */
  since: number
  /** Commands in flight. */
  readonly running: Set<string>
  refused: string | undefined
}

export class Board {
  readonly rows: ReadonlyArray<Row> = stories.map(({ orderId, customer, total }) => ({
    orderId,
    customer,
    total,
    state: undefined,
    since: 0,
    running: new Set(),
    refused: undefined,
  }))
  readonly refusals: Array<string> = []
  /** How often each command was executed. */
  readonly commands = new Map<string, number>()
  events = 0

  hear(inspection: Inspection) {
    const row = this.rows.find(({ orderId }) => orderId === inspection.id)
    if (row === undefined) return
    switch (inspection._tag) {
      case "Started":
        return enter(row, inspection.state, inspection.at)
      case "Decided":
        this.events++
        row.refused = undefined
        return enter(row, inspection.decision.state, inspection.at)
      case "Refused":
        this.refusals.push(inspection.error.message)
        row.refused = inspection.event
        return
      case "CommandStarted":
        row.running.add(inspection.slot)
        return
      case "CommandEnded":
        row.running.delete(inspection.slot)
        this.commands.set(inspection.slot, (this.commands.get(inspection.slot) ?? 0) + 1)
        return
    }
  }
}

const isOrder = (state: unknown): state is typeof S.Type => S.$tags.some((tag) => S.$is(tag)(state))

const enter = (row: Row, state: unknown, at: number) => {
  if (!isOrder(state)) return
  row.state = state
  row.since = at
}
