variable "project_id" {
  description = "Project that holds the bucket."
  type        = string
}

variable "region" {
  description = "Region of the bucket."
  type        = string
}

variable "bucket_name" {
  description = "Globally unique name of the bucket."
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
  description = "The only principal that reads and writes objects."
  type        = string
}
