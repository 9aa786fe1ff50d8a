// Checks what a server needs to do its work, at most once a second and without writing.
import { X509Certificate } from 'node:crypto'
import { access, constants, stat, statfs } from 'node:fs/promises'
import { withTimeout } from '../../kernel/base/attribution.ts'
import { reasonOf } from '../../kernel/base/errors.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { stateOf } from '../../kernel/store/postgres/dialect.ts'
import { storeFileOf } from '../../kernel/store/sql/database.ts'
import { type Answer, type Check, toReadinessAnswer } from '../http/listener-exports.ts'

type Deps = Pick<Kernel, 'store' | 'control' | 'clock'>

export interface Readiness {
  (): Promise<Answer>
  /** Makes all later answers 'not ready', because the server stops. */
  stop(): void
}

const maxAgeMs = 1000
const answerSecs = 5
const minFreeBytes = 2 ** 20

/** Calls within a second share one answer, so that many callers cost the same as one. */
export function openReadiness({ store, control, clock }: Deps): Readiness {
  let readAt = Number.NEGATIVE_INFINITY
  let answer: Promise<Answer> | undefined
  const checks: Readonly<Record<string, () => Promise<string>>> = {
    store: openStoreCheck(store),
    migrations: async () => `${await countMigrations(store)} are done${describeWaiting(store)}`,
    control_stream: async () => `agents are accepted on port ${control.port()}`,
    certificate: async () => requireValid(new X509Certificate(control.certificate), clock.now())
  }
  const runChecks = async (): Promise<Answer> =>
    toReadinessAnswer(await Promise.all(Object.entries(checks).map(([name, check]) => examine(name, check))))

  const readiness = (): Promise<Answer> => {
    if (!answer || clock.monotonic() - readAt >= maxAgeMs) {
      readAt = clock.monotonic()
      answer = runChecks()
    }
    return answer
  }
  const stop = (): void => {
    const stopping = { name: 'stopping', status: 'failed', reason: 'the server stops' } as const
    answer = Promise.resolve(toReadinessAnswer([stopping]))
    readAt = Number.POSITIVE_INFINITY
  }
  return Object.assign(readiness, { stop })
}

async function examine(name: string, check: () => Promise<string>): Promise<Check> {
  try {
    return { name, status: 'ok', reason: await withTimeout(answerSecs, name, check) }
  } catch (error) {
    return { name, status: 'failed', reason: reasonOf(error) }
  }
}

/** Reads the store, and asks the system whether its file could be written. Another file in its place is not the store. */
function openStoreCheck(store: Deps['store']): () => Promise<string> {
  let known: { readonly dev: number; readonly ino: number } | undefined
  return async () => {
    const file = await store.read(async em => {
      await em.execute('select 1 from schema_migration limit 1')
      const file = storeFileOf(em)
      if (file === null && (await stateOf(em)).isCopy)
        throw new Error('it is a standby, which accepts no changes')
      return file
    })
    if (file === null) return 'it answers and accepts changes'
    const now = await stat(file).catch(() => null)
    known ??= now ?? undefined
    if (!now || now.dev !== known?.dev || now.ino !== known.ino) throw new Error('its directory is gone')
    await access(file, constants.W_OK).catch(() => {
      throw new Error('it cannot be written')
    })
    const { bavail, bsize } = await statfs(file)
    if (bavail * bsize < minFreeBytes) throw new Error('its disk is full')
    return 'it is readable and writable'
  }
}

async function countMigrations(store: Deps['store']): Promise<number> {
  const [row] = await store.read(em =>
    em.execute<{ count: number }[]>('select count(*) as count from schema_migration')
  )
  return row?.count ?? 0
}

function describeWaiting({ upgrade }: Deps['store']): string {
  const waiting = upgrade?.waiting ?? []
  return waiting.length === 0 ? '' : `; these wait until no older server runs: ${waiting.join(', ')}`
}

function requireValid({ validTo }: X509Certificate, now: number): string {
  if (now >= Date.parse(validTo)) throw new Error(`it has expired at ${validTo}`)
  return `it is valid until ${validTo}`
}
