import { checks, conclude } from "./steps.mjs"

const tallies = checks()
// `npm test` runs the checks beside the tests, and concludes on both.
if (process.send === undefined) conclude(tallies)
else process.send(tallies)
