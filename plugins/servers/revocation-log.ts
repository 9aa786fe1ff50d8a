// What this server has revoked, in a file of its data directory: a store in PostgreSQL may lose what was acknowledged, when a
// standby takes over that was behind. The store has the number of the last one that it has seen.
import { randomBytes } from 'node:crypto'
import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { dataDirUnusable, Fault, reasonOf } from '../../kernel/base/errors.ts'
import type { Statement } from '../../kernel/store/sql/watch.ts'
import { syncDir } from '../../platform/sync-file.ts'

/** What one change has revoked. */
interface RevokingChange {
  readonly number: number
  readonly statements: readonly Statement[]
}

const maxKept = 10_000 // changes; the oldest are forgotten
const name = 'revocations.jsonl'

export type RevocationLog = ReturnType<typeof openRevocationLog>

/** The first line of the file names the fact of the store that has the number; each further line is a change. */
export function openRevocationLog(dataDir: string) {
  const file = join(dataDir, name)
  const [head, ...found] = existsSync(file) ? linesIn(file) : []
  const fact = head ? String(head['fact']) : `revoked-${randomBytes(8).toString('hex')}`
  const kept = found.slice(-maxKept) as unknown as RevokingChange[] // as they were written below
  let last = kept.at(-1)?.number ?? 0
  let lines = Number.POSITIVE_INFINITY // in the file, of which the last may be torn: the first write makes it anew

  function write(one: RevokingChange): void {
    if (lines < 2 * maxKept) {
      const before = lines
      lines = Number.POSITIVE_INFINITY // unless all of it is written
      appendFileSync(file, lineOf(one), { flush: true })
      lines = before + 1
      return
    }
    const draft = `${file}.new`
    writeFileSync(draft, [{ fact }, ...kept].map(lineOf).join(''), { mode: 0o600, flush: true })
    renameSync(draft, file)
    syncDir(dirname(file))
    lines = kept.length
  }

  return {
    fact,
    /** Returns the number of the next one, in a store that has seen `seen`. */
    next: (seen: number): number => Math.max(seen, last) + 1,
    /** Returns what a store that has seen `seen` lacks, in its order. */
    after: (seen: number): readonly RevokingChange[] => kept.filter(({ number }) => number > seen),
    /** Returns when it is on disk. Throws if that takes no file: it is kept in memory alone. */
    keep(one: RevokingChange): void {
      last = one.number
      kept.push(one)
      if (kept.length > maxKept) kept.shift()
      write(one)
    }
  }
}

const lineOf = (value: object): string => `${JSON.stringify(value)}\n`

/** The last line is empty, or what a kill has torn: it was not acknowledged. */
function linesIn(file: string): Record<string, unknown>[] {
  try {
    const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
    return lines.map(line => JSON.parse(line) as Record<string, unknown>)
  } catch (cause) {
    const why = `${file} is damaged: ${reasonOf(cause)}; remove it: it counts only when a standby takes over`
    throw new Fault(dataDirUnusable, why, { cause })
  }
}
