export { InstanceNotFound } from "@detent/machine"
