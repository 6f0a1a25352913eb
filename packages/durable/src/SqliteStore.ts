/** The store in a SQLite file, of `@detent/store`. */
export * from "@detent/store/SqliteStore"
