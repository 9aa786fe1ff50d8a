// A server that stops while others live: its agents go to them, while it still answers.
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

const seenMs = 2_000 // a load balancer has asked once more meanwhile
const mostMs = 3_000
const lookMs = 100

export async function handOverAgents({ servers, listener, sessions, log }: Options): Promise<void> {
  if (!servers.hasOthers()) return
  log.info('server.leaving', 'other servers take the agents of this one, which stops')
  const end = performance.now() + mostMs
  const isSeen = pause(seenMs)
  listener.stop() // who comes now goes to another server at once
  try {
    await sessions.leave()
    while (performance.now() < end && (await sessionsOf(servers)) > 0) await pause(lookMs)
  } catch (error) {
    log.warn('server.not_left', `whether others have its agents is not known: ${reasonOf(error)}`)
  }
  await isSeen
}

const sessionsOf = async ({ id, list }: Options['servers']): Promise<number> =>
  (await list()).find(server => server.id === id)?.sessions ?? 0
