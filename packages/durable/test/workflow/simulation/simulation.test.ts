import { madeUpWorkflows } from "./madeUpWorkflows.ts"

madeUpWorkflows(8)
