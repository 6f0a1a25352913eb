terraform {
  required_version = ">= 1.9"

  # The bucket is given to `terraform init`: -backend-config=bucket=NAME
  backend "gcs" {
    prefix = "detent/prod"
  }
}

provider "google" {
  project = var.project_id
  region  = var.region
}

module "detent" {
  source = "../.."

  project_id                 = var.project_id
  region                     = var.region
  image                      = var.image
  bucket_name                = "${var.project_id}-detent-prod"
  noncurrent_days            = 45
  database_instance_name     = "detent-prod"
  database_tier              = "db-custom-2-7680"
  database_availability_type = "REGIONAL"
  database_max_connections   = 200
  database_retained_backups  = 30
  api_cpu                    = "2"
  api_memory                 = "4Gi"
  deletion_protection        = true
}
