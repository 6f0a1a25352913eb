/** The scenario: the nodes share the meters, one is killed, the others take over, it restarts. */
import { setTimeout as sleep } from "node:timers/promises"
import { NodeProcess, type NodeSettings } from "./NodeProcess.ts"

/** The address of a node. A killed node restarts as another process at the same address. */
export interface Place {
  readonly address: string
  node: NodeProcess
  /** Readings that its processes sent and that were answered. */
  readonly answered: Array<string>
}

export interface Stage {
  readonly places: ReadonlyArray<Place>
  /** Prints a step of the scenario. */
  readonly say: (text: string) => void
  /** The time between two steps, in milliseconds. */
  readonly quietMillis: number
}

const allShards = 300

export const startPlaces = (settings: ReadonlyArray<NodeSettings>): ReadonlyArray<Place> =>
  settings.map((one) => {
    const answered: Array<string> = []
    return { address: one.address, node: new NodeProcess(one, answered), answered }
  })

/** Waits until the running nodes together have all shards, and each has some. Fails if a node has ended by itself. */
const untilShared = async (places: ReadonlyArray<Place>) => {
  for (;;) {
    const ended = places.find(({ node }) => !node.isUp && !node.wasKilled)
    if (ended !== undefined) throw new Error(`node ${ended.address} has ended; its error is above`)
    const shards = places.filter(({ node }) => node.isUp).map(({ node }) => node.shards)
    if (shards.every((count) => count > 0) && shards.reduce((sum, count) => sum + count, 0) === allShards) return
    await sleep(50)
  }
}

export const play = async ({ places, say, quietMillis }: Stage, restart: (place: Place) => NodeProcess) => {
  const sendAll = (isSending: boolean) => {
    for (const { node } of places) node.send(isSending)
  }
  await untilShared(places)
  say("three nodes share 300 shards, and each sends to all meters")
  sendAll(true)
  await sleep(quietMillis)
  const [, victim] = places
  if (victim === undefined) return
  await victim.node.kill()
  const killedAt = performance.now()
  say(`${victim.address} is killed with -9; its shards wait for the end of its lease`)
  await untilShared(places)
  say(`the others have all shards, ${((performance.now() - killedAt) / 1000).toFixed(1)} s after the kill`)
  await sleep(quietMillis)
  victim.node = restart(victim)
  say(`${victim.address} is started again`)
  await untilShared(places)
  victim.node.send(true)
  say("it has its share of the shards again")
  await sleep(quietMillis)
  sendAll(false)
  say("no more events are sent; the nodes hand over their shards and end")
  // Waits until the last events are answered and reported.
  await sleep(500)
  for (const { node } of places) await node.stop()
}
