import { checks, conclude } from "./steps.mjs"

const tallies = checks()
// `npm test` runs this in a child process beside the tests, and prints one result for both.
if (process.send === undefined) conclude(tallies)
else process.send(tallies)
