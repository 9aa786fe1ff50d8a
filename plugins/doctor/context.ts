// The input of checks: directory, configuration, store and metrics of a server or agent.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../kernel/base/clock.ts'
import { type Database, openStore } from '../../kernel/store/open.ts'
import { type Place, readPlace } from '../../kernel/store/sql/database.ts'
import type { DoctorContext, Sample } from '../cli/check-exports.ts'
import { isDataDirLocked } from '../cli/exports.ts'
import { thisHost } from './host.ts'

type Given = Pick<DoctorContext, 'role' | 'dir' | 'keys'>

/** Returns the context of this machine. `close` closes the store, if a check opened it. */
export async function openContext(
  given: Given
): Promise<{ context: DoctorContext; close: () => Promise<void> }> {
  const isRunning = await isDataDirLocked(given.dir)
  let store: Promise<Database> | undefined
  let page: Promise<readonly Sample[] | null> | undefined

  async function query<R>(table: string, sql: string): Promise<readonly R[]> {
    const place = storePlace(given)
    if (given.role !== 'server' || place === null) return []
    store ??= openStore(place, []) // without plugins: no migration runs
    return (await store).read(async em => {
      const schema = em.getPlatform().getSchemaHelper()
      const exists = await schema?.tableExists(em.getConnection(), table, undefined)
      return exists ? em.execute<R[]>(sql) : []
    })
  }

  return {
    context: {
      ...given,
      isRunning,
      now: systemClock.now(),
      host: thisHost,
      query,
      metrics: () => {
        page ??= isRunning ? readMetrics(given.keys['metrics_listen']) : Promise.resolve(null)
        return page
      }
    },
    close: async () => (await store?.catch(() => null))?.close() // a store error was already a finding
  }
}

/** Returns the place of the server's store, or null before the first start. */
export function storePlace({ dir, keys }: Pick<DoctorContext, 'dir' | 'keys'>): Place | null {
  const place = readPlace(keys, join(dir, 'sluice.db'))
  return typeof place !== 'string' || existsSync(place) ? place : null
}

const scrapeMs = 10_000

async function readMetrics(listen: unknown): Promise<readonly Sample[] | null> {
  if (typeof listen !== 'string') return null
  const url = new URL('/metrics', `http://${listen}`)
  url.hostname = { '0.0.0.0': '127.0.0.1', '[::]': '[::1]' }[url.hostname] ?? url.hostname
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(scrapeMs) })
    return response.ok ? samplesIn(await response.text()) : null
  } catch {
    return null // the check `ports` reports that nothing listens there
  }
}

/** Parses the Prometheus text format. */
function samplesIn(text: string): readonly Sample[] {
  return [...text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)].map(([, name = '', labels = '', value]) => ({
    name,
    labels: Object.fromEntries(
      [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = '', text = '']) => [key, text])
    ),
    value: Number(value)
  }))
}
