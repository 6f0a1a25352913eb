import * as MemoryStorage from "../../src/storage/MemoryStorage.ts"
import { StorageFolder } from "../../src/storage/Uri.ts"
import { storageConformance } from "../../testing/index.ts"

storageConformance("memory", MemoryStorage.layer, { folder: StorageFolder.make("mem://test/kit/"), runs: 100 })
