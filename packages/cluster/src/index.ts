export { Cluster, type ClusterError, ClusterMisconfigured, type ClusterNode, type ClusterOptions, type ClusterService } from "./Cluster.ts"
