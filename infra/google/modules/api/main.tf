# The token of the HTTP API.
resource "random_password" "token" {
  length  = 48
  special = false
}

resource "google_secret_manager_secret" "token" {
  project   = var.project_id
  secret_id = "detent-token"

  replication {
    auto {}
  }
}

resource "google_secret_manager_secret_version" "token" {
  secret      = google_secret_manager_secret.token.id
  secret_data = random_password.token.result
}

# The server with its workers. One instance is always on and has CPU also between requests, so that timers and batches run without
# requests. Instances of Cloud Run cannot address each other, so there is one; a cluster needs GKE or virtual machines.
resource "google_cloud_run_v2_service" "api" {
  project             = var.project_id
  name                = "api-server"
  location            = var.region
  ingress             = "INGRESS_TRAFFIC_ALL"
  deletion_protection = var.deletion_protection

  # The server itself checks the token of the API and the signature of calls of Cloud Tasks. Cloud Run's own check removes the signature
  # and accepts only Google's tokens.
  invoker_iam_disabled = true

  template {
    service_account                  = var.activity_runner_email
    timeout                          = "3600s"
    max_instance_request_concurrency = 1000

    scaling {
      min_instance_count = 1
      max_instance_count = 1
    }

    containers {
      image = var.image
      args  = ["serve", "--host=0.0.0.0", "--port=4400"]

      ports {
        container_port = 4400
      }

      resources {
        limits = {
          cpu    = var.cpu
          memory = var.memory
        }
        cpu_idle          = false
        startup_cpu_boost = true
      }

      dynamic "env" {
        for_each = var.environment

        content {
          name  = env.key
          value = env.value
        }
      }

      dynamic "env" {
        for_each = merge(var.secret_environment, { DETENT_TOKEN = google_secret_manager_secret.token.secret_id })

        content {
          name = env.key

          value_source {
            secret_key_ref {
              secret  = env.value
              version = "latest"
            }
          }
        }
      }

      startup_probe {
        period_seconds    = 5
        timeout_seconds   = 5
        failure_threshold = 24

        http_get {
          path = "/health/ready"
          port = 4400
        }
      }

      liveness_probe {
        period_seconds    = 30
        timeout_seconds   = 5
        failure_threshold = 4

        http_get {
          path = "/health/live"
          port = 4400
        }
      }
    }

    vpc_access {
      egress = "PRIVATE_RANGES_ONLY"

      network_interfaces {
        network    = var.network
        subnetwork = var.subnetwork
      }
    }
  }

  depends_on = [
    google_secret_manager_secret_version.token,
    google_secret_manager_secret_iam_member.token,
  ]
}

resource "google_secret_manager_secret_iam_member" "token" {
  project   = var.project_id
  secret_id = google_secret_manager_secret.token.secret_id
  role      = "roles/secretmanager.secretAccessor"
  member    = var.activity_runner_member
}

resource "google_cloud_run_v2_service_iam_member" "tasks_invoker" {
  project  = var.project_id
  name     = google_cloud_run_v2_service.api.name
  location = var.region
  role     = "roles/run.invoker"
  member   = var.tasks_invoker_member
}
