/** The configuration of a workspace, under the name that configurations written for the server import. */
export * from "@detent/workspace/Config"
