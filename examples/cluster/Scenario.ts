/** What happens to the nodes: they share the meters, one is killed, the others take over, it comes back. */
import { setTimeout as sleep } from "node:timers/promises"
import { NodeProcess, type NodeSettings } from "./NodeProcess.ts"

/** The place of a node: one that was killed and came back is another process at the same address. */
export interface Place {
  readonly address: string
  node: NodeProcess
  /** Readings that its processes sent and got an answer to. */
  readonly answered: Array<string>
}

export interface Stage {
  readonly places: ReadonlyArray<Place>
  /** What has just happened, for people. */
  readonly say: (text: string) => void
  /** How long each quiet stretch lasts, in milliseconds. */
  readonly quietMillis: number
}

const allShards = 300

export const startPlaces = (settings: ReadonlyArray<NodeSettings>): ReadonlyArray<Place> =>
  settings.map((one) => {
    const answered: Array<string> = []
    return { address: one.address, node: new NodeProcess(one, answered), answered }
  })

/** Until the nodes that are up have all shards, and each of them some. */
const untilShared = async (places: ReadonlyArray<Place>) => {
  for (;;) {
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
  say(`${victim.address} is killed with -9; what it had waits for the end of its lease`)
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
  say("no more events are sent; the nodes hand over what they have and end")
  // Until the last events are answered and reported.
  await sleep(500)
  for (const { node } of places) await node.stop()
}
