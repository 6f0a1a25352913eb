import { QueryClient, QueryClientProvider } from "@tanstack/react-query"
import { StrictMode } from "react"
import { createRoot } from "react-dom/client"
import { isServerThere, Unreachable } from "./api/Client.ts"
import { App } from "./app/App.tsx"
import { pageOf } from "./app/pages.tsx"
import { startTheme } from "./app/theme.ts"
import { placeOf } from "./browser/Router.tsx"
import { ToastProvider } from "./parts/Toasts.tsx"
import "./style.css"

startTheme()

/**
 * A page that stays open while a new build is deployed requests files of the old build: it reloads, at most once in 30 seconds. While
 * the server is down it does not reload, because the browser would show an error page instead of the console.
 */
const reloadedKey = "detent-reloaded"
const reloadOnNewBuild = async () => {
  if (Date.now() - Number(sessionStorage.getItem(reloadedKey) ?? 0) < 30_000 || !(await isServerThere())) return
  sessionStorage.setItem(reloadedKey, String(Date.now()))
  location.reload()
}
addEventListener("vite:preloadError", () => void reloadOnNewBuild())

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // A refusal is not retried; a restarting server is.
      retry: (count, problem) => problem instanceof Unreachable && count < 2,
      retryDelay: 1000,
      networkMode: "always",
      refetchOnWindowFocus: false,
      gcTime: 60_000,
    },
    mutations: { networkMode: "always" },
  },
})

// Loads the page's file in parallel with the session. The page itself reports a failure.
pageOf(placeOf(location.pathname, location.search).names)
  ?.load()
  .catch(() => undefined)

const root = document.getElementById("root")
if (root === null) throw new Error("the page has no element with the id root")
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <ToastProvider>
        <App />
      </ToastProvider>
    </QueryClientProvider>
  </StrictMode>,
)
