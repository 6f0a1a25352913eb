/**
 * The rules of commands and their workers, as tests; the numbers are those of the conformance list.
 *
 *     commandsConformance("SQLite", sqliteLayer)
 */

import type { CommandHooks, CommandStoreLayer, Topic } from "@detent/store/testing/CommandKit"
import { describe, layer } from "@effect/vitest"
import { claiming } from "./command/claiming.ts"
import { closing } from "./command/closing.ts"
import { executing } from "./command/executing.ts"
import { finishing } from "./command/finishing.ts"
import { groups } from "./command/groups.ts"
import { keys } from "./command/keys.ts"
import { limiting } from "./command/limiting.ts"
import { ordering } from "./command/ordering.ts"
import { outages } from "./command/outages.ts"
import { repeating } from "./command/repeating.ts"
import { reporting } from "./command/reporting.ts"
import { requested } from "./command/requested.ts"
import { retrying } from "./command/retrying.ts"
import { sharing } from "./command/sharing.ts"
import { storing } from "./command/storing.ts"

const topics: ReadonlyArray<Topic> = [
  storing,
  keys,
  claiming,
  finishing,
  limiting,
  groups,
  repeating,
  ordering,
  executing,
  sharing,
  outages,
  requested,
  closing,
  retrying,
  reporting,
]

export const commandsConformance = <R = never>(name: string, store: CommandStoreLayer<R>, hooks: CommandHooks<R> = {}): void => {
  // Most rules wait for claims to end, each in a queue of its own: several are tested side by side.
  describe.concurrent(`${name}: commands`, () =>
    layer(store, { excludeTestServices: true, timeout: "60 seconds" })((it) => {
      for (const topic of topics) topic<R>(it as never, hooks)
    }))
}
