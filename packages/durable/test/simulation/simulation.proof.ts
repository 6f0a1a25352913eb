/** `DETENT_SIMULATION_SCHEDULES=100000 npm run proofs -- test/simulation/simulation` is a longer run. */
import { describe } from "vitest"
import { randomSchedules } from "./randomSchedules.ts"

describe("simulation", () => randomSchedules(Number(process.env["DETENT_SIMULATION_SCHEDULES"] ?? 2000)))
