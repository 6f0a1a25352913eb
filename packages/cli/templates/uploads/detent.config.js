/** What the `detent` command and the server know of this project: uploads of Hacker News items. */
export default { uploads: ["hacker-news"] }
