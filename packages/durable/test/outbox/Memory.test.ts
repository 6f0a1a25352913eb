import { MemoryStore } from "@detent/store"
import { commandsConformance } from "../../testing/commandsConformance.ts"

commandsConformance("memory", MemoryStore.layer)
