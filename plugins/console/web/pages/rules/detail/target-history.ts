// The health of a rule's targets over time, from the entries of its journal.

/** The properties of a journal entry that the history uses. */
interface Entry {
  readonly ts: string // RFC 3339
  readonly from: unknown
  readonly to: unknown
  readonly details: Readonly<Record<string, unknown>>
}

/** A time in seconds during which a target gets no connections. */
interface Outage {
  readonly target: string
  readonly from: number
  readonly to: number
}

const isDown = (state: unknown): boolean => state === 'failed' || state === 'ejected'

/** Returns the outages in the entries, which are newest first. The last one may still continue. */
export function outagesIn(entries: readonly Entry[]): readonly Outage[] {
  const changes = entries.toReversed().filter(({ details }) => typeof details['target'] === 'string')
  const byTarget = Map.groupBy(changes, ({ details }) =>
    [details['client_name'], details['target']].filter(Boolean).join(' ')
  )
  return [...byTarget].flatMap(([target, own]) => {
    const starts = own.map(({ ts }) => Date.parse(ts) / 1000)
    const before = { target, from: Number.NEGATIVE_INFINITY, to: starts[0] ?? 0 }
    const after = own.map((_, i) => ({
      target,
      from: starts[i] ?? 0,
      to: starts[i + 1] ?? Number.POSITIVE_INFINITY
    }))
    return [...(isDown(own[0]?.from) ? [before] : []), ...after.filter((_, i) => isDown(own[i]?.to))]
  })
}

/** Returns how many targets were down at any time in a bucket of the chart. */
export const downDuring = (outages: readonly Outage[], at: number, secs: number): number =>
  new Set(outages.filter(({ from, to }) => from < at + secs && to > at).map(({ target }) => target)).size
