variable "project_id" {
  description = "Project that holds the database."
  type        = string
}

variable "region" {
  description = "Region of the instance and of its network."
  type        = string
}

variable "instance_name" {
  description = "Name of the Cloud SQL instance. A deleted name can be used again after a week."
  type        = string
}

variable "tier" {
  description = "Machine type of the instance."
  type        = string
}

variable "availability_type" {
  description = "ZONAL, or REGIONAL with a standby in another zone."
  type        = string

  validation {
    condition     = contains(["ZONAL", "REGIONAL"], var.availability_type)
    error_message = "availability_type is ZONAL or REGIONAL."
  }
}

variable "max_connections" {
  description = "Connections that the instance accepts: ten for the API and for each activity that runs at once, and some to spare."
  type        = number
}

variable "retained_backups" {
  description = "How many daily backups are kept."
  type        = number
}

variable "deletion_protection" {
  description = "Whether the instance is kept when `terraform destroy` runs."
  type        = bool
}

variable "subnet_range" {
  description = "Addresses for Cloud Run in the network of the database."
  type        = string
}
