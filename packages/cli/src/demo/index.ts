/** The sample shop of `detent dev --demo` and `npm run demo`. */

export { bankAnswersAfter, type DemoOrder, firstOrders, fullMailboxes, unpaidOrder } from "./orders.ts"
export { type Charge, type Provider, type ProviderOptions, serveProvider } from "./Provider.ts"
export { makeShop } from "./Shop.ts"
