import type { Cluster, ClusterOptions } from './cluster.ts'
import { openSharedCluster } from './shared-cluster.ts'
import { openSingleServer } from './single-server.ts'

export const openCluster = (options: ClusterOptions): Cluster =>
  options.store.signals === null
    ? openSingleServer(options)
    : openSharedCluster(options, options.store.signals)
