import {
  instancesConformance,
  journalConformance,
  leasesConformance,
  ownershipConformance,
  searchConformance,
  storeAgreement,
  timersConformance,
} from "../testing/index.ts"
import { postgresHooks } from "./support/hooks.ts"
import { postgresLayer } from "./support/Postgres.ts"

journalConformance("PostgreSQL", postgresLayer, postgresHooks)
instancesConformance("PostgreSQL", postgresLayer)
timersConformance("PostgreSQL", postgresLayer)
leasesConformance("PostgreSQL", postgresLayer)
ownershipConformance("PostgreSQL", postgresLayer)
searchConformance("PostgreSQL", postgresLayer)
storeAgreement("PostgreSQL", postgresLayer)
