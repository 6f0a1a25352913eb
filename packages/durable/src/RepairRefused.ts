export { RepairRefused } from "@detent/machine"
