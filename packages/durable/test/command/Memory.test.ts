import * as MemoryStore from "../../src/MemoryStore.ts"
import { commandsConformance } from "../../testing/commandsConformance.ts"

commandsConformance("memory", MemoryStore.layer)
