/** Locations in buckets, where a workspace and its documents may be: `gs://BUCKET/PREFIX`, `s3://BUCKET/PREFIX`. */

/**
 * Whether a location that a user names is an address and not a path. One of another scheme, like `http://`, and one with a slash missing,
 * like `gs:/`, are refused where they are opened, as a bucket with an impossible name is. Taken for a path, each would become a folder.
 */
export const isBucketLocation = (location: string): boolean => /^(?:[a-z][a-z0-9+.-]{1,20}:\/\/|(?:gs|s3):)/i.test(location)
