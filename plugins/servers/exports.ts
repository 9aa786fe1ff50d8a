// The servers of a store, for the control stream; the generation of the store, for restores.
export {
  type Cluster,
  type LocalSessions,
  movedReason,
  type TakenSession
} from './cluster.ts'
export { openFailover } from './failover.ts'
export { openCluster } from './open-cluster.ts'
export { type keys, serverIdIn } from './settings.ts'
export { forgetCluster } from './store-facts.ts'
export { beginGeneration, generationDigits, newGeneration } from './store-generation.ts'
