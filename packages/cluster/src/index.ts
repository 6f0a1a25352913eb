export {
  Cluster,
  type ClusterError,
  ClusterMisconfigured,
  type ClusterNode,
  type ClusterOptions,
  type ClusterService,
  drainNode,
  nodesOf,
} from "./Cluster.ts"
