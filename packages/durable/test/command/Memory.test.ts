import * as MemoryStore from "../../src/MemoryStore.ts"
import { commandsConformance } from "../../src/testing/commandsConformance.ts"

commandsConformance("memory", MemoryStore.layer)
