/** What the image serves by itself. A detent.config.ts of yours beside it is taken instead. */
export default { knowledge: {}, uploads: ["hacker-news"] }
