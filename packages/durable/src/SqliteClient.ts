/** The client for SQLite, of `@detent/store`. */
export * from "@detent/store/SqliteClient"
