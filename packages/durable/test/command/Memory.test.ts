import { layer } from "@effect/vitest"
import * as MemoryStore from "../../src/MemoryStore.ts"
import { keys } from "../../testing/command/keys.ts"
import { commandsConformance } from "../../testing/commandsConformance.ts"

commandsConformance("memory", MemoryStore.layer)

layer(MemoryStore.layer, { excludeTestServices: true })("memory: keys of commands", (it) => keys(it, {}))
