/** Locations in buckets, where a workspace and its documents may be: `gs://BUCKET/PREFIX`, `s3://BUCKET/PREFIX`. */

/**
 * Whether a location that a user names is an address and not a path. One of another scheme, like `http://`, is refused where it is opened,
 * as a bucket with an impossible name is. Taken for a path, it would become a folder with that name.
 */
export const isBucketLocation = (location: string): boolean => /^[a-z][a-z0-9+.-]{1,20}:\/\//i.test(location)
