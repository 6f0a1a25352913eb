/** Vite loads style sheets by import. */
declare module "*.css"
