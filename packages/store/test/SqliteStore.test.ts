import {
  instancesConformance,
  journalConformance,
  leasesConformance,
  ownershipConformance,
  searchConformance,
  storeAgreement,
  timersConformance,
} from "../testing/index.ts"
import { sqliteHooks } from "./support/hooks.ts"
import { sqliteLayer } from "./support/Sqlite.ts"

journalConformance("SQLite", sqliteLayer, sqliteHooks)
instancesConformance("SQLite", sqliteLayer)
timersConformance("SQLite", sqliteLayer)
leasesConformance("SQLite", sqliteLayer)
ownershipConformance("SQLite", sqliteLayer)
searchConformance("SQLite", sqliteLayer)
storeAgreement("SQLite", sqliteLayer)
