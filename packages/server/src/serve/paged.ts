/** The answer that is a page: what is on it, and after which place the next begins. Without that it is the last. */
export const paged = <Items extends object, Next>(items: Items, next: Next | undefined): Items & { readonly next?: Next } =>
  next === undefined ? items : { ...items, next }
