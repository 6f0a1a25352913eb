/** The client for PostgreSQL, of `@detent/store`. */
export * from "@detent/store/PgClient"
