/** Locations in buckets, where a workspace and its documents may be: `gs://BUCKET/PREFIX`, `s3://BUCKET/PREFIX`. */

/**
 * Whether a location that a user names is an address and not a path. Addresses of other schemes, like `http://`, and with a missing
 * slash, like `gs:/`, count too: they are refused when they are opened, as an invalid bucket name is. As paths, they would become folders.
 */
export const isBucketLocation = (location: string): boolean => /^(?:[a-z][a-z0-9+.-]{1,20}:\/\/|(?:gs|s3):)/i.test(location)
