import { conclude, startChecks, testProjects, tests } from "./steps.mjs"

const filters = process.argv.slice(2)
conclude(await tests("tests", testProjects, filters, filters.length > 0 ? undefined : startChecks()))
