variable "project_id" {
  description = "Google Cloud project of this environment."
  type        = string
}

variable "region" {
  description = "Region of everything."
  type        = string
}

variable "image" {
  description = "Image to run: REGION-docker.pkg.dev/PROJECT/detent/detent:TAG."
  type        = string
}
