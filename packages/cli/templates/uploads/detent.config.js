/** What the `detent` command and the server know of this project: uploads of objects with an `id`. */
export default { uploads: ["items"] }
