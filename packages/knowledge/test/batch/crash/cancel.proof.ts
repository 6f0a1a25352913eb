import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { cancelConformance } from "./cancelConformance.ts"

cancelConformance("SQLite", async (folder) => {
  const address = join(folder, "batch.db")
  return {
    address,
    statuses: async () => {
      const database = new DatabaseSync(address, { timeout: 5000 })
      try {
        return database
          .prepare("select status from extraction_runs")
          .all()
          .map(({ status }) => String(status))
      } finally {
        database.close()
      }
    },
  }
})
