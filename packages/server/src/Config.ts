/** The configuration of a workspace, re-exported for configurations that import it from the server. */
export * from "@detent/workspace/Config"
