/** Everything that a pull request runs, on one machine: checks, tests and all proofs, with one closing line. */
import { conclude, proofProjects, startChecks, testProjects, tests } from "./steps.mjs"

const tallies = await tests("tests", testProjects, [], startChecks())
conclude([...tallies, ...(await tests("proofs", proofProjects, []))])
