import { conclude, startChecks, tests } from "./steps.mjs"

const filters = process.argv.slice(2)
conclude(await (filters.length > 0 ? tests(filters) : tests([], startChecks())))
