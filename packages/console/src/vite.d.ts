/** Vite takes styles by import. */
declare module "*.css"
