import { checks, conclude } from "./steps.mjs"

conclude(checks())
