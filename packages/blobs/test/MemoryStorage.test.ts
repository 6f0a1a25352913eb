import * as MemoryStorage from "../src/storage/MemoryStorage.ts"
import { StorageFolder } from "../src/storage/Storage.ts"
import { storageConformance } from "../testing/index.ts"

storageConformance("memory", MemoryStorage.layer, { folder: StorageFolder.make("mem://test/kit/"), runs: 100 })
