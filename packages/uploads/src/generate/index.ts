/** Generates files of items that resemble those of Hacker News, of any size, with a chosen share of invalid items. */
export { type BadKind, type GeneratedItem, type GenerateOptions, generateItems } from "./GeneratedItem.ts"
export { generateText, type ItemFileOptions, type Written, writeItemFile } from "./ItemFile.ts"
