import { conclude, proofProjects, tests } from "./steps.mjs"

conclude(await tests("proofs", proofProjects, process.argv.slice(2)))
