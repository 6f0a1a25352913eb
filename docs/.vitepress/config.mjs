/** The site: local search, no request to any other host. */
import { slug } from "../../scripts/markdown.mjs"
import { searchOptions } from "../searchOptions.mjs"
import { sidebar } from "../sidebar.mjs"

export default {
  title: "Detent",
  description: "Durable state machines and batch workflows for TypeScript",
  lang: "en",
  // Where `detent serve` serves it. `npm run docs -- --base /` builds it for another place.
  base: "/docs/guide/",
  cleanUrls: true,
  head: [["link", { rel: "icon", type: "image/svg+xml", href: "/docs/guide/logo.svg" }]],
  srcExclude: ["test/**", "snippets/**"],
  // The same anchors as on GitHub, where the pages are read too.
  markdown: { anchor: { slugify: slug } },
  // The search index of the reference pages is one chunk, which is loaded when the search box opens.
  vite: { build: { chunkSizeWarningLimit: 2000 } },
  themeConfig: {
    logo: "/logo.svg",
    search: { provider: "local", options: { miniSearch: { searchOptions } } },
    sidebar,
    outline: { level: [2, 3] },
    nav: [
      { text: "Getting started", link: "/getting-started" },
      { text: "Guides", link: "/guides/define" },
      { text: "Reference", link: "/reference/configuration" },
    ],
  },
}
