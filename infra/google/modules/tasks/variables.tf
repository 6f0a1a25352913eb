variable "project_id" {
  description = "Project that holds the queue."
  type        = string
}

variable "region" {
  description = "Region of the queue."
  type        = string
}

variable "activity_runner_member" {
  description = "The only principal that creates tasks in the queue."
  type        = string
}
