/** Locations in buckets, where a workspace and its documents may be: `gs://BUCKET/PREFIX`, `s3://BUCKET/PREFIX`. */

/** Whether a location that a user names is in a bucket. All others are paths. */
export const isBucketLocation = (location: string): boolean => /^(gs|s3):\/\//.test(location)
