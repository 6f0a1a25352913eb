# Documents, artifacts, graphs and uploaded files. Earlier versions of an object are kept for a while, so that a workspace can be
# restored together with its database.
resource "google_storage_bucket" "main" {
  project  = var.project_id
  name     = var.bucket_name
  location = var.region

  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  force_destroy               = var.force_destroy

  versioning {
    enabled = true
  }

  lifecycle_rule {
    condition {
      days_since_noncurrent_time = var.noncurrent_days
      with_state                 = "ARCHIVED"
    }
    action {
      type = "Delete"
    }
  }

  # Incomplete uploads of killed processes.
  lifecycle_rule {
    condition {
      age = 7
    }
    action {
      type = "AbortIncompleteMultipartUpload"
    }
  }
}

resource "google_storage_bucket_iam_member" "activity_runner" {
  bucket = google_storage_bucket.main.name
  role   = "roles/storage.objectAdmin"
  member = var.activity_runner_member
}
