/** The address of a module in the same folder. Sources run as TypeScript, a built package as JavaScript. */
export const moduleBeside = (self: string, name: string): URL => new URL(`./${name}${self.endsWith(".ts") ? ".ts" : ".js"}`, self)
