// The report: one row for each statement of the source. A statement that several rules use has one row.
import type { Reason } from './reasons.ts'

type Outcome = 'mapped' | 'approximated' | 'ignored' | 'refused'

export interface Statement {
  readonly file: string
  readonly line: number // counts from 1
  readonly text: string // without secrets
  readonly hasSecret: boolean
}

interface Row {
  readonly file: string
  readonly line: number
  readonly text: string
  readonly outcome: Outcome
  readonly to: string | null
  readonly reason: Reason | null
}

export interface Report {
  readonly source: string
  readonly files: readonly string[]
  readonly clients: readonly string[]
  readonly rules: number
  readonly rows: readonly Row[]
}

interface Verdict {
  rank: number
  outcome: Outcome
  reason: Reason | null
  readonly places: string[]
}

const maxTextLength = 300
const maxPlaces = 4
const ranks = { unused: 1, inherited: 2, ignored: 3, mapped: 4, approximated: 5, refused: 6 }

/** Returns the first line of the text, shortened. */
export function openStatement(
  file: string,
  line: number,
  text: string,
  secret: 'none' | 'left_out' = 'none'
): Statement {
  const words = text
    .slice(0, 4 * maxTextLength)
    .toWellFormed()
    .replaceAll(/\s+/g, ' ')
    .trim()
  const short = words.length > maxTextLength ? `${words.slice(0, maxTextLength - 1)}…`.toWellFormed() : words
  return { file, line, text: short, hasSecret: secret === 'left_out' }
}

export class Verdicts {
  readonly #verdicts = new Map<Statement, Verdict>()

  get size(): number {
    return this.#verdicts.size
  }

  /** Registers the statement. Without a further call it is refused as unknown. */
  add(statement: Statement): void {
    this.#verdicts.set(statement, {
      rank: 0,
      outcome: 'refused',
      reason: 'unknown_statement',
      places: []
    })
  }

  map(statement: Statement, place: string | null): void {
    this.#judge(statement, ranks.mapped, 'mapped', null, place)
  }

  approximate(statement: Statement, reason: Reason, place: string | null): void {
    this.#judge(statement, ranks.approximated, 'approximated', reason, place)
  }

  ignore(statement: Statement, reason: Reason): void {
    this.#judge(statement, ranks.ignored, 'ignored', reason)
  }

  /** Ignores a statement, unless a rule uses it. */
  leaveUnused(statement: Statement): void {
    this.#judge(statement, ranks.unused, 'ignored', 'not_used')
  }

  refuse(statement: Statement, reason: Reason): void {
    this.#judge(statement, ranks.refused, 'refused', reason)
  }

  /** Refuses a statement that belongs to a refused rule, unless another rule uses it. */
  refuseWithRule(statement: Statement, reason: Reason): void {
    this.#judge(statement, ranks.inherited, 'refused', reason)
  }

  /** The last verdict of the highest rank counts. A statement that was not added has no row. */
  #judge(
    statement: Statement,
    rank: number,
    outcome: Outcome,
    reason: Reason | null,
    place: string | null = null
  ): void {
    const verdict = this.#verdicts.get(statement)
    if (!verdict) return
    if (place !== null && verdict.places.length <= maxPlaces && !verdict.places.includes(place))
      verdict.places.push(place)
    if (rank <= verdict.rank) return
    verdict.rank = rank
    verdict.outcome = outcome
    verdict.reason = reason
  }

  /** Returns the rows by file, in the order of their first statements, and line. */
  rows(): Row[] {
    const files = new Set([...this.#verdicts.keys()].map(({ file }) => file))
    const order = new Map([...files].map((file, at) => [file, at]))
    return [...this.#verdicts]
      .map(([{ file, line, text, hasSecret }, { outcome, reason, places }]) => ({
        file,
        line,
        text,
        outcome,
        to: outcome === 'refused' || outcome === 'ignored' ? null : joinPlaces(places),
        reason: hasSecret ? ('secret' as const) : reason
      }))
      .sort((a, b) => (order.get(a.file) ?? 0) - (order.get(b.file) ?? 0) || a.line - b.line)
  }
}

function joinPlaces(places: readonly string[]): string | null {
  if (places.length === 0) return null
  return places.slice(0, maxPlaces).join(', ') + (places.length > maxPlaces ? ', ...' : '')
}
