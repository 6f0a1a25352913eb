/** Vite loads style sheets by import. */
declare module "*.css"

/** The retry policy of commands, steps and timers that set none, in words. The build takes it from the machine package. */
declare const defaultRetry: string
