/** The same as detent.ts through the Promise API: instances, each sent its next event when the last one is stored. */
import { type DatabaseAddress, openEngine } from "@detent/durable/promise"
import { E, payload, Toggle } from "../machines/toggle.ts"
import { sideBySide, type ThroughputOptions, throughputOf } from "../Throughput.ts"

export const postgres = ({ database, concurrency }: ThroughputOptions) => storing(database as DatabaseAddress, concurrency)

export const sqlite = ({ database, concurrency }: ThroughputOptions) => storing(`sqlite:${database}`, concurrency)

const storing = async (database: DatabaseAddress, concurrency: number) => {
  const engine = await openEngine({ database, machines: [Toggle] })
  const instances = await Promise.all(Array.from({ length: concurrency }, (_, index) => engine.start(Toggle, `toggle-${index}`)))
  return throughputOf({
    store: (isOver) =>
      sideBySide(concurrency, async (index) => {
        let sent = 0
        while (!isOver()) {
          await instances[index]?.send(E.Turn({ payload }))
          sent++
        }
        return sent
      }),
    count: async () => {
      const snapshots = await Promise.all(instances.map((instance) => instance.snapshot()))
      return snapshots.reduce((sum, { sequence }) => sum + sequence, 0)
    },
    close: () => engine.close(),
  })
}
