// Hands the agents of a server that stops over to live peers, while its API still answers.
import { setTimeout as pause } from 'node:timers/promises'
import { reasonOf } from '../../../kernel/base/errors.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import type { Cluster } from '../../servers/exports.ts'
import type { Listener } from '../listener/listener.ts'
import type { Sessions } from './sessions.ts'

interface Options extends Pick<Kernel, 'log'> {
  readonly servers: Pick<Cluster, 'id' | 'hasOthers' | 'list'>
  readonly listener: Pick<Listener, 'stop'>
  readonly sessions: Pick<Sessions, 'leave'>
}

const minMs = 2_000 // a load balancer checks readiness once in it
const maxMs = 3_000
const pollMs = 100

export async function handOverAgents({ servers, listener, sessions, log }: Options): Promise<void> {
  if (!servers.hasOthers()) return
  log.info('server.leaving', 'this server stops and hands its agents to the other servers')
  const end = performance.now() + maxMs
  const minimum = pause(minMs)
  listener.stop() // newcomers go to another server at once
  try {
    await sessions.leave()
    while (performance.now() < end && (await countSessions(servers)) > 0) await pause(pollMs)
  } catch (error) {
    log.warn(
      'server.handover_unconfirmed',
      `it is not known if the other servers have all agents: ${reasonOf(error)}`
    )
  }
  await minimum
}

const countSessions = async ({ id, list }: Options['servers']): Promise<number> =>
  (await list()).find(server => server.id === id)?.sessions ?? 0
