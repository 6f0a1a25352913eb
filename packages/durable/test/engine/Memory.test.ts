import * as MemoryStore from "../../src/MemoryStore.ts"
import { engineConformance } from "../../src/testing/index.ts"

engineConformance("memory", MemoryStore.layer)
