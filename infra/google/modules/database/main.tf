# The database has a private address only: Cloud Run reaches it through this network.
resource "google_compute_network" "main" {
  project                 = var.project_id
  name                    = "detent"
  auto_create_subnetworks = false
}

resource "google_compute_subnetwork" "main" {
  project                  = var.project_id
  name                     = "detent"
  region                   = var.region
  network                  = google_compute_network.main.id
  ip_cidr_range            = var.subnet_range
  private_ip_google_access = true
}

resource "google_compute_global_address" "services" {
  project       = var.project_id
  name          = "detent-services"
  purpose       = "VPC_PEERING"
  address_type  = "INTERNAL"
  prefix_length = 16
  network       = google_compute_network.main.id
}

resource "google_service_networking_connection" "services" {
  network                 = google_compute_network.main.id
  service                 = "servicenetworking.googleapis.com"
  reserved_peering_ranges = [google_compute_global_address.services.name]
}

resource "google_sql_database_instance" "main" {
  project          = var.project_id
  name             = var.instance_name
  region           = var.region
  database_version = "POSTGRES_16"

  deletion_protection = var.deletion_protection

  settings {
    # The default edition of PostgreSQL 16 is Enterprise Plus, which has other tiers.
    edition                     = "ENTERPRISE"
    tier                        = var.tier
    availability_type           = var.availability_type
    disk_type                   = "PD_SSD"
    disk_autoresize             = true
    deletion_protection_enabled = var.deletion_protection

    ip_configuration {
      ipv4_enabled    = false
      private_network = google_compute_network.main.id
      ssl_mode        = "ENCRYPTED_ONLY"
    }

    backup_configuration {
      enabled                        = true
      start_time                     = "03:00"
      point_in_time_recovery_enabled = true
      transaction_log_retention_days = 7

      backup_retention_settings {
        retained_backups = var.retained_backups
        retention_unit   = "COUNT"
      }
    }

    # A process opens up to ten connections.
    database_flags {
      name  = "max_connections"
      value = tostring(var.max_connections)
    }
  }

  depends_on = [google_service_networking_connection.services]
}

resource "google_sql_database" "main" {
  project  = var.project_id
  name     = "detent"
  instance = google_sql_database_instance.main.name
}

resource "random_password" "database" {
  length  = 32
  special = false
}

resource "google_sql_user" "main" {
  project  = var.project_id
  name     = "detent"
  instance = google_sql_database_instance.main.name
  password = random_password.database.result
}

resource "google_secret_manager_secret" "database_url" {
  project   = var.project_id
  secret_id = "detent-database-url"

  replication {
    auto {}
  }
}

# The connection is encrypted. The certificate authority belongs to this instance alone and is unknown to the image, so the certificate
# is not verified; the address is in the private network.
resource "google_secret_manager_secret_version" "database_url" {
  secret      = google_secret_manager_secret.database_url.id
  secret_data = "postgres://${google_sql_user.main.name}:${random_password.database.result}@${google_sql_database_instance.main.private_ip_address}:5432/${google_sql_database.main.name}?sslmode=no-verify"
}
