import { killedPrograms } from "./killedPrograms.ts"

killedPrograms({ onSqlite: 2, onPostgres: 2, theirs: 1 })
