variable "project_id" {
  description = "Project that holds the queue."
  type        = string
}

variable "region" {
  description = "Region of the queue."
  type        = string
}

variable "activity_runner_member" {
  description = "The one principal that puts tasks into the queue."
  type        = string
}
