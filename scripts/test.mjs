import { checks, conclude, tests } from "./steps.mjs"

const filters = process.argv.slice(2)
conclude(filters.length > 0 ? [tests(filters)] : [...checks(), tests([])])
