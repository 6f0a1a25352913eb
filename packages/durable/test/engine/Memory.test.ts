import * as MemoryStore from "../../src/MemoryStore.ts"
import { engineConformance } from "../../testing/index.ts"

engineConformance("memory", MemoryStore.layer)
