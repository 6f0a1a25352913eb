/** The machine of a project that `detent init` makes. */
export { E, Order, S } from "../../../packages/cli/templates/order/src/Order.ts"
