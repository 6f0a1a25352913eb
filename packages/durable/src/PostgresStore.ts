/** The store on PostgreSQL, of `@detent/store`. */
export * from "@detent/store/PostgresStore"
