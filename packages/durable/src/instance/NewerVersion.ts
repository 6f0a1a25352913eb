export { NewerVersion } from "@detent/machine"
