/** What the `detent` command and the server know of this project: batches of documents and their graph. */
export default { knowledge: {} }
