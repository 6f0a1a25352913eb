import { RetryPolicy } from "@detent/machine"
import tailwindcss from "@tailwindcss/vite"
import { defineConfig } from "vite"

export default defineConfig({
  plugins: [tailwindcss()],
  define: { defaultRetry: JSON.stringify(RetryPolicy.summary(RetryPolicy.standard)) },
  build: {
    target: "es2023",
    outDir: "dist",
    // The server's content policy allows no inline script, and every browser of the target knows module preloads.
    modulePreload: { polyfill: false },
    // Pictures as data: addresses are not allowed either.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  server: { proxy: { "/api": "http://127.0.0.1:4400", "/health": "http://127.0.0.1:4400" } },
})
