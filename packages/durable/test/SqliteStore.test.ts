import { instancesConformance, journalConformance, leasesConformance, storeAgreement, timersConformance } from "../testing/index.ts"
import { sqliteHooks } from "./support/hooks.ts"
import { sqliteLayer } from "./support/Sqlite.ts"

journalConformance("SQLite", sqliteLayer, sqliteHooks)
instancesConformance("SQLite", sqliteLayer)
timersConformance("SQLite", sqliteLayer)
leasesConformance("SQLite", sqliteLayer)
storeAgreement("SQLite", sqliteLayer)
