/**
 * How the search box of the site ranks sections; `search.mjs` checks the questions of readers with the same options. VitePress sends the
 * functions to the browser as text, so each of them uses nothing outside of itself.
 */
export const searchOptions = {
  fuzzy: 0.2,
  prefix: true,
  boost: { title: 4, text: 2, titles: 1 },
  /**
   * Generated lists and records contain every word of the guides: they rank below the page that explains.
   *
   * @param {string} address of a section
   */
  boostDocument: (address) => {
    if (/\/(reference\/(api|http|errors)|benchmarks|architecture)(\.html)?(#|$)/.test(address)) return 0.25
    return /\/reference\/cli(\.html)?(#|$)/.test(address) ? 0.5 : 1
  },
  /**
   * Leaves out words that every page has.
   *
   * @param {string} term
   */
  processTerm: (term) =>
    /^(a|an|and|are|at|be|can|do|does|for|from|how|i|if|in|is|it|my|of|on|or|the|to|what|when|where|which|with)$/i.test(term)
      ? null
      : term.toLowerCase(),
}
