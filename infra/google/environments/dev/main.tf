terraform {
  required_version = ">= 1.9"

  # The bucket is given to `terraform init`: -backend-config=bucket=NAME
  backend "gcs" {
    prefix = "detent/dev"
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
  bucket_name                = "${var.project_id}-detent-dev"
  noncurrent_days            = 14
  database_instance_name     = "detent-dev"
  database_tier              = "db-f1-micro"
  database_availability_type = "ZONAL"
  database_max_connections   = 100
  database_retained_backups  = 7
  api_cpu                    = "1"
  api_memory                 = "2Gi"
  deletion_protection        = false
}
