/** Files of items that look like those of the site, of any size, with as many bad items as wanted. */
export { type BadKind, type GeneratedItem, type GenerateOptions, generateItems } from "./GeneratedItem.ts"
export { generateText, type ItemFileOptions, type Written, writeItemFile } from "./ItemFile.ts"
