import { StorageFolder } from "../../src/domain/Uri.ts"
import * as MemoryStorage from "../../src/storage/MemoryStorage.ts"
import { storageConformance } from "../../src/storage/testing/index.ts"

storageConformance("memory", MemoryStorage.layer, { folder: StorageFolder.make("mem://test/kit/"), runs: 100 })
