import { databases } from "../support/Databases.ts"
import { allFormats, killedFormats } from "./formats.ts"

for (const database of databases) killedFormats(database, allFormats)
