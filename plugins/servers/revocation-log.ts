// The last revocations of this server, in a file of its data directory. A PostgreSQL standby that was behind may lose
// acknowledged changes when it takes over; this server then repeats its revocations.
import { randomBytes } from 'node:crypto'
import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { dataDirUnusable, Fault, reasonOf } from '../../kernel/base/errors.ts'
import { syncDir } from '../../kernel/platform/sync-file.ts'
import type { Statement } from '../../kernel/store/sql/store-watch.ts'

/** The statements of one change that revoked something. */
interface RevokingChange {
  readonly number: number
  readonly statements: readonly Statement[]
}

export interface RevocationLog {
  /** The name of the fact that stores the number of the last change seen. */
  readonly fact: string
  /** Returns the number of the next change, in a store that has seen `seen`. */
  next(seen: number): number
  /** Returns the changes that a store that has seen `seen` lacks, in their order. */
  after(seen: number): readonly RevokingChange[]
  /** Returns when the change is on disk. If that fails, it throws and remembers the change in memory. */
  append(change: RevokingChange): void
}

const maxChanges = 10_000 // older ones are dropped
const fileName = 'revocations.jsonl'

/** The first line of the file has the name of the fact; each further line is a change. */
export function openRevocationLog(dataDir: string): RevocationLog {
  const file = join(dataDir, fileName)
  const [head, ...found] = existsSync(file) ? readLines(file) : []
  const fact = head ? String(head['fact']) : `revoked-${randomBytes(8).toString('hex')}`
  const changes = found.slice(-maxChanges) as unknown as RevokingChange[] // as written below
  let last = changes.at(-1)?.number ?? 0
  let lines = Number.POSITIVE_INFINITY // the last line may be torn: the first write rewrites the file

  function write(change: RevokingChange): void {
    if (lines < 2 * maxChanges) {
      const before = lines
      lines = Number.POSITIVE_INFINITY // if the append fails, the next write rewrites the file
      appendFileSync(file, lineOf(change), { flush: true })
      lines = before + 1
      return
    }
    const draft = `${file}.new`
    writeFileSync(draft, [{ fact }, ...changes].map(lineOf).join(''), { mode: 0o600, flush: true })
    renameSync(draft, file)
    syncDir(dirname(file))
    lines = changes.length
  }

  return {
    fact,
    next: seen => Math.max(seen, last) + 1,
    after: seen => changes.filter(({ number }) => number > seen),
    append(change) {
      last = change.number
      changes.push(change)
      if (changes.length > maxChanges) changes.shift()
      write(change)
    }
  }
}

const lineOf = (value: object): string => `${JSON.stringify(value)}\n`

/** Drops the last line: it is empty, or torn by a kill and was never acknowledged. */
function readLines(file: string): Record<string, unknown>[] {
  try {
    const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
    return lines.map(line => JSON.parse(line) as Record<string, unknown>)
  } catch (cause) {
    const why = `${file} is damaged: ${reasonOf(cause)}; remove it: it counts only when a standby takes over`
    throw new Fault(dataDirUnusable, why, { cause })
  }
}
