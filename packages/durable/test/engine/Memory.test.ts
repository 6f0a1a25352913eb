import { MemoryStore } from "@detent/store"
import { engineConformance } from "../../testing/index.ts"

engineConformance("memory", MemoryStore.layer)
