variable "project_id" {
  description = "Project that holds the bucket."
  type        = string
}

variable "region" {
  description = "Where the objects are."
  type        = string
}

variable "bucket_name" {
  description = "Name of the bucket, unique in the world."
  type        = string
}

variable "noncurrent_days" {
  description = "How long replaced and deleted objects are kept."
  type        = number
}

variable "force_destroy" {
  description = "Whether `terraform destroy` deletes the objects too."
  type        = bool
}

variable "activity_runner_member" {
  description = "The one principal that reads and writes objects."
  type        = string
}
