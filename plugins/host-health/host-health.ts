import { setImmediate } from 'node:timers/promises'
import type { EntityManager } from '@mikro-orm/sql'
import { earliest, timestamp } from '../../kernel/base/clock.ts'
import { Fault, invalidTimeRange } from '../../kernel/base/errors.ts'
import type { ConnectionHooks, Peer } from '../../kernel/control/peers.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Clients } from '../clients/exports.ts'
import { HostHealthSample } from './entities.ts'
import { parseSecs, type Query, type Sample } from './schema.ts'
import { HostHealthEnabled, type Sample as Reported, welcomePart } from './wire.ts'

const minuteSecs = 60
const daySecs = 86_400
const retentionSecs = 7 * daySecs
const rowsPerRound = 1000

export interface HostHealth {
  /** Stores a sample in the current minute. Ignores further samples of this minute. */
  report(peer: Peer, sample: Reported): Promise<void>
  /** Returns the samples, oldest first. Throws `client_not_found` or `invalid_time_range`. */
  ofClient(clientId: string, query: Query): Promise<Sample[]>
  /** Call it in the transaction that deletes the client. */
  forgetClient(clientId: string, em: EntityManager): Promise<void>
  /** Deletes samples beyond their retention, in short transactions. */
  prune(): Promise<void>
  readonly connection: ConnectionHooks
}

export interface Services extends Kernel {
  readonly clients: Clients
}

export function openHostHealth({ store, clock, codec, log, clients }: Services): HostHealth {
  const stored = new Map<string, number>() // by connected client: its last minute

  async function report(peer: Peer, sample: Reported): Promise<void> {
    const at = Math.floor(clock.now() / 1000 / minuteSecs) * minuteSecs
    if (stored.get(peer.clientId) === at) return
    stored.set(peer.clientId, at)
    const row = {
      clientId: peer.clientId,
      at,
      cpuPercent: sample.cpu_percent,
      memoryUsedBytes: sample.memory_used_bytes,
      memoryTotalBytes: sample.memory_total_bytes,
      openDescriptors: sample.open_descriptors ?? null,
      rttMs: sample.rtt_ms ?? null
    }
    await peer.change(em => em.upsert(HostHealthSample, row))
  }

  async function ofClient(clientId: string, query: Query): Promise<Sample[]> {
    const to = parsed(query.to) ?? Math.floor(clock.now() / 1000) + 1
    const from = parsed(query.from) ?? to - daySecs
    if (from >= to) throw new Fault(invalidTimeRange, 'from must be before to')
    const rows = await store.read(async em => {
      await clients.get(clientId, em)
      const window = { clientId, at: { $gte: from, $lt: to } }
      return em.find(HostHealthSample, window, { orderBy: { at: 'asc' } })
    })
    return rows.map(row => ({
      at: timestamp(row.at * 1000),
      cpu_percent: row.cpuPercent,
      memory_used_bytes: row.memoryUsedBytes,
      memory_total_bytes: row.memoryTotalBytes,
      open_descriptors: row.openDescriptors ?? null,
      rtt_ms: row.rttMs ?? null
    }))
  }

  return {
    report,
    ofClient,
    prune: () => prune({ store, clock, log }),
    async forgetClient(clientId, em) {
      await em.nativeDelete(HostHealthSample, { clientId })
    },
    connection: {
      welcome: async () => ({ [welcomePart]: codec.encode(HostHealthEnabled, {}) }),
      left: ({ clientId }) => void stored.delete(clientId)
    }
  }
}

const parsed = (text: string | undefined): number | null => (text === undefined ? null : parseSecs(text))

/** Uses short transactions, so that heartbeats are answered in between. */
async function prune({ store, clock, log }: Pick<Kernel, 'store' | 'clock' | 'log'>): Promise<void> {
  try {
    for (let isMore = true; isMore; await setImmediate())
      isMore = await store.change(em => pruneSome(Math.floor(earliest(clock) / 1000), em))
  } catch (error) {
    log.warn('host_health.not_tidied', `old samples were not deleted, retrying in an hour: ${String(error)}`)
  }
}

/** Returns whether more old samples are left. */
async function pruneSome(nowSecs: number, em: EntityManager): Promise<boolean> {
  const { affectedRows } = await em.execute<{ affectedRows: number }>(
    `delete from host_health_sample where (client_id, at) in (
       select client_id, at from host_health_sample where at < ? limit ${rowsPerRound})`,
    [nowSecs - retentionSecs],
    'run'
  )
  return affectedRows === rowsPerRound
}
