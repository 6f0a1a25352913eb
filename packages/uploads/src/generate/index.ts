/** Generates files of items, the posts of a forum, of any size, with a chosen share of invalid items. */
export { type BadKind, type GeneratedItem, type GenerateOptions, generateItems } from "./GeneratedPost.ts"
export { generateText, type ItemFileOptions, type Written, writeItemFile } from "./ItemFile.ts"
export { Post, Posts } from "./Post.ts"
